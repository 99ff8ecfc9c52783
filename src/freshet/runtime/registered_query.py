"""A registered query as its user has it: the reports that wait, and which of them have been received."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from freshet.results.report import Report


@dataclass(frozen=True, slots=True)
class RegisteredQuery:
    """A query that is kept answered. Reports wait here until they are taken, unless a callback gets them.

    `for report in registered:` takes those that wait, one after another, also those that come meanwhile.

    In a session with a checkpoint, a report is handed over again after a restart until it is known to have been
    received: when `take` is called the next time, when the loop asks for the next one, or by `acknowledge`.
    """

    name: str
    variables: tuple[str, ...]
    waiting: deque[Report]
    made: deque[int] = field(default_factory=deque)  # the entries that made the reports which may come again

    def take(self) -> list[Report]:
        """The reports since the last call, in order of time."""
        self.acknowledge()
        taken = []
        while self.waiting:
            taken.append(self.waiting.popleft())
        return taken

    def acknowledge(self) -> None:
        """Say that all reports which were taken have been received, so that they need not come again."""
        while len(self.made) > len(self.waiting):
            self.made.popleft()

    def __iter__(self) -> Iterator[Report]:
        while True:
            self.acknowledge()
            if not self.waiting:
                return
            yield self.waiting.popleft()
