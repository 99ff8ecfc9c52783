"""Project: some of the variables.

Δ(π R) = π(ΔR)      as bags: rows that are the same after it still count as often as they came
"""

from __future__ import annotations

from freshet.native.change import Change, Operator
from freshet.oneshot.table import Table

_NOTHING = Change(Table({}, 0), Table({}, 0))


class ProjectOp:
    """The rows of its child with some of their columns."""

    def __init__(self, child: Operator, names: frozenset[str]) -> None:
        self._child = child
        self._names = names

    def changes(self, number: int) -> Change:
        change = self._child.changes(number)
        if not change:
            return _NOTHING
        if change.came.columns.keys() <= self._names and change.went.columns.keys() <= self._names:
            return change
        return Change(change.came.select(self._names), change.went.select(self._names))

    def rows(self) -> Table:
        return self._child.rows().select(self._names)
