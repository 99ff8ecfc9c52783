"""A registered query as its user has it: the reports that wait, and which of them have been received."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from freshet.results.report import Report


@dataclass(frozen=True, slots=True)
class RegisteredQuery:
    """A query that is kept answered. Reports wait here until they are taken, unless a callback gets them.

    `for report in query:` takes the reports that wait, one after another, also those that come meanwhile.

    In a session with a checkpoint, a report is delivered again after a restart until it is known to have been received:
    when `take` is called the next time, when the loop asks for the next report, or by `acknowledge`.

    Attributes:
        name: The name of the query.
        variables: The names of the variables that it selects, without the question mark.

    Example:
        >>> import freshet
        >>> session = freshet.Session()
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
    waiting: deque[Report]
    made: deque[int] = field(default_factory=deque)  # the entries that made the reports which may come again

    def take(self) -> list[Report]:
        """Take the reports since the last call. Those of the last call count as received.

        Returns:
            The reports in order of time, none where nothing was reported.
        """
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
            yield self.waiting.popleft()
