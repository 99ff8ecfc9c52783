"""Project: some of the variables.

Δ(π R) = π(ΔR)      as bags: rows that are the same after it still count as often as they came
"""

from __future__ import annotations

from freshet.native.change import Change, Operator
from freshet.oneshot.table import Table


class ProjectOp:
    """The rows of its child with some of their columns."""

    def __init__(self, child: Operator, names: frozenset[str]) -> None:
        self._child = child
        self._names = names

    def changes(self, number: int) -> Change:
        change = self._child.changes(number)
        return Change(change.came.only(self._names), change.went.only(self._names))

    def rows(self) -> Table:
        return self._child.rows().only(self._names)
