"""LeftJoin, which is OPTIONAL: the join where the condition holds, and what of left has no match.

    L ⟕ R = (L ⋈ R)  ∪  { l ∈ L : matches(l) = 0 }

| moment | left | right | out                    |
| ------ | ---- | ----- | ---------------------- |
| 1      | + 1  |       | + (1, -)               |
| 2      |      | + 1 a | - (1, -), + (1, a)     |
| 3      |      | - 1 a | - (1, a), + (1, -)     |
"""

from __future__ import annotations

import numpy as np

from freshet.kernels.matching import LEFT
from freshet.native.buffers.one_way_index import Ids, Rows
from freshet.native.buffers.result_buffer import Pointers
from freshet.native.change import NOTHING, Change, MomentBatch
from freshet.native.operators.matching import Matching, left_table
from freshet.native.operators.multiway_join import MultiwayJoinOp
from freshet.oneshot.table import Table, stack_tables


class LeftJoinOp:
    """The pairs of a join, and the rows of its left side that are in none."""

    def __init__(self, join: MultiwayJoinOp, wanted: frozenset[str]) -> None:
        self._join = join
        self._alone = Matching(join, matched=False)
        self._left = join.inputs[LEFT]
        self._wanted = wanted

    @property
    def held_bytes(self) -> int:
        return self._alone.held_bytes

    def changes(self, batch: MomentBatch) -> Change:
        pairs, came, came_at, went, went_at = self._alone.step(batch)
        if len(pairs.came) == 0 == len(pairs.went) and len(came) == 0 == len(went):
            return NOTHING
        return Change(
            *self._in_order(pairs.came, pairs.came_at, came, came_at),
            *self._in_order(pairs.went, pairs.went_at, went, went_at),
        )

    def _in_order(self, pairs: Pointers, pairs_at: Ids, rows: Rows, rows_at: Ids) -> tuple[Table, Ids]:
        """Pairs and rows without a match as one table, in order of moments."""
        if len(rows) == 0:
            return self._join.table(pairs), pairs_at
        alone = left_table(self._left, self._wanted, rows)
        if len(pairs) == 0:
            return alone, rows_at
        moments = np.concatenate((pairs_at, rows_at))
        order = np.argsort(moments, kind="stable")  # of two runs in order: a merge
        return stack_tables([self._join.table(pairs), alone]).take(order), moments[order]
