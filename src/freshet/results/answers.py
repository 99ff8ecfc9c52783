"""What a query reports in one batch of moments, in columns.

A Python object for each report is made only where reports are asked for one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.nodes import StreamOperator
from freshet.results.report import QUAD, Freshness, GraphAnswer, Report

if TYPE_CHECKING:
    import pyarrow as pa

    from freshet.rdf.dictionary import Dictionary
    from freshet.results.typed_arrow import BatchReader

Ids = NDArray[np.int64]


class ArrowMemory:
    """What the batches of one query have of each other when they are read as Arrow."""

    __slots__ = ("reader",)

    def __init__(self) -> None:
        self.reader: BatchReader | None = None  # made when Arrow is asked for


@dataclass(slots=True, eq=False, weakref_slot=True)  # a frozen one takes five times as long to make
class AnswerBatch:
    """The reports of a registered query for some moments, in order. Several may hold it: do not change it.

    The rows of report `i` are `rows[offsets[i]:offsets[i + 1]]`; the first offset need not be 0. Batches that are parts
    of one array share it. `len` gives the number of reports.

    Attributes:
        query: The name of the query.
        output: RSTREAM (all solutions), ISTREAM (those that are new) or DSTREAM (those that are gone).
        variables: The names of the variables, without the question mark.
        moments: When each report is, in order: twice its time in milliseconds for the close of a window, one more for
            an instant.
        offsets: Where the rows of each report begin, and where those of the last one end.
        rows: A row for each solution and a column of term ids for each variable, 0 where it is unbound.
        dictionary: The dictionary that has the terms.
        triples: The triples of all reports as rows of three ids, where the query is a CONSTRUCT; rows of four if its
            template has GRAPH, with 0 for the default graph.
        triple_offsets: The offsets of the reports in the triples.
        freshness: How fresh the answer is, where the query has SERVICE: the batch has one report then.
        memory: What the batches of the query have in common as Arrow, so that a term is not read again for each.
        log: Where the rows stand one behind the other among those of other batches: columns, a row for each variable,
            and the place of the first row in them.

    Example:
        >>> import freshet
        >>> session = freshet.Session()
        >>> session.stream("http://example.org/s")
        >>> query = session.register('''
        ...     REGISTER RSTREAM <all> AS SELECT ?n
        ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
        ...     WHERE { WINDOW <w> { ?s <http://example.org/n> ?n } }''',
        ...     on_batch=lambda batch: print(batch.times.tolist(), batch.to_arrow().column("n").to_pylist()))
        >>> session.push("http://example.org/s", '100\\t<http://example.org/a> <http://example.org/n> "x" .')
        >>> session.finish()
        [1000] ['x']
    """

    query: str
    output: StreamOperator
    variables: tuple[str, ...]
    moments: Ids
    offsets: Ids
    rows: Ids
    dictionary: Dictionary = field(repr=False)
    triples: Ids | None = None
    triple_offsets: Ids | None = None
    freshness: Freshness | None = None
    memory: ArrowMemory | None = field(default=None, repr=False)
    log: tuple[Ids, int] | None = field(default=None, repr=False)

    @classmethod
    def of_report(cls, report: Report, moment: int, dictionary: Dictionary) -> AnswerBatch:
        """A batch of one report."""
        offsets = np.array([0, len(report.rows)])
        batch = cls(
            report.query,
            report.stream,
            report.variables,
            np.array([moment]),
            offsets,
            report.rows,
            dictionary,
            freshness=report.freshness,
        )
        if (graph := report.graph) is not None:
            batch.triples = graph.shown.rows
            batch.triple_offsets = np.array([0, len(graph.subjects)])
        return batch

    def __len__(self) -> int:
        return len(self.moments)

    @property
    def times(self) -> Ids:
        """The event time of each report, in milliseconds."""
        return self.moments >> 1

    @property
    def shown(self) -> tuple[tuple[str, ...], Ids, Ids]:
        """What there is to show, the solutions or the triples: names of the columns, rows, and offsets of reports."""
        if self.triples is None or self.triple_offsets is None:
            return self.variables, self.rows, self.offsets
        return QUAD[: self.triples.shape[1]], self.triples, self.triple_offsets

    def part(self, first: int, end: int) -> AnswerBatch:
        """The reports from `first` on, up to `end`, which is not included."""
        triple_offsets = self.triple_offsets
        return AnswerBatch(
            self.query,
            self.output,
            self.variables,
            self.moments[first:end],
            self.offsets[first : end + 1],
            self.rows,
            self.dictionary,
            self.triples,
            None if triple_offsets is None else triple_offsets[first : end + 1],
            self.freshness,
            self.memory,
            self.log,
        )

    def after(self, moment: int) -> AnswerBatch:
        """The reports that are later than a moment."""
        first = int(np.searchsorted(self.moments, moment, side="right"))
        return self.part(first, len(self)) if first else self

    def reports(self) -> Iterator[Report]:
        """The reports one by one, each made when it is asked for."""
        starts = self.offsets.tolist()
        for at, moment in enumerate(self.moments.tolist()):
            yield Report(
                self.query,
                moment >> 1,
                self.output,
                self.variables,
                self.rows[starts[at] : starts[at + 1]],
                None if self.triples is None else self._graph(at),
                self.freshness,
                self.dictionary,
                moment,
            )

    def _graph(self, at: int) -> GraphAnswer:
        _, triples, offsets = self.shown
        triples = triples[offsets[at] : offsets[at + 1]]
        return GraphAnswer.of_rows(triples, self.dictionary)

    def to_arrow(self) -> pa.RecordBatch:
        """All reports as one Arrow batch: a row for each solution, or triple, and the time of its report.

        Returns:
            The column `time` (timestamp in milliseconds) and a typed column for each variable, as `Readable.to_arrow`
            has them, or subject, predicate, object (and graph). Strings are dictionary-encoded: each stands once for
            all of its rows; strings that the query reported before may be among the values, too. Where a variable is
            called `time`, the times of the reports are `report_time`. The query and the stream operator are in the
            metadata of the schema.
        """
        from freshet.results.typed_arrow import answer_batch

        return answer_batch(self)


def joined(batches: Sequence[AnswerBatch]) -> AnswerBatch:
    """Batches of one query, at least one, as one batch. How fresh the single reports are is lost."""
    first = batches[0]
    if len(batches) == 1:
        return first
    moments = np.concatenate([batch.moments for batch in batches])
    rows, offsets = _joined_rows([(batch.rows, batch.offsets) for batch in batches])
    together = AnswerBatch(first.query, first.output, first.variables, moments, offsets, rows, first.dictionary)
    if first.triples is not None:
        triples = [batch.shown[1:] for batch in batches]
        together.triples, together.triple_offsets = _joined_rows(triples)
    together.memory = first.memory
    return together


def _joined_rows(parts: Sequence[tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
    """Rows one after another, with the offsets of all reports in them."""
    rows = np.concatenate([rows[offsets[0] : offsets[-1]] for rows, offsets in parts])
    counts = np.concatenate([offsets[1:] - offsets[:-1] for _, offsets in parts])
    return rows, np.concatenate(([0], np.cumsum(counts)))


def hand_over(batch: AnswerBatch, on_report: Callable[[Report], None], is_wanted: Callable[[], bool]) -> None:
    """Call back with each report, as long as they are wanted: the callback may remove its query."""
    for report in batch.reports():
        if not is_wanted():
            return
        on_report(report)


class ReportCallback:
    """Takes batches of a query, and calls back with each report as long as the query is there.

    Who has a single report may call `on_report` with it, if the query is there: for many queries with a row each that
    is half of the work of a batch.
    """

    __slots__ = ("_is_wanted", "on_report")

    def __init__(self, on_report: Callable[[Report], None], is_wanted: Callable[[ReportCallback], bool]) -> None:
        self.on_report = on_report
        self._is_wanted = is_wanted

    def __call__(self, batch: AnswerBatch) -> None:
        hand_over(batch, self.on_report, lambda: self._is_wanted(self))
