"""Distinct, with a counter for each row (algorithm 6).

    a row comes out when its counter leaves 0, and goes when it is 0 again

| rows       | counter of (1) | out   |
| ---------- | -------------- | ----- |
| + (1)      | 1              | + (1) |
| + (1)      | 2              |       |
| - (1) - (1)| 0              | - (1) |
"""

from __future__ import annotations

import numpy as np

from freshet.native.change import Change, Operator
from freshet.native.one_way_index import OneWayIndex, Rows
from freshet.native.r2s.bags import as_rows
from freshet.oneshot.table import Table


class DistinctOp:
    """Each row of its child once."""

    def __init__(self, child: Operator, names: frozenset[str]) -> None:
        self._child = child
        self._names = tuple(sorted(names))
        self._counted = OneWayIndex(len(self._names))

    def changes(self, number: int) -> Change:
        change = self._child.changes(number)
        came = went = np.empty(0, np.int32)
        if change.came.count:  # first, so that a row that goes and comes at once stays what it is
            entries, fresh = self._counted.add(as_rows(change.came, self._names))
            came = entries[fresh]
        if change.went.count:
            entries, _ = self._counted.add(as_rows(change.went, self._names))  # for the numbers of the entries
            self._counted.release(entries)
            went = self._counted.release(entries)
        return Change(self._table(came), self._table(went))

    def rows(self) -> Table:
        return self._table(self._counted.live_entries())

    def _table(self, entries: Rows) -> Table:
        keys = self._counted.keys[entries]
        return Table({name: keys[:, at] for at, name in enumerate(self._names)}, len(entries))
