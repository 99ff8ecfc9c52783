"""The ring index: the rows that have a key, newest first."""

from __future__ import annotations

import numpy as np

from freshet.kernels.bags import ring_pop
from freshet.kernels.index import RingArrays, ring_link, ring_probe, ring_unlink
from freshet.native.one_way_index import Ids, OneWayIndex, Rows


def _grown(array: Rows, size: int) -> Rows:
    larger = np.empty(size, np.int32)
    larger[: len(array)] = array
    return larger


class _RingKeys(OneWayIndex):
    """The keys of a ring index, whose counters stand beside them (see `RingArrays`)."""

    def _sweep(self, table: Ids) -> None:
        self.arrays.counts[:] = self.arrays.keys[:, -1] >> 32
        super()._sweep(table)


class RingIndex:
    """Rows by key (some columns of a row), newest first, with a counter per key. Taking a row out is O(1)."""

    def __init__(self, columns: tuple[int, ...]) -> None:
        self._columns = np.array(columns, np.int64)
        self._index = _RingKeys(len(columns) + 1)
        nothing = np.empty(0, np.int32)
        self._ring = RingArrays(nothing, nothing, nothing)
        self._rows = 0

    def link(self, rows: Rows, values: Ids) -> None:
        """Put rows in front of the rings of their keys; `values` are those of all rows that there can be."""
        self._index.make_room(len(rows))
        if len(self._ring.entries) < len(values):
            self._ring = RingArrays(*(_grown(array, len(values)) for array in self._ring))
        ring_link(self._index.arrays, self._ring, rows, values, self._columns)
        self._rows += len(rows)

    def unlink(self, rows: Rows) -> None:
        ring_unlink(self._index.arrays, self._ring, rows)
        self._rows -= len(rows)

    def pop(self, keys: Ids) -> Rows:
        """Take out the newest row of each key."""
        rows: Rows = ring_pop(self._index.arrays, self._ring, keys)
        if len(rows) and rows.min() < 0:
            raise ValueError("a row leaves that never came")
        self._rows -= len(rows)
        return rows

    def probe(self, keys: Ids, born: Ids, before: int) -> tuple[Ids, Rows]:
        """Pairs (which key, row) for all rows with the keys that were born before a step."""
        lefts, rows = ring_probe(self._index.arrays, self._ring, keys, born, before)
        return lefts, rows

    def rows_per_key(self) -> float:
        """How many rows a probe that hits may expect, from the counters."""
        return self._rows / max(1, self._index.live)
