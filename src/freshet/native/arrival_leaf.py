"""Leaf buffers for batches in which every arrival is evaluated: rows with the moments of their birth and death."""

from __future__ import annotations

import numpy as np

from freshet.kernels.lives import END, FIRST, LeafArrays, lives_forget, lives_step
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.one_way_index import Ids, OneWayIndex, Rows
from freshet.native.ring_index import RingIndex

_FIRST_ARRIVALS = 256
_NO_ROWS = np.empty(0, np.int32)


class ArrivalLeaf:
    """The rows of a pattern in a window that moves with every arrival.

    After `step`, `born` and `dead` are the rows whose lives began and ended in the batch. The dead stay in the indexes
    until `end_step`, for results that lived within the batch; their values and moments can be read until the next step.
    """

    def __init__(self, pattern: LeafPattern) -> None:
        self.pattern = pattern
        self.born = self.dead = _NO_ROWS
        self._replaced = _NO_ROWS
        self._rows = OneWayIndex(len(pattern.columns))
        self._indexes: dict[tuple[int, ...], RingIndex] = {}
        nothing, capacity = np.empty(0, np.int64), self._rows.capacity
        self.arrays = LeafArrays(
            births=nothing,
            deaths=nothing,
            heirs=_NO_ROWS,
            places=np.empty(_FIRST_ARRIVALS, np.int64),
            inside=np.empty(_FIRST_ARRIVALS, np.int32),
            ends=np.zeros(2, np.int64),
        )
        self._make_rows(capacity)

    @property
    def values(self) -> Ids:
        """One row a leaf row, one column a variable."""
        return self._rows.keys

    @property
    def row_capacity(self) -> int:
        return self._rows.capacity

    @property
    def present(self) -> int:
        """How many rows are, or were during this batch, alive."""
        return self._rows.live + len(self.dead)

    def live_rows(self) -> Rows:
        return self._rows.live_entries()

    def step(self, values: Ids, moments: Ids, places: Ids, starts: Ids, first: int) -> None:
        """Let a batch in: arrivals with their moments (counted from `first`) and places, and the window's starts."""
        self._rows.make_room(len(values))
        self._make_rows(self._rows.capacity)
        self._make_arrivals(len(values))
        self.born, self.dead, self._replaced = lives_step(
            self._rows.arrays, self.arrays, values, moments, places, starts, first
        )
        for index in self._indexes.values():
            index.link(self.born, self.values)

    def end_step(self) -> None:
        """The batch is done with: its dead leave the indexes."""
        for index in self._indexes.values():
            index.unlink(self.dead)
        if len(self._replaced):
            lives_forget(self._rows.arrays, self.arrays, self._replaced)
        self.born = self.dead = self._replaced = _NO_ROWS

    def index_on(self, columns: tuple[int, ...]) -> RingIndex:
        """The ring index on these columns, made the first time it is asked for."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = RingIndex(columns)
            index.link(np.concatenate((self.live_rows(), self.dead)), self.values)
        return index

    def _make_rows(self, capacity: int) -> None:
        arrays = self.arrays
        if len(arrays.births) == capacity:
            return
        births, deaths = np.zeros(capacity, np.int64), np.full(capacity, -1, np.int64)
        heirs = np.full(capacity, -1, np.int32)
        for old, new in ((arrays.births, births), (arrays.deaths, deaths), (arrays.heirs, heirs)):
            new[: len(old)] = old
        self.arrays = arrays._replace(births=births, deaths=deaths, heirs=heirs)

    def _make_arrivals(self, more: int) -> None:
        """Move the arrivals that are inside to the front, of larger arrays where these are more than half full."""
        arrays = self.arrays
        first, end = int(arrays.ends[FIRST]), int(arrays.ends[END])
        if end + more <= len(arrays.places):
            return
        places, inside = arrays.places, arrays.inside
        count = end - first
        if 2 * (count + more) > len(places):
            places, inside = np.empty(2 * (count + more), np.int64), np.empty(2 * (count + more), np.int32)
        places[:count] = arrays.places[first:end]
        inside[:count] = arrays.inside[first:end]
        arrays.ends[:] = 0, count
        self.arrays = arrays._replace(places=places, inside=inside)
