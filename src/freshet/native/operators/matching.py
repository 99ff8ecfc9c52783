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

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.matching import LEFT, MatchArrays, match_moments
from freshet.native.accumulators import longer
from freshet.native.change import Batch
from freshet.native.direct_call import DirectCall
from freshet.native.one_way_index import Ids, Rows
from freshet.oneshot.table import Table

__all__ = ["LEFT", "MatchChange", "Matching", "PairJoin", "Pointers", "left_table"]

Pointers = NDArray[np.int32]  # a row of each input


class LeftRows(Protocol):
    """The rows of the left side under numbers, with their lives."""

    @property
    def values(self) -> Ids: ...
    @property
    def row_capacity(self) -> int: ...
    @property
    def born(self) -> Ids: ...
    @property
    def died(self) -> Ids: ...
    def fresh(self, number: int) -> Rows: ...
    def dead(self, number: int) -> Rows: ...
    def old_rows(self, first_moment: int) -> Rows: ...


class LeftSide(Protocol):
    """The left input of a join."""

    @property
    def buffer(self) -> LeftRows: ...
    @property
    def names(self) -> tuple[str, ...]: ...


class PairChange(Protocol):
    """The pairs that come and go, each with its moment, both in order of moments."""

    @property
    def came(self) -> Pointers: ...
    @property
    def came_at(self) -> Ids: ...
    @property
    def went(self) -> Pointers: ...
    @property
    def went_at(self) -> Ids: ...


class PairJoin(Protocol):
    """What is asked of the join of left and right."""

    @property
    def inputs(self) -> Sequence[LeftSide]: ...
    def pointer_changes(self, batch: Batch) -> PairChange: ...
    def table(self, pointers: Pointers) -> Table: ...


class MatchChange(NamedTuple):
    """The pairs that come and go, and the rows of left that enter the chosen half and leave it."""

    pairs: PairChange
    came: Rows
    came_at: Ids
    went: Rows
    went_at: Ids


class Matching:
    """The rows of left with a match (`matched`), or without one."""

    def __init__(self, join: PairJoin, *, matched: bool) -> None:
        self._join = join
        self._matched = matched
        self._arrays = tuple(MatchArrays(np.zeros(0, np.bool_), np.zeros(0, np.int64), np.zeros(0, np.bool_)))
        self._run = DirectCall(match_moments)
        self._is_first = True

    @property
    def held_bytes(self) -> int:
        """What is kept of the rows of left, dead ones included."""
        return sum(array.nbytes for array in self._arrays)

    def step(self, batch: Batch) -> MatchChange:
        left = self._join.inputs[LEFT].buffer
        pairs = self._join.pointer_changes(batch)  # first: the buffers follow
        if left.row_capacity > len(self._arrays[0]):
            self._arrays = tuple(longer(array, left.row_capacity) for array in self._arrays)
        born, died = left.fresh(batch.number), left.dead(batch.number)
        born_at, died_at = left.born[born], left.died[died]
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


def left_table(left: LeftSide, wanted: frozenset[str], rows: Rows) -> Table:
    """The wanted variables of some rows of the left side."""
    values = left.buffer.values
    return Table({name: values[rows, at] for at, name in enumerate(left.names) if name in wanted}, len(rows))
