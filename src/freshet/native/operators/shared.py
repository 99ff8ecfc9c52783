"""Shared: the rows of one operator for several readers.

    ΔR is computed for the first that asks in a step, and given to the others as it is

| step | first reader | second reader | child is asked |
| ---- | ------------ | ------------- | -------------- |
| 1    | + a          | + a           | once           |
| 2    | - a + b      | - a + b       | once           |

Two copies of an operator that asks endpoints would ask twice, and could be told different things in one step.
"""

from __future__ import annotations

from freshet.native.change import Change, Operator
from freshet.oneshot.table import Table


class SharedOp:
    """The rows of its child, for readers each of which asks at every step."""

    def __init__(self, child: Operator) -> None:
        self._child = child
        self._number: int | None = None  # the step that the change is of
        self._change = Change(Table({}, 0), Table({}, 0))  # here a sweep finds it while a reader waits for remote data

    def changes(self, number: int) -> Change:
        if number != self._number:
            self._change = self._child.changes(number)
            self._number = number
        return self._change

    def rows(self) -> Table:
        return self._child.rows()
