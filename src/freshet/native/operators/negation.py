"""Negation: the rows of left that have no match in right (MINUS, FILTER NOT EXISTS), or have one (FILTER EXISTS).

    L ∖ R = { l ∈ L : matches(l) = 0 }          L ⋉ R = { l ∈ L : matches(l) > 0 }

| left | right | out of MINUS |
| ---- | ----- | ------------ |
| + 1  |       | + 1          |
|      | + 1   | - 1          |
|      | - 1   | + 1          |
"""

from __future__ import annotations

from freshet.native.change import Change
from freshet.native.one_way_index import Rows
from freshet.native.operators.matching import LEFT, Matching
from freshet.native.operators.multiway_join import MultiwayJoinOp
from freshet.oneshot.table import Table


class NegationOp:
    """The rows of the left side of a join that are in no pair, or (not `negated`) in one."""

    def __init__(self, join: MultiwayJoinOp, wanted: frozenset[str], *, negated: bool) -> None:
        self._matching = Matching(join, matched=not negated)
        left = join.inputs[LEFT]
        self._buffer = left.buffer
        self._columns = {name: at for at, name in enumerate(left.names) if name in wanted}

    def changes(self, number: int) -> Change:
        change = self._matching.step(number)
        return Change(self._table(change.rows_came), self._table(change.rows_went))

    def rows(self) -> Table:
        return self._table(self._matching.chosen())

    def _table(self, rows: Rows) -> Table:
        values = self._buffer.values
        return Table({name: values[rows, at] for name, at in self._columns.items()}, len(rows))
