"""Scan: the rows of one leaf, where nothing is joined with them.

Δ(scan R) = ΔR
"""

from __future__ import annotations

import numpy as np

from freshet.kernels.direct_call import DirectCall
from freshet.kernels.leaf_changes import leaf_changes
from freshet.native.buffers.inputs import Input
from freshet.native.buffers.leaf_buffer import LeafBuffer
from freshet.native.buffers.one_way_index import Ids, Rows
from freshet.native.change import NOTHING, Change, MomentBatch, stack_changes
from freshet.oneshot.table import Table

_CHANGES = DirectCall(leaf_changes)


class ScanOp:
    """The rows that one input has."""

    def __init__(self, source: Input, wanted: frozenset[str]) -> None:
        self._buffer = source.buffer
        self._columns = {name: at for at, name in enumerate(source.names) if name in wanted}
        self._is_new = True  # nothing has been asked of it yet
        self._address = self._buffer.record.address if isinstance(self._buffer, LeafBuffer) else 0

    def stacked_changes(self, batch: MomentBatch) -> tuple[Table, Ids, Ids]:
        """The rows that come, and behind them those that go, and the moments of both."""
        if self._is_new or not self._address:
            return stack_changes(self._first_changes(batch))
        columns, moments, came = _CHANGES.run(self._address, batch.number)
        table = Table({name: columns[at] for name, at in self._columns.items()}, len(moments))
        return table, moments[:came], moments[came:]

    def changes(self, batch: MomentBatch) -> Change:
        if self._is_new or not self._address:
            return self._first_changes(batch)
        columns, moments, came = _CHANGES.run(self._address, batch.number)
        count = len(moments)
        if count == 0:
            return NOTHING
        if came == count:
            table = Table({name: columns[at] for name, at in self._columns.items()}, count)
            return Change(table, moments, NOTHING.went, NOTHING.went_at)
        table = Table({name: columns[at, :came] for name, at in self._columns.items()}, came)
        went = Table({name: columns[at, came:] for name, at in self._columns.items()}, count - came)
        return Change(table, moments[:came], went, moments[came:])

    def _first_changes(self, batch: MomentBatch) -> Change:
        """What comes and goes, with all that is there, where nothing has been asked of it yet."""
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
