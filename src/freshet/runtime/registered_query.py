"""A registered query as its user has it: the reports that wait, and which of them have been received."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from freshet.rdf.errors import UnsupportedError
from freshet.rdf.wording import show_count
from freshet.results.answers import AnswerBatch
from freshet.results.report import Report
from freshet.results.why import MOST_MEMBERS, Why

if TYPE_CHECKING:
    import pyarrow as pa

    from freshet.algebra.nodes import Query
    from freshet.native.engine import Engine
    from freshet.native.measuring import Measurements
    from freshet.native.plan.plan import Plan
    from freshet.rdf.deadline import Deadline
    from freshet.runtime.explaining import Explanation
    from freshet.store.dataset import StoredDataset


@cache
def _answer_table() -> Callable[[Sequence[AnswerBatch], tuple[str, ...]], pa.Table]:
    """Arrow is imported when it is asked for, and looked up once: that takes as long as to read a column of one row."""
    from freshet.results.typed_arrow import answer_table

    return answer_table


@dataclass(frozen=True, slots=True, repr=False)
class RegisteredQuery:
    """A query that is kept answered. Reports wait here until they are taken, unless a callback gets them.

    `for report in query:` takes the reports that wait, one after another, also those that come meanwhile.

    In a session with a checkpoint, a report is delivered again after a restart until it is known to have been received:
    when `take` is called the next time, when the loop asks for the next report, or by `acknowledge`.

    Attributes:
        name: The name of the query.
        variables: The names of the variables that it selects, without the question mark.
        text: The query as it was registered.

    Example:
        >>> import freshet
        >>> session = freshet.Session()
        >>> session.stream("http://example.org/s")
        >>> query = session.register('''
        ...     REGISTER RSTREAM <q> AS SELECT ?s
        ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
        ...     WHERE { WINDOW <w> { ?s ?p ?o } }''')
        >>> session.push("http://example.org/s", "100\\t<http://example.org/a> <http://example.org/p> _:b .")
        >>> session.finish()
        >>> for report in query:
        ...     print(report.time_ms, [str(row["s"]) for row in report.bindings()])
        1000 ['<http://example.org/a>']
    """

    name: str
    variables: tuple[str, ...]
    waiting: deque[AnswerBatch]
    made: deque[int] = field(default_factory=deque)  # the entries that made the batches which may come again
    columns: tuple[str, ...] | None = None  # of what is shown, where they are not the variables
    text: str = ""
    parsed: Query | None = None
    plan: Plan | None = None
    measured: Measurements | None = None
    answered_by: tuple[Engine, StoredDataset] | None = None

    def __repr__(self) -> str:
        reports = show_count(sum(map(len, self.waiting)), "report")
        return f"<RegisteredQuery {self.name}: {' '.join(f'?{name}' for name in self.variables)}, {reports} to take>"

    def explain(self) -> Explanation:
        """Explain how the query is kept answered, with what each operator has done, if it is registered with `measure`.

        Returns:
            The explanation. `print` shows it as a tree; `json()` gives the same as objects.
        """
        from freshet.runtime.explaining import Explanation

        assert self.parsed is not None, "it is registered"
        return Explanation(self.parsed, None, self.plan, self.measured)

    def why(
        self, report: Report, row: int = 0, *, members: int = MOST_MEMBERS, deadline: Deadline | None = None
    ) -> Why:
        """Explain why a row was reported: the elements, stored triples and source records that it was derived from.

        The query is evaluated once more as of the report, over the newest elements of its streams, which the session
        keeps (`why_elements`), and the stored graph (docs/how-to/why.md).

        Args:
            report: A report of this query.
            row: Which of its rows, or of its triples where it is a CONSTRUCT, from 0.
            members: How many derivations of the row, and members of each group, are given at most.
            deadline: How long it may take, and how much memory: 30 seconds and 1 GB if not given.

        Returns:
            What the row was derived from. `elements`, `stored` and `records` have it all together.

        Raises:
            InputError: The report is another query's, or has no such row.
            WhyGoneError: What it was derived from is not there any more.
            ServiceError: An endpoint of SERVICE, which is asked again, gives no answer.
            UnsupportedError: The query has no window, is an ASK or a DESCRIBE, or draws values.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     REGISTER RSTREAM <hot> AS SELECT ?room (COUNT(*) AS ?n)
            ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT10S STEP PT10S]
            ...     WHERE { WINDOW <w> { ?room <http://example.org/t> ?t FILTER (?t > 20) } } GROUP BY ?room''')
            >>> session.push("http://example.org/s", "\\n".join(
            ...     f'{t * 1000}\\t<http://example.org/a> <http://example.org/t> "{t * 10}"^^'
            ...     '<http://www.w3.org/2001/XMLSchema#integer> .' for t in range(1, 5)))
            >>> session.finish()
            >>> [report] = query.take()
            >>> why = query.why(report, 0)
            >>> [(element.time_ms, str(element.triple[2].lexical), element.record) for element in why.elements]
            [(3000, '30', 'push:1/3'), (4000, '40', 'push:1/4')]
            >>> why.derivations[0].members[0].total
            2
        """
        from freshet.runtime.why import Explanations

        if self.answered_by is None:
            raise UnsupportedError(f"the query {self.name} has no window: its rows come from the stored graph alone")
        return Explanations(*self.answered_by, self.name).why(report, row, members=members, deadline=deadline)

    def take(self) -> list[Report]:
        """Take the reports since the last call. Those of the last call count as received.

        Returns:
            The reports in order of time, none where nothing was reported.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     SELECT ?n FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?s <http://example.org/n> ?n } }''')
            >>> session.push("http://example.org/s", "<http://example.org/a> <http://example.org/n> 1 .", time_ms=100)
            >>> session.finish()
            >>> [report.to_arrow().to_pydict() for report in query.take()], query.take()
            ([{'n': [1]}], [])
        """
        return [report for batch in self._take() for report in batch.reports()]

    def take_arrow(self) -> pa.Table:
        """Take everything that was reported since the last call, as one Arrow table. No `Report` is made for it.

        What the last call of `take` or `take_arrow` gave counts as received.

        Returns:
            A row for each solution of each report, in order of time: the column `time` (timestamp in milliseconds) and
            a column for each variable, typed as `Readable.to_arrow` says by the values in this table. Strings are
            dictionary-encoded. A column without values has the type null. CONSTRUCT has the columns subject, predicate
            and object. Where a variable is called `time`, the times of the reports are in `report_time`.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     REGISTER RSTREAM <q> AS SELECT ?n
            ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?s <http://example.org/n> ?n } }''')
            >>> for time_ms in (100, 1200):
            ...     session.push("http://example.org/s",
            ...         f"<http://example.org/a> <http://example.org/n> {time_ms} .", time_ms=time_ms)
            >>> session.finish()
            >>> table = query.take_arrow()
            >>> table.column("time").cast("int64").to_pylist(), table.column("n").to_pylist()
            ([1000, 2000], [100, 1200])
        """
        return _answer_table()(self._take(), self.columns or self.variables)

    def _take(self) -> list[AnswerBatch]:
        self.acknowledge()
        taken = []
        while self.waiting:
            taken.append(self.waiting.popleft())
        return taken

    def acknowledge(self) -> None:
        """Say that all reports which were taken have been received, so that they are not delivered again after a
        restart.
        """
        while len(self.made) > len(self.waiting):
            self.made.popleft()

    def __iter__(self) -> Iterator[Report]:
        while True:
            self.acknowledge()
            if not self.waiting:
                return
            batch = self.waiting.popleft()
            if len(batch) > 1:
                self.waiting.appendleft(batch.part(1, len(batch)))
                batch = batch.part(0, 1)
            yield from batch.reports()
