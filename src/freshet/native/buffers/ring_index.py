"""The ring index: the rows that have a key, newest first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.index import RingArrays, ring_counts
from freshet.kernels.leaf import index_extend, index_link, index_probe, index_unlink
from freshet.native.buffers.one_way_index import Ids, OneWayIndex, Rows
from freshet.native.direct_call import DirectCall

Pointers = NDArray[np.int32]
Source = tuple[Ids, int, Ids]  # where keys are: values of rows, in which column of pointers the rows, in which columns
Room = tuple[Pointers, Ids]  # for what is found


class Lives(NamedTuple):
    """When the rows of a buffer are born and die, and whether all that can be found live throughout the batch."""

    born: Ids
    died: Ids
    is_still: bool


_FIRST_PAIRS = 256
_MANY_ROWS, _SKEW = 64, 8
_RING_BYTES = 12  # a row's entry, and the rows before and behind it


def _grow(array: Rows, size: int) -> Rows:
    larger = np.empty(size, np.int32)
    larger[: len(array)] = array
    return larger


class RingKeys(OneWayIndex):
    """The keys of ring indexes, whose counters stand beside them (see `RingArrays`)."""

    def __init__(self, width: int, sharing: int = 1) -> None:
        """Keys with so many columns, and how many ring indexes may share one."""
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
        self.arrays = (*self._index.arrays, *self._ring, self._columns)
        self._lefts, self._found = np.empty(_FIRST_PAIRS, np.int64), np.empty(_FIRST_PAIRS, np.int32)
        self._probe, self._extend = DirectCall(index_probe), DirectCall(index_extend)
        self._link, self._unlink = DirectCall(index_link), DirectCall(index_unlink)
        self.rows = 0
        self._largest = 0  # the most rows that a key ever had

    def link(self, rows: Rows, values: Ids) -> None:
        """Put rows in front of the rings of their keys; `values` are those of all rows that there can be."""
        self.make_room(len(rows), len(values))
        self._largest = max(self._largest, self._link.run(self.arrays, rows, values))
        self.rows += len(rows)

    def unlink(self, rows: Rows) -> None:
        self._unlink.run(self.arrays, rows)
        self.rows -= len(rows)

    def make_room(self, more: int, row_capacity: int) -> None:
        """See that `more` rows fit, of a leaf that has room for so many."""
        self._index.make_room(more)
        # Whenever any array of the index is another, its table is.
        if self._index.arrays.table is self.arrays[0] and len(self._ring.entries) >= row_capacity:
            return
        if len(self._ring.entries) < row_capacity:
            self._ring = RingArrays(*(_grow(array, row_capacity) for array in self._ring))
        self.arrays = (*self._index.arrays, *self._ring, self._columns)

    def probe(self, keys: Ids, moments: Ids, ties: int, lives: Lives) -> tuple[Ids, Rows]:
        """Pairs (which key, row) for all rows with the keys that live at the moments beside these."""
        run, arrays = self._probe.run, self.arrays
        count = run(arrays, keys, lives.born, lives.died, moments, ties, lives.is_still, self._lefts, self._found)
        if count > len(self._found):
            self._lefts, self._found = np.empty(2 * count, np.int64), np.empty(2 * count, np.int32)
            run(arrays, keys, lives.born, lives.died, moments, ties, lives.is_still, self._lefts, self._found)
        return self._lefts[:count].copy(), self._found[:count].copy()

    def extend(
        self, pointers: Pointers, moments: Ids, source: Source, ties: int, lives: Lives, place: int, room: Room
    ) -> int:
        """As `probe` with the values of the rows that are in a column of pointers: each row of pointers with those
        found, in column `place`, and the moments, as far as there is room for them. Gives how many there are.
        """
        born, died, is_still = lives
        found: int = self._extend.run(
            self.arrays, pointers, moments, *source, born, died, ties, is_still, place, room[0], room[1]
        )
        return found

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
        return self._largest > _MANY_ROWS and self._largest > _SKEW * self.rows_per_key()

    def rows_per_key(self) -> float:
        """How many rows a probe that hits may expect, from the counters."""
        return self.rows / max(1, self._index.live)
