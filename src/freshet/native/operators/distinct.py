"""DISTINCT, with a counter for each row (algorithms 6 and 7): the union of the lives of equal rows.

    ε(R + r) = ε(R) ∪ {r} where r ∉ R, else ε(R)             equation 4
    ε(R - r) = ε(R) ∖ {r} where r was there once, else ε(R)  equation 5

| moment | rows     | counter of a | out      |
| ------ | -------- | ------------ | -------- |
| 1      | + a, + a | 2            | + a      |
| 2      | - a      | 1            |          |
| 3      | - a, + b | 0            | + b, - a |
"""

from __future__ import annotations

import numpy as np

from freshet.kernels.direct_call import DirectCall
from freshet.kernels.distinct import distinct_changes
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.one_way_index import Ids, OneWayIndex
from freshet.native.change import NOTHING, Change, MomentBatch, Operator, stacked_changes_of
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.r2s.bags import as_rows
from freshet.oneshot.table import Table

_NO_ROWS = Table({}, 0)
_NEVER_YET = 2 * BEFORE_ALL_TIME  # before every moment


class DistinctOp:
    """Each row of its child once."""

    def __init__(self, child: Operator, names: frozenset[str]) -> None:
        self._child = child  # where a sweep of terms finds what it holds
        self._stacked = stacked_changes_of(child)
        self._names = tuple(sorted(names))
        self._counted = OneWayIndex(len(self._names))
        self._stamps = np.empty(0, np.int64)  # the last moment that changed each entry
        self._run = DirectCall(distinct_changes)

    def __len__(self) -> int:
        return self._counted.live

    @property
    def held_bytes(self) -> int:
        """What the rows take that are there."""
        return self._counted.held_bytes + self._stamps.itemsize * self._counted.live

    def changes(self, batch: MomentBatch) -> Change:
        table, came_at, went_at = self._stacked(batch)
        if table.count == 0:
            return NOTHING
        self._make_room(len(came_at))
        columns, moments, comes = self._run.run(
            self._counted.arrays,
            self._stamps,
            as_rows(table, self._names),
            np.ascontiguousarray(came_at),
            np.ascontiguousarray(went_at),
        )
        if len(moments) == 0:
            return NOTHING
        if comes == len(moments):
            return Change(self._table(columns, comes), moments, NOTHING.went, NOTHING.went_at)
        came, went = self._table(columns[:, :comes], comes), self._table(columns[:, comes:], len(moments) - comes)
        return Change(came, moments[:comes], went, moments[comes:])

    def _make_room(self, more: int) -> None:
        self._counted.make_room(more)
        if len(self._stamps) < self._counted.capacity:
            self._stamps = longer(self._stamps, self._counted.capacity, _NEVER_YET)

    def _table(self, columns: Ids, count: int) -> Table:
        return Table({name: columns[at] for at, name in enumerate(self._names)}, count) if count else _NO_ROWS
