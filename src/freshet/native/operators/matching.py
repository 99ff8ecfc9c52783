"""Which rows of left have a match in right, by increments: what OPTIONAL, MINUS and EXISTS are made of.

    matches(l) = how many pairs (l, r) the join of left and right has

The join follows both sides (equations 1 to 3); a row's counter follows the pairs that come and go with it, so that
only rows are looked at which came or went themselves or whose pairs did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from freshet.native.accumulators import longer
from freshet.native.one_way_index import Mask, Rows
from freshet.native.operators.multiway_join import MultiwayJoinOp
from freshet.native.result_buffer import Pointers

LEFT = 0


@dataclass(frozen=True, slots=True, eq=False)
class MatchChange:
    """Pairs that came and went, and the rows of left that are in the chosen half now, or are no longer."""

    pairs_came: Pointers
    pairs_went: Pointers
    rows_came: Rows
    rows_went: Rows


class Matching:
    """The rows of left with a match (`matched`), or without one."""

    def __init__(self, join: MultiwayJoinOp, *, matched: bool) -> None:
        self.join = join
        self._matched = matched
        self._counts = np.zeros(0, np.int64)
        self._alive = np.zeros(0, np.bool_)
        self._chosen = np.zeros(0, np.bool_)

    def step(self, number: int) -> MatchChange:
        left = self.join.inputs[LEFT].buffer
        seen = self.join.seen
        came, went = self.join.pointer_changes(number)
        if left.row_capacity > len(self._counts):
            self._counts, self._alive, self._chosen = (
                longer(array, left.row_capacity) for array in (self._counts, self._alive, self._chosen)
            )
        fresh = left.live_rows() if seen is None else left.fresh(seen)
        dead = np.empty(0, np.int32) if seen is None else left.dead(seen)
        self._alive[fresh] = True
        self._alive[dead] = False
        np.add.at(self._counts, came[:, LEFT], 1)
        np.subtract.at(self._counts, went[:, LEFT], 1)
        touched = _each_once([fresh, dead, came[:, LEFT], went[:, LEFT]])
        now: Mask = self._alive[touched] & ((self._counts[touched] > 0) == self._matched)
        before: Mask = self._chosen[touched]
        self._chosen[touched] = now
        return MatchChange(came, went, touched[now & ~before], touched[before & ~now])

    def chosen(self) -> Rows:
        """All rows of left that are in the chosen half."""
        return np.flatnonzero(self._chosen).astype(np.int32)


def _each_once(parts: list[Rows]) -> Rows:
    some = [part for part in parts if len(part)]
    if not some:
        return np.empty(0, np.int32)
    if len(some) == 1 and len(some[0]) == 1:
        return some[0]
    return np.unique(np.concatenate(some))
