"""Which rows of left have a match in right, by increments: what OPTIONAL, MINUS and EXISTS are made of.

    matches(l, m) = how many pairs (l, r) the join of left and right has at moment m

The join follows both sides (equations 1 to 3); a row's counter follows the pairs that come and go with it, so that
only rows are looked at which came or went themselves or whose pairs did.

| moment | left | pairs    | matched | not matched |
| ------ | ---- | -------- | ------- | ----------- |
| 1      | + 1  |          |         | + 1         |
| 2      |      | + (1, a) | + 1     | - 1         |
| 3      | - 1  | - (1, a) | - 1     |             |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from freshet.kernels.direct_call import DirectCall
from freshet.kernels.matching import LEFT, MatchArrays, match_moments
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.inputs import Input
from freshet.native.buffers.one_way_index import Ids, Rows
from freshet.native.change import MomentBatch
from freshet.native.operators.multiway_join import MultiwayJoinOp, Results
from freshet.oneshot.table import Table


class MatchChange(NamedTuple):
    """The pairs that come and go, and the rows of left that enter the chosen half and leave it."""

    pairs: Results
    came: Rows
    came_at: Ids
    went: Rows
    went_at: Ids


_NO_ROWS, _NO_MOMENTS = np.empty(0, np.int32), np.empty(0, np.int64)
_NO_CHANGE = MatchChange(
    Results(np.empty((0, 2), np.int32), _NO_MOMENTS, np.empty((0, 2), np.int32), _NO_MOMENTS),
    _NO_ROWS, _NO_MOMENTS, _NO_ROWS, _NO_MOMENTS,
)  # fmt: skip


class Matching:
    """The rows of left with a match (`matched`), or without one."""

    def __init__(self, join: MultiwayJoinOp, *, matched: bool) -> None:
        self._join = join
        self._matched = matched
        self._arrays = tuple(MatchArrays(np.zeros(0, np.bool_), np.zeros(0, np.int64), np.zeros(0, np.bool_)))
        self._run = DirectCall(match_moments)
        self._is_first = True

    @property
    def held_bytes(self) -> int:
        """What is kept of the rows of left, dead ones included."""
        return sum(array.nbytes for array in self._arrays)

    def step(self, batch: MomentBatch) -> MatchChange:
        left = self._join.inputs[LEFT].buffer
        pairs = self._join.pointer_changes(batch)  # first: the buffers follow
        if left.row_capacity > len(self._arrays[0]):
            self._arrays = tuple(longer(array, left.row_capacity) for array in self._arrays)
        born, died = left.fresh(batch.number), left.dead(batch.number)
        if not (len(born) or len(died) or len(pairs.came_at) or len(pairs.went_at) or self._is_first):
            return _NO_CHANGE
        born_at, died_at = left.births(born), left.deaths(died)
        if self._is_first:
            self._is_first = False
            old = left.old_rows(batch.first)
            born = np.concatenate((old, born))
            born_at = np.concatenate((np.full(len(old), batch.first), born_at))
        changed = self._run.run(
            self._arrays,
            self._matched,
            np.ascontiguousarray(born),
            born_at,
            np.ascontiguousarray(died),
            died_at,
            np.ascontiguousarray(pairs.came),
            np.ascontiguousarray(pairs.came_at),
            np.ascontiguousarray(pairs.went),
            np.ascontiguousarray(pairs.went_at),
        )
        return MatchChange(pairs, *changed)


def left_table(left: Input, wanted: frozenset[str], rows: Rows) -> Table:
    """The wanted variables of some rows of the left side."""
    values = left.buffer.values
    if len(rows) == 1:  # NumPy takes twice as long to look one value up
        row, names = rows.item(), enumerate(left.names)
        return Table({name: np.array([values.item(row, at)], np.int64) for at, name in names if name in wanted}, 1)
    return Table({name: values[rows, at] for at, name in enumerate(left.names) if name in wanted}, len(rows))
