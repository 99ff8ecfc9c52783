"""The ring index: the rows that have a key, newest first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.kernels import records
from freshet.kernels.direct_call import DirectCall
from freshet.kernels.index import RingArrays, ring_counts
from freshet.kernels.leaf import index_link, index_probe, index_unlink
from freshet.native.buffers.one_way_index import Ids, OneWayIndex, Rows
from freshet.native.buffers.record import Record

Pointers = NDArray[np.int32]


class Lives(NamedTuple):
    """When the rows of a buffer are born and die, and whether all that can be found live throughout the batch."""

    born: Ids
    died: Ids
    is_still: bool


_FIRST_PAIRS = 256
_RING_BYTES = 12  # a row's entry, and the rows before and behind it


def _grow(array: Rows, size: int) -> Rows:
    larger = np.empty(size, np.int32)
    larger[: len(array)] = array
    return larger


class RingKeys(OneWayIndex):
    """The keys of ring indexes, whose counters stand beside them (see `RingArrays`)."""

    def __init__(self, width: int, sharing: int = 1) -> None:
        """The number of columns of a key, and how many ring indexes may share one."""
        super().__init__(width + sharing)
        self.width = width

    def _sweep(self, table: Ids) -> None:
        counts = self.arrays.counts
        counts[:] = 0
        for words in self.arrays.keys.T[self.width :]:
            counts |= words != 0
        super()._sweep(table)


class RingIndex:
    """Rows by key (some columns of a row), newest first, with a counter per key. Taking a row out is O(1).

    `arrays` are those of the index, the rings and the columns in one plain tuple (see `freshet.kernels.leaf`).
    """

    def __init__(self, columns: tuple[int, ...]) -> None:
        self._columns = np.array(columns, np.int64)
        self._index = RingKeys(len(columns))
        nothing = np.empty(0, np.int32)
        self._ring = RingArrays(nothing, nothing, nothing)
        self.record = Record(records.RING_FIELDS)
        self._use()
        self._lefts, self._found = np.zeros(_FIRST_PAIRS, np.int64), np.empty(_FIRST_PAIRS, np.int32)
        self._probe = DirectCall(index_probe)
        self._link, self._unlink = DirectCall(index_link), DirectCall(index_unlink)

    def _use(self) -> None:
        """Let kernels have the arrays as they are now."""
        self.arrays = (*self._index.arrays, *self._ring, self._columns)
        record, (table, keys, counts, free, sizes) = self.record, self._index.arrays
        fields = record.fields
        fields[records.TABLE_SIZE], fields[records.RING_ROOM] = len(table), len(self._ring.entries)
        fields[records.KEY_ROOM], fields[records.KEY_COLUMNS] = keys.shape
        for field, array in (
            (records.TABLE, table),
            (records.KEYS, keys),
            (records.COUNTS, counts),
            (records.UNUSED, free),
            (records.SIZES, sizes),
            (records.OLDER, self._ring.older),
            (records.NEWER, self._ring.newer),
            (records.ENTRIES, self._ring.entries),
            (records.KEY_PLACES, self._columns),
        ):
            record.point(field, array)

    @property
    def rows(self) -> int:
        """How many rows are in the rings."""
        return self.record.fields[records.RING_ROWS]

    @rows.setter
    def rows(self, rows: int) -> None:
        self.record.fields[records.RING_ROWS] = rows

    def link(self, rows: Rows, values: Ids) -> None:
        """Put rows in front of the rings of their keys; `values` are those of all rows that there can be."""
        self.make_room(len(rows), len(values))
        fields = self.record.fields
        fields[records.LARGEST] = max(fields[records.LARGEST], self._link.run(self.arrays, rows, values))
        fields[records.RING_ROWS] += len(rows)

    def unlink(self, rows: Rows) -> None:
        self._unlink.run(self.arrays, rows)
        self.rows -= len(rows)

    def make_room(self, more: int, row_capacity: int) -> None:
        """See that `more` rows fit, of a leaf that has room for `row_capacity` rows."""
        self._index.make_room(more)
        # Whenever any array of the index is another, its table is.
        if self._index.arrays.table is self.arrays[0] and len(self._ring.entries) >= row_capacity:
            return
        if len(self._ring.entries) < row_capacity:
            self._ring = RingArrays(*(_grow(array, row_capacity) for array in self._ring))
        self._use()

    def probe(self, keys: Ids, moments: Ids, ties: int, lives: Lives) -> tuple[Ids, Rows]:
        """Pairs (which key, row) for all rows with the keys that live at the moments beside these."""
        run, arrays = self._probe.run, self.arrays
        count = run(arrays, keys, lives.born, lives.died, moments, ties, lives.is_still, self._lefts, self._found)
        if count > len(self._found):
            self._lefts, self._found = np.zeros(2 * count, np.int64), np.empty(2 * count, np.int32)
            run(arrays, keys, lives.born, lives.died, moments, ties, lives.is_still, self._lefts, self._found)
        return self._lefts[:count].copy(), self._found[:count].copy()

    @property
    def row_bytes(self) -> int:
        """What a row takes at most, one with a key of its own."""
        return _RING_BYTES + self._index.entry_bytes

    @property
    def held_bytes(self) -> int:
        """What the rows and keys take that are here."""
        return _RING_BYTES * self.rows + self._index.held_bytes

    def counts(self, keys: Ids) -> Ids:
        """How many rows each key has."""
        counts: Ids = ring_counts(self._index.arrays, keys)
        return counts

    @property
    def is_skewed(self) -> bool:
        """Whether some key has, or had, many more rows than a probe may expect."""
        largest = self.record.fields[records.LARGEST]
        return largest > records.MANY_ROWS and largest > records.SKEW * self.rows_per_key()

    def rows_per_key(self) -> float:
        """How many rows a probe that hits may expect, from the counters."""
        return self.rows / max(1, self._index.live)
