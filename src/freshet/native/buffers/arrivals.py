"""A queue of timed rows on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from struct import Struct
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from freshet.native.buffers.one_way_index import Ids
from freshet.native.moments import AFTER_ALL_TIME

_FIRST_CAPACITY = 256

Value = TypeVar("Value", bound=np.generic)


class Arrivals(Generic[Value]):
    """Rows in order of time, added at the back and taken from the front, in one pair of arrays that is used again.

    What is added is in order of time, and as a rule not before what is there; the exception is sorted in.
    Arrays that it gives out are views, good until the next call.
    """

    def __init__(self, dtype: type[Value], shape: tuple[int, ...] = ()) -> None:
        self._use(np.empty(_FIRST_CAPACITY, np.int64), np.empty((_FIRST_CAPACITY, *shape), dtype))
        self._write_row = Struct(f"={prod(shape)}q").pack_into
        self.first = self.end = 0
        self.first_time = AFTER_ALL_TIME  # the time of the first row

    def _use(self, times: Ids, values: NDArray[Value]) -> None:
        # The times and values, from `first` up to, not including, `end`, for kernels that read and add some.
        self.arrays = self._times, self._values = times, values
        self.room = len(times)
        # Single numbers are read and written through these in half the time.
        self._single_times, self._single_values = times.data, values.data

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def row_bytes(self) -> int:
        """What a row takes with its time."""
        return 8 + self._values.strides[0]

    @property
    def times(self) -> Ids:
        return self._times[self.first : self.end]

    @property
    def values(self) -> NDArray[Value]:
        return self._values[self.first : self.end]

    def append(self, times: Ids, values: NDArray[Value]) -> None:
        if len(times) == 0:
            return
        earlier = len(self) > 0 and times[0] < self._times[self.end - 1]
        self.make_room(len(times))
        back = slice(self.end, self.end + len(times))
        self._times[back] = times
        self._values[back] = values
        self.end = back.stop
        if earlier:
            order = np.argsort(self.times, kind="stable")
            self.times[:] = self.times[order]
            self.values[:] = self.values[order]
        self.first_time = self._times.item(self.first)

    def append_one(self, time: int, values: Sequence[int]) -> None:
        """One row, of 64 bits each, at the back, not before what is there."""
        end = self.end
        if end == self.room:
            self._make_room(1)
            end = self.end
        self._single_times[end] = time
        self._write_row(self._single_values, 8 * end * len(values), *values)
        if end == self.first:
            self.first_time = time
        self.end = end + 1

    def count_before(self, time_ms: int) -> int:
        """How many rows at the front have a time before `time_ms`."""
        if self.first_time >= time_ms:
            return 0
        second = self.first + 1
        if second == self.end or self._single_times[second] >= time_ms:
            return 1
        return 1 + int(self._times[second : self.end].searchsorted(time_ms))

    def make_room(self, more: int) -> None:
        """See that `more` rows can be written behind the end."""
        if self.end + more > self.room:
            self._make_room(more)

    def move(self, taken: int, added: int) -> None:
        """Rows were taken from the front, and written behind the end."""
        self.first += taken
        self.end += added
        self.first_time = self._single_times[self.first] if self.first < self.end else AFTER_ALL_TIME

    def _make_room(self, more: int) -> None:
        """Move what is there to the front, of larger arrays where these are more than half full."""
        there = len(self)
        times, values = self._times, self._values
        if 2 * (there + more) > self.room:
            capacity = 2 * (there + more)
            self._use(np.empty(capacity, np.int64), np.empty((capacity, *values.shape[1:]), values.dtype))
        self._times[:there] = times[self.first : self.end]
        self._values[:there] = values[self.first : self.end]
        self.first, self.end = 0, there
