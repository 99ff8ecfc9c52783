"""Scan: the rows of one leaf, where nothing is joined with them.

Δ(scan R) = ΔR
"""

from __future__ import annotations

from freshet.native.change import Change
from freshet.native.inputs import Input
from freshet.native.one_way_index import Rows
from freshet.oneshot.table import Table


class ScanOp:
    """The rows that one input has."""

    def __init__(self, source: Input, wanted: frozenset[str]) -> None:
        self._buffer = source.buffer
        self._columns = {name: at for at, name in enumerate(source.names) if name in wanted}
        self._seen: int | None = None

    def changes(self, number: int) -> Change:
        if self._seen is None:
            came, went = self._buffer.live_rows(), self._buffer.dead(number)
        else:
            came, went = self._buffer.fresh(self._seen), self._buffer.dead(self._seen)
        self._seen = number
        return Change(self._table(came), self._table(went))

    def rows(self) -> Table:
        return self._table(self._buffer.live_rows())

    def _table(self, rows: Rows) -> Table:
        values = self._buffer.values
        return Table({name: values[rows, at] for name, at in self._columns.items()}, len(rows))
