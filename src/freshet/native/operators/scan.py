"""Scan: the rows of one leaf, where nothing is joined with them.

Δ(scan R) = ΔR
"""

from __future__ import annotations

import numpy as np

from freshet.native.buffers.inputs import Input
from freshet.native.buffers.one_way_index import Rows
from freshet.native.change import NOTHING, Change, MomentBatch
from freshet.oneshot.table import Table


class ScanOp:
    """The rows that one input has."""

    def __init__(self, source: Input, wanted: frozenset[str]) -> None:
        self._buffer = source.buffer
        self._columns = {name: at for at, name in enumerate(source.names) if name in wanted}
        self._is_new = True  # nothing has been asked of it yet

    def changes(self, batch: MomentBatch) -> Change:
        buffer = self._buffer
        came, went = buffer.fresh(batch.number), buffer.dead(batch.number)
        if not (len(came) or len(went) or self._is_new):
            return NOTHING
        came_at = buffer.births(came)
        if self._is_new:
            self._is_new = False
            old = buffer.old_rows(batch.first)
            came = np.concatenate((old, came))
            came_at = np.concatenate((np.full(len(old), batch.first), came_at))
        if len(came) == 0 == len(went):
            return NOTHING
        if len(went) == 0:
            return Change(self._table(came), came_at, NOTHING.went, NOTHING.went_at)
        return Change(self._table(came), came_at, self._table(went), buffer.deaths(went))

    def _table(self, rows: Rows) -> Table:
        values = self._buffer.values
        if len(rows) == 1:  # NumPy takes twice as long to look one value up
            row = rows.item()
            return Table({name: np.array([values.item(row, at)], np.int64) for name, at in self._columns.items()}, 1)
        return Table({name: values[rows, at] for name, at in self._columns.items()}, len(rows))
