"""What operators hand on: the rows that came and went since they were asked last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from freshet.oneshot.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A change of a bag of rows. What went was there before; what came was not taken away again."""

    came: Table
    went: Table

    def __bool__(self) -> bool:
        return self.came.count > 0 or self.went.count > 0


class Operator(Protocol):
    """A bag of rows that follows its inputs.

    `changes` is asked at every step of a query, in order of their numbers; the first time it gives everything.
    """

    def changes(self, number: int) -> Change: ...
    def rows(self) -> Table: ...


class Sequenced(Protocol):
    """An operator whose answer is a sequence, made as a whole when it is asked for."""

    def follow(self, number: int) -> None: ...
    def given_out(self, *, empty: bool) -> Table:
        """The answer at a report; it has no rows where that is said of it, whatever the operator holds."""
        ...
