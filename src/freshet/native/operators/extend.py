"""Extend: a variable more, unbound where its expression is an error (BIND, and expressions in SELECT).

Δ(extend R) = extend(ΔR)
"""

from __future__ import annotations

from typing import cast

from freshet.algebra.expressions import Expression, Variable
from freshet.expressions.evaluate import evaluate
from freshet.native.change import Change, MomentBatch, Operator, RowsAtHand
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary


class ExtendOp:
    """The rows of its child with a computed variable."""

    def __init__(self, child: Operator, variable: str, expression: Expression, dictionary: Dictionary) -> None:
        self._child = child
        self._variable = variable
        self._expression = expression
        self._dictionary = dictionary

    def changes(self, batch: MomentBatch) -> Change:
        change = self._child.changes(batch)
        return Change(self._extend(change.came), change.came_at, self._extend(change.went), change.went_at)

    def rows(self) -> Table:
        """All rows that hold, where the child has them at hand."""
        return self._extend(cast(RowsAtHand, self._child).rows())

    def _extend(self, table: Table) -> Table:
        if table.count == 0:
            return table
        if isinstance(self._expression, Variable):
            ids = table.column(self._expression.name)
        else:
            ids = evaluate(self._expression, table.columns, table.count, self._dictionary)
        return Table({**table.columns, self._variable: ids}, table.count)
