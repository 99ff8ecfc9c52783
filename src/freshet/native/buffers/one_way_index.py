"""The one-way index: which keys are there, and how often."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.index import (
    FREE,
    IDLE,
    USED,
    IndexArrays,
    index_add,
    index_find,
    index_release,
    index_sweep,
    index_take,
)
from freshet.native.buffers.aligned import aligned

Ids = NDArray[np.int64]
Rows = NDArray[np.int32]
Mask = NDArray[np.bool_]

_FIRST_TABLE = 64
_LARGE_TABLE = 1 << 17


def _empty(places: int, width: int) -> IndexArrays:
    """Arrays with a table of a number of places, and room for the entries that may fill three quarters of it."""
    table = aligned((places,), np.int64)
    table.fill(-1)
    capacity = 3 * places // 4
    return IndexArrays(
        table=table,
        keys=aligned((capacity, width), np.int64),
        counts=np.zeros(capacity, np.int32),
        free=np.empty(capacity, np.int32),
        sizes=np.zeros(3, np.int64),
    )


class OneWayIndex:
    """Key -> entry with a counter. Entry numbers stay the same while the key is counted."""

    def __init__(self, width: int) -> None:
        self.arrays = _empty(_FIRST_TABLE, width)
        self._spare = np.empty(0, np.int64)  # the table before the last sweep

    @property
    def capacity(self) -> int:
        return int(self.arrays.counts.shape[0])

    @property
    def room(self) -> int:
        """How many new keys fit without a sweep."""
        arrays = self.arrays
        sizes = arrays.sizes
        room: int = len(arrays.counts) - sizes.item(USED) + sizes.item(FREE)
        return room

    @property
    def live(self) -> int:
        """How many keys have a counter above zero."""
        sizes = self.arrays.sizes
        live: int = sizes.item(USED) - sizes.item(IDLE) - sizes.item(FREE)
        return live

    @property
    def entry_bytes(self) -> int:
        """What an entry takes: two places in the table, the key, its counter and a place among the free ones."""
        return 24 + 8 * int(self.arrays.keys.shape[1])

    @property
    def held_bytes(self) -> int:
        """What the keys take whose counters are above zero; the arrays may have room for more."""
        return self.live * self.entry_bytes

    @property
    def keys(self) -> Ids:
        """One row an entry."""
        return self.arrays.keys

    def live_entries(self) -> Rows:
        used = int(self.arrays.sizes[USED])
        return np.flatnonzero(self.arrays.counts[:used]).astype(np.int32)

    def make_room(self, more: int) -> None:
        """See that `more` new keys fit; idle keys are deleted here, in a batch."""
        if more <= self.room:
            return
        table = self.arrays.table
        places = len(table)
        while 32 * (self.live + more) > 21 * places:  # an eighth is for the keys that come before the next sweep
            places *= 2
        if places > len(table):
            larger = _empty(places, self.arrays.keys.shape[1])
            for old, new in zip(self.arrays[1:], larger[1:], strict=True):  # all but the table
                new[: len(old)] = old
            self.arrays = larger
            self._spare = np.empty(0, np.int64)
        else:
            # Two large tables take turns, so that a sweep costs no new memory.
            empty = self._spare if len(self._spare) else aligned(table.shape, np.int64)
            empty.fill(-1)
            if len(table) >= _LARGE_TABLE:
                self._spare = table
            self.arrays = self.arrays._replace(table=empty)
        self._sweep(table)

    def _sweep(self, table: Ids) -> None:
        index_sweep(table, self.arrays)

    def add(self, keys: Ids) -> tuple[Rows, Mask]:
        """Count keys; gives their entries and which are new."""
        self.make_room(len(keys))
        entries, fresh = index_add(self.arrays, keys)
        return entries, fresh

    def find(self, keys: Ids) -> Rows:
        """The entries of keys that are counted, -1 for others."""
        entries: Rows = index_find(self.arrays, keys)
        return entries

    def release(self, entries: Rows) -> Rows:
        """Count entries once less; gives those that fell to zero."""
        dead: Rows = index_release(self.arrays, entries)
        return dead

    def take(self, keys: Ids) -> Mask:
        """Take each key out once; False where none is left."""
        taken: Mask = index_take(self.arrays, keys)
        return taken
