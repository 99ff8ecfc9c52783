"""ORDER BY, DISTINCT, OFFSET and LIMIT: over all rows, when the answer is asked for.

Δ(slice(order R)) = slice(order(R + ΔR)) - slice(order R)       computed anew where ΔR is not empty
"""

from __future__ import annotations

from freshet.expressions.evaluate import evaluate
from freshet.expressions.order import order
from freshet.native.change import Change, Operator
from freshet.native.plan import PlanOrdered
from freshet.native.r2s.bags import table_difference
from freshet.oneshot.operators.project import project_table
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary


class OrderedOp:
    """The rows of its child in order, from one place to another."""

    def __init__(self, child: Operator, plan: PlanOrdered, dictionary: Dictionary) -> None:
        self._child = child
        self._plan = plan
        self._dictionary = dictionary
        self._changed = True
        self._now = Table({}, 0)

    def follow(self, number: int) -> None:
        """Take in a step, without looking at the answer."""
        if self._child.changes(number):
            self._changed = True

    def changes(self, number: int) -> Change:
        before = self._now
        self.follow(number)
        now = self.rows()
        if now is before:
            return Change(Table({}, 0), Table({}, 0))
        names = self._plan.variables
        return Change(table_difference(now, before, names), table_difference(before, now, names))

    def given_out(self, *, empty: bool) -> Table:
        return Table({}, 0) if empty else self.rows()

    def rows(self) -> Table:
        if self._changed:
            self._now = self._ordered()
            self._changed = False
        return self._now

    def _ordered(self) -> Table:
        table = self._child.rows()
        if self._plan.conditions and table.count:
            keys = [
                (evaluate(each.expression, table.columns, table.count, self._dictionary), each.descending)
                for each in self._plan.conditions
            ]
            table = table.take(order(keys, self._dictionary))
        table = project_table(table, list(self._plan.variables))
        if self._plan.distinct:
            table = table.distinct()
        first = self._plan.offset
        end = table.count if self._plan.limit is None else min(first + self._plan.limit, table.count)
        first = min(first, end)
        return Table({name: ids[first:end] for name, ids in table.columns.items()}, end - first)
