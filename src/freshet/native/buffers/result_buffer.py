"""The results of a join, as pointers to leaf rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.kernels import records
from freshet.kernels.pointers import FREE, FRONT, IS_QUEUE, LIVE, USED, PointerArrays
from freshet.native.buffers.one_way_index import Rows
from freshet.native.buffers.record import Record

Pointers = NDArray[np.int32]

_FIRST_CAPACITY = 64
_QUEUE_SPARE = 4


class ResultBuffer:
    """Rows of pointers, one column a leaf; the first `expiring` leaves can take results back.

    Kernels add results and take them back (`freshet.kernels.pointers`); this sees that there is room. With `is_queue`
    results are expected to go in the order in which they came; one leaf expires then.
    """

    def __init__(self, leaves: int, expiring: int, *, is_queue: bool = False) -> None:
        self.record = Record(records.RESULT_FIELDS)
        arrays = PointerArrays(
            pointers=np.empty((_FIRST_CAPACITY, leaves), np.int32),
            alive=np.zeros(_FIRST_CAPACITY, np.bool_),
            heads=np.full((expiring, _FIRST_CAPACITY), -1, np.int32),
            older=np.empty((expiring, _FIRST_CAPACITY), np.int32),
            newer=np.empty((expiring, _FIRST_CAPACITY), np.int32),
            free=np.empty(_FIRST_CAPACITY, np.int32),
            sizes=np.array([0, 0, 0, 0, is_queue]),
        )
        self._use(arrays)

    def _use(self, arrays: PointerArrays) -> None:
        self.arrays = arrays
        record, fields = self.record, self.record.fields
        fields[records.SLOTS], fields[records.LEAVES] = arrays.pointers.shape
        fields[records.EXPIRING], fields[records.ROW_ROOM] = arrays.heads.shape
        for field, array in enumerate(arrays, start=records.POINTERS):
            record.point(field, array)

    def __len__(self) -> int:
        return int(self.arrays.sizes.item(LIVE))

    @property
    def is_queue(self) -> bool:
        """Whether all results so far have gone in the order in which they came."""
        return bool(self.arrays.sizes.item(IS_QUEUE))

    @property
    def held_bytes(self) -> int:
        """What the results take that are here; nothing where no leaf can take any back: those are not of windows."""
        expiring, leaves = len(self.arrays.heads), self.arrays.pointers.shape[1]
        return len(self) * (4 * leaves + 8 * expiring + 5) if expiring else 0

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take."""
        return int(sum(array.nbytes for array in self.arrays))

    @property
    def pointer_bytes(self) -> int:
        """The part of it that the pointers take; the rest is what finds the results of a row that goes."""
        return int(self.arrays.pointers.nbytes)

    def live(self) -> Pointers:
        """The pointers of all results."""
        used = int(self.arrays.sizes[USED])
        live: Pointers = self.arrays.pointers[:used][self.arrays.alive[:used]]
        return live

    def pointed_to(self, leaf: int) -> Rows:
        """The rows of a leaf that the results point to, as often as they do."""
        used = self.arrays.sizes.item(USED)
        rows: Rows = self.arrays.pointers[:used, leaf][self.arrays.alive[:used]]
        return rows

    def point_to(self, leaf: int, rows: Rows) -> None:
        """Have the results point to other rows of a leaf, in the order of `pointed_to`."""
        used = self.arrays.sizes.item(USED)
        self.arrays.pointers[:used, leaf][self.arrays.alive[:used]] = rows

    def make_room(self, more: int, row_capacity: int) -> None:
        """See that `more` results fit, which point to rows with numbers below `row_capacity`."""
        pointers, alive, heads, older, newer, free, sizes = self.arrays
        if heads.shape[1] >= row_capacity and sizes.item(USED) - sizes.item(FREE) + more <= len(alive):
            return
        if heads.shape[1] < row_capacity:
            wider = np.full((heads.shape[0], row_capacity), -1, np.int32)
            wider[:, : heads.shape[1]] = heads
            heads = wider
        capacity = len(alive)
        if self.is_queue:
            self._move_to_front()
            more += (len(self) + more) // _QUEUE_SPARE  # else the next results would have no room
        while int(sizes[USED] - sizes[FREE]) + more > capacity:
            capacity *= 2
        if capacity > len(alive):
            added = capacity - len(alive)
            pointers = np.concatenate((pointers, np.empty((added, pointers.shape[1]), np.int32)))
            alive = np.concatenate((alive, np.zeros(added, np.bool_)))
            older, newer = (
                np.concatenate((chain, np.empty((chain.shape[0], added), np.int32)), axis=1) for chain in (older, newer)
            )
            free = np.concatenate((free, np.empty(added, np.int32)))
        self._use(PointerArrays(pointers, alive, heads, older, newer, free, sizes))

    def _move_to_front(self) -> None:
        """Use the room again that the results had which have left the queue."""
        pointers, alive, sizes = self.arrays.pointers, self.arrays.alive, self.arrays.sizes
        front, end = sizes.item(FRONT), sizes.item(USED)
        pointers[: end - front] = pointers[front:end].copy()
        alive[: end - front] = True
        alive[end - front : end] = False
        sizes[FRONT], sizes[USED] = 0, end - front
