"""Negation: the rows of left that have no match in right (MINUS, FILTER NOT EXISTS), or have one (FILTER EXISTS).

    L ∖ R = { l ∈ L : matches(l) = 0 }          L ⋉ R = { l ∈ L : matches(l) > 0 }

| moment | left | right | out of MINUS |
| ------ | ---- | ----- | ------------ |
| 1      | + 1  |       | + 1          |
| 2      |      | + 1   | - 1          |
| 3      |      | - 1   | + 1          |
"""

from __future__ import annotations

from freshet.kernels.matching import LEFT
from freshet.native.change import NOTHING, Change, MomentBatch
from freshet.native.operators.matching import Matching, left_table
from freshet.native.operators.multiway_join import MultiwayJoinOp


class NegationOp:
    """The rows of the left side of a join that are in no pair, or (not `negated`) in one."""

    def __init__(self, join: MultiwayJoinOp, wanted: frozenset[str], *, negated: bool) -> None:
        self._matching = Matching(join, matched=not negated)
        self._left = join.inputs[LEFT]
        self._wanted = wanted

    @property
    def held_bytes(self) -> int:
        return self._matching.held_bytes

    def changes(self, batch: MomentBatch) -> Change:
        change = self._matching.step(batch)
        if len(change.came) == 0 == len(change.went):
            return NOTHING
        came, went = (left_table(self._left, self._wanted, rows) for rows in (change.came, change.went))
        return Change(came, change.came_at, went, change.went_at)
