"""The join of arrivals for the elements of one instant, in one call of a kernel that makes nothing.

It does what `ArrivalJoinOp` does for a batch. A push of a single element is an instant; so is that of an event with a
few triples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.arrival_instant import pass_instant
from freshet.native.arrival_leaf import ArrivalLeaves
from freshet.native.arrival_source import FEW_ELEMENTS, ArrivalSource, Ready
from freshet.native.direct_call import DirectCall
from freshet.native.one_way_index import Ids, Mask
from freshet.native.result_buffer import ResultBuffer

_FIRST_ROOM = 64  # results

_Arrays = tuple[NDArray[Any], ...]


class InstantJoin:
    """Takes instants through the leaves of a join. Where `keeps` is set, results are kept to tell which of them end."""

    def __init__(self, leaves: ArrivalLeaves, results: ResultBuffer, *, keeps: bool) -> None:
        self._leaves = leaves
        self._results = results
        self._keeps = keeps
        self._pass_instant = DirectCall(pass_instant)
        self._inside = np.empty(0, np.int32)  # the leaves' array as it was when room was made for the dead
        self._lists: _Arrays = ()  # see `pass_instant`
        self._room: _Arrays = ()
        self._width = -1

    def step(self, source: ArrivalSource, ready: Ready, kept_out: Mask, orders: Ids, homes: Ids) -> tuple[Ids, Ids]:
        """What came and what went, with a column for each of `homes`; good until the next step.

        There must be room for the elements in the leaves.
        """
        leaves, results = self._leaves, self._results
        if leaves.life.inside is not self._inside or len(homes) != self._width:
            self._lists = self._new_lists()
            self._make_room(_FIRST_ROOM, len(homes))
        batch = (*ready.elements, ready.offsets, source.numbers, kept_out)
        entered, lacking = False, 1
        while lacking:
            kept, room = tuple(results.arrays), self._room
            coming, going, lacking = self._pass_instant.run(
                source.plain_plans, batch, leaves.arrays, kept, orders, homes, source.first, self._keeps, entered, room
            )
            if lacking:
                entered = True
                results.make_room(lacking, leaves.row_capacity)
                self._make_room(2 * lacking, len(homes))
        source.steps = 1
        return room[-2][:coming], room[-1][:going]

    def _new_lists(self) -> _Arrays:
        """Room for the rows that are born and that die, and for a key of a row and one of a ring."""
        leaves = self._leaves
        self._inside = leaves.life.inside
        count = len(leaves.leaves)
        born, dead = np.empty(FEW_ELEMENTS * count, np.int32), np.empty(len(self._inside), np.int32)
        key, ring_key = np.empty((1, 1 + leaves.width), np.int64), np.empty((1, 1 + leaves.key_columns), np.int64)
        return born, np.zeros(count + 1, np.int64), dead, np.zeros(count + 1, np.int64), key, ring_key

    def _make_room(self, results: int, width: int) -> None:
        """Room for so many results with so many columns."""
        count = len(self._leaves.leaves)
        self._width = width
        found, walk = np.empty((results, count), np.int32), np.empty((2, count), np.int64)
        came, went = np.empty((results, width), np.int64), np.empty((results, width), np.int64)
        self._room = (*self._lists, found, walk, came, went)
