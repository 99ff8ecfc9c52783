"""Project: some of the variables.

Δ(π R) = π(ΔR)      as bags: rows that are the same after it still count as often as they came
"""

from __future__ import annotations

from typing import cast

from freshet.native.buffers.one_way_index import Ids
from freshet.native.change import Change, MomentBatch, Operator, RowsAtHand, stacked_changes_of
from freshet.oneshot.table import Table


class ProjectOp:
    """The rows of its child with some of their columns."""

    def __init__(self, child: Operator, names: frozenset[str]) -> None:
        self._child = child
        self._stacked = stacked_changes_of(child)
        self._names = names

    def changes(self, batch: MomentBatch) -> Change:
        change = self._child.changes(batch)
        came, went, names = change.came, change.went, self._names
        if came.columns.keys() <= names and went.columns.keys() <= names:
            return change
        return Change(came.select(names), change.came_at, went.select(names), change.went_at)

    def stacked_changes(self, batch: MomentBatch) -> tuple[Table, Ids, Ids]:
        """The rows that come, and behind them those that go, and the moments of both."""
        table, came_at, went_at = self._stacked(batch)
        return table if table.columns.keys() <= self._names else table.select(self._names), came_at, went_at

    def rows(self) -> Table:
        """All rows that hold, where the child has them at hand."""
        return cast(RowsAtHand, self._child).rows().select(self._names)
