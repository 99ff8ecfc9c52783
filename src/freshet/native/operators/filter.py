"""Filter: the rows for which a condition is true; where it is an error, it is not.

    Δ(σ R) = σ(ΔR)

A condition gives a row the same value when it goes as when it came, so nothing has to be kept.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from freshet.algebra.expressions import Expression
from freshet.algebra.free_variables import variables_of
from freshet.native.buffers.one_way_index import Ids
from freshet.native.change import Change, MomentBatch, Operator, RowsAtHand
from freshet.native.operators.conditions import Condition
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary


class FilterOp:
    """The rows of its child for which a condition, which sees some of the variables, holds."""

    def __init__(self, child: Operator, condition: Expression, scope: frozenset[str], dictionary: Dictionary) -> None:
        self._child = child
        self._condition = Condition(condition, dictionary)
        self._names = variables_of(condition) & scope

    def changes(self, batch: MomentBatch) -> Change:
        change = self._child.changes(batch)
        return Change(*self._test_rows(change.came, change.came_at), *self._test_rows(change.went, change.went_at))

    def rows(self) -> Table:
        """All rows that hold, where the child has them at hand."""
        table = cast(RowsAtHand, self._child).rows()
        return self._test_rows(table, np.empty(table.count, np.int64))[0]

    def _test_rows(self, table: Table, moments: Ids) -> tuple[Table, Ids]:
        if table.count == 0:
            return table, moments
        mask = self._condition.test({name: table.column(name) for name in self._names}, table.count)
        return (table, moments) if mask.all() else (table.where(mask), moments[mask])
