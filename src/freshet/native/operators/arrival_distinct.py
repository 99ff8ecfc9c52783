"""DISTINCT after every moment of a batch (algorithm 7).

    ε(R + r) = ε(R) ∪ {r} where r ∉ R, else ε(R)            equation 4
    ε(R - r) = ε(R) ∖ {r} where r was there once, else ε(R)  equation 5

| moment | rows       | appeared | vanished |
| ------ | ---------- | -------- | -------- |
| 1      | + a, + a   | a        |          |
| 2      | - a        |          |          |
| 3      | - a, + b   | b        | a        |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from freshet.kernels.arrival_batches import distinct_through
from freshet.kernels.arrival_instant import distinct_instant
from freshet.kernels.running import entries_of, running_distinct
from freshet.native.accumulators import longer
from freshet.native.direct_call import DirectCall
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.one_way_index import Ids, OneWayIndex

_FIRST_ROOM = 64


class TimedRows(NamedTuple):
    """Rows of ids, in order of the moments beside them."""

    rows: Ids
    moments: Ids


class ArrivalDistinctOp:
    """Follows a bag of rows: which appear at each moment that were not there before it, and which vanish.

    Moments are numbers or times, but the same throughout.
    """

    def __init__(self, width: int) -> None:
        self._index = OneWayIndex(width)
        self._stamps = np.empty(0, np.int64)
        self._distinct_through, self._distinct_instant = DirectCall(distinct_through), DirectCall(distinct_instant)
        self._entries = np.empty(_FIRST_ROOM, np.int32)

    def __len__(self) -> int:
        return self._index.live

    @property
    def held_bytes(self) -> int:
        """What the rows take that are there."""
        return self._index.held_bytes + self._stamps.itemsize * self._index.live

    def step_rows(self, came: Ids, went: Ids) -> tuple[Ids, Ids]:
        """What appeared and what vanished in a batch; all rows have their times in front."""
        self._make_room(len(came))
        came, went = np.ascontiguousarray(came), np.ascontiguousarray(went)
        appeared, vanished = self._distinct_through.run(tuple(self._index.arrays), self._stamps, came, went)
        return appeared, vanished

    def step_instant(self, came: Ids, went: Ids) -> tuple[Ids, Ids]:
        """What appeared and what vanished at one instant. These stand where the rows stood that were given."""
        self._make_room(len(came))
        if len(came) > len(self._entries):
            self._entries = np.empty(2 * len(came), np.int32)
        came, went = np.ascontiguousarray(came), np.ascontiguousarray(went)
        appeared, vanished = self._distinct_instant.run(tuple(self._index.arrays), came, went, self._entries)
        return came[:appeared], went[:vanished]

    def step(self, entering: TimedRows, leaving: TimedRows) -> tuple[TimedRows, TimedRows]:
        """What appeared and what vanished in a batch."""
        self._make_room(len(entering.moments))
        arrays = self._index.arrays
        comes = entries_of(arrays, np.ascontiguousarray(entering.rows))
        goes = entries_of(arrays, np.ascontiguousarray(leaving.rows))
        appeared, appeared_moments, vanished, vanished_moments = running_distinct(
            arrays, self._stamps, comes, entering.moments, goes, leaving.moments
        )
        keys = self._index.keys
        return TimedRows(keys[appeared], appeared_moments), TimedRows(keys[vanished], vanished_moments)

    def _make_room(self, more: int) -> None:
        self._index.make_room(more)
        if len(self._stamps) < self._index.capacity:
            self._stamps = longer(self._stamps, self._index.capacity, BEFORE_ALL_TIME)
