"""LeftJoin, which is OPTIONAL: the join where the condition holds, and what of left has no match.

    L ⟕ R = (L ⋈ R)  ∪  { l ∈ L : matches(l) = 0 }

| left | right | out                    |
| ---- | ----- | ---------------------- |
| + 1  |       | + (1, -)               |
|      | + 1 a | - (1, -), + (1, a)     |
|      | - 1 a | - (1, a), + (1, -)     |
"""

from __future__ import annotations

from freshet.native.change import Change
from freshet.native.one_way_index import Rows
from freshet.native.operators.matching import LEFT, Matching
from freshet.native.operators.multiway_join import MultiwayJoinOp
from freshet.oneshot.table import Table, stack_tables


class LeftJoinOp:
    """The pairs of a join, and the rows of its left side that are in none."""

    def __init__(self, join: MultiwayJoinOp, wanted: frozenset[str]) -> None:
        self._join = join
        self._alone = Matching(join, matched=False)
        left = join.inputs[LEFT]
        self._buffer = left.buffer
        self._columns = {name: at for at, name in enumerate(left.names) if name in wanted}

    def changes(self, number: int) -> Change:
        change = self._alone.step(number)
        return Change(
            stack_tables([self._join.table(change.pairs_came), self._table(change.rows_came)]),
            stack_tables([self._join.table(change.pairs_went), self._table(change.rows_went)]),
        )

    def rows(self) -> Table:
        return stack_tables([self._join.rows(), self._table(self._alone.chosen())])

    def _table(self, rows: Rows) -> Table:
        values = self._buffer.values
        return Table({name: values[rows, at] for name, at in self._columns.items()}, len(rows))
