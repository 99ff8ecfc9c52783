"""A queue of rows with their positions, on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from struct import Struct
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from freshet.kernels import records
from freshet.native.buffers.one_way_index import Ids
from freshet.native.buffers.record import Record

_FIRST_CAPACITY = 32
_MOST_SPARE = 1 << 12  # rows for those that come: windows are filled by more than come later
_FREE_ROWS = 1 << 10  # or an eighth of those that are there: few windows then move what they hold with every batch
_SECOND_CAPACITY = 128  # where rows come and go: to move them to the front costs a hundred times as much as to add one

Value = TypeVar("Value", bound=np.generic)


def room_for(there: int, more: int) -> int:
    """How much room a queue gets, so that what is there moves seldom enough."""
    return there + max(there // 8, min(there, _FREE_ROWS)) + more + min(more, _MOST_SPARE) // 4 + _FIRST_CAPACITY


class Arrivals(Generic[Value]):
    """Rows in order of position, added at the back and taken from the front, in one pair of arrays that is used again.

    Kernels add and take most of them, by its record. Arrays that it gives out are views, good until the next call.
    """

    def __init__(self, dtype: type[Value], shape: tuple[int, ...] = ()) -> None:
        self.record = Record(records.QUEUE_FIELDS)
        self._use(np.zeros(_FIRST_CAPACITY, np.int64), np.zeros((_FIRST_CAPACITY, *shape), dtype))
        self._write_row = Struct(f"={prod(shape)}q").pack_into

    def _use(self, positions: Ids, values: NDArray[Value]) -> None:
        self._positions, self._values = positions, values
        # Single numbers are written through these in half the time.
        self._single_positions, self._single_values = positions.data, values.data
        self.record.fields[records.QUEUE_ROOM] = len(positions)
        self.record.point(records.POSITIONS, positions)
        self.record.point(records.QUEUED, values)

    def __len__(self) -> int:
        fields = self.record.fields
        return fields[records.END] - fields[records.FIRST]

    @property
    def row_bytes(self) -> int:
        """What a row takes with its position."""
        return 8 + self._values.strides[0]

    @property
    def positions(self) -> Ids:
        fields = self.record.fields
        return self._positions[fields[records.FIRST] : fields[records.END]]

    @property
    def values(self) -> NDArray[Value]:
        fields = self.record.fields
        return self._values[fields[records.FIRST] : fields[records.END]]

    def last_added(self, count: int) -> tuple[Ids, NDArray[Value]]:
        """The rows that were added last, and have not been taken, or all at once."""
        end = max(count, self.record.fields[records.END])
        return self._positions[end - count : end].copy(), self._values[end - count : end].copy()

    def append_one(self, position: int, values: Sequence[int]) -> None:
        """One row, of 64 bits each, behind those that are there."""
        fields = self.record.fields
        end = fields[records.END]
        if end == fields[records.QUEUE_ROOM]:
            self.make_room(1)
            end = fields[records.END]
        self._single_positions[end] = position
        self._write_row(self._single_values, 8 * end * len(values), *values)
        fields[records.END] = end + 1

    def make_room(self, more: int) -> None:
        """See that `more` rows can be written behind the end: move what is there to the front, of other arrays where
        these are nearly full, or much too large.
        """
        fields = self.record.fields
        first, end, room = fields[records.FIRST], fields[records.END], fields[records.QUEUE_ROOM]
        if end + more <= room:
            return
        there = end - first
        positions, values = self._positions, self._values
        capacity = max(room_for(there, more), _SECOND_CAPACITY)
        if capacity > room or (8 * capacity < room and room > _SECOND_CAPACITY):
            self._use(np.zeros(capacity, np.int64), np.zeros((capacity, *values.shape[1:]), values.dtype))
        self._positions[:there] = positions[first:end]
        self._values[:there] = values[first:end]
        fields[records.FIRST], fields[records.END] = 0, there
