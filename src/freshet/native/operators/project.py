"""Project: some of the variables.

Δ(π R) = π(ΔR)      as bags: rows that are the same after it still count as often as they came
"""

from __future__ import annotations

from typing import cast

from freshet.native.change import Change, MomentBatch, Operator, RowsAtHand
from freshet.oneshot.table import Table


class ProjectOp:
    """The rows of its child with some of their columns."""

    def __init__(self, child: Operator, names: frozenset[str]) -> None:
        self._child = child
        self._names = names

    def changes(self, batch: MomentBatch) -> Change:
        change = self._child.changes(batch)
        came, went, names = change.came, change.went, self._names
        if came.columns.keys() <= names and went.columns.keys() <= names:
            return change
        return Change(came.select(names), change.came_at, went.select(names), change.went_at)

    def rows(self) -> Table:
        """All rows that hold, where the child has them at hand."""
        return cast(RowsAtHand, self._child).rows().select(self._names)
