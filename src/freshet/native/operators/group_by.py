"""GROUP BY: what comes and goes is added to its group and taken from it (equations 7 to 9).

Δ(γ R) = the rows of the groups that ΔR touched, as they are now, for those they were
"""

from __future__ import annotations

from freshet.algebra.expressions import Aggregate
from freshet.expressions.evaluate import evaluate
from freshet.native.change import Change, Operator
from freshet.native.one_way_index import Ids
from freshet.native.operators.group import GroupOp
from freshet.native.plan import PlanGroup
from freshet.native.r2s.bags import as_rows
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary


class GroupByOp:
    """Groups of its child's rows, each as one row with its aggregates."""

    def __init__(self, child: Operator, plan: PlanGroup, dictionary: Dictionary) -> None:
        self._child = child
        self._keys = plan.keys
        self._aggregates = plan.aggregates
        self._visible = plan.rows
        self._dictionary = dictionary
        self._groups = GroupOp(len(plan.keys), [aggregate for _, aggregate in plan.aggregates], dictionary)

    def changes(self, number: int) -> Change:
        change = self._child.changes(number)
        self._update(change.came, +1)
        self._update(change.went, -1)
        old_keys, old_values, new_keys, new_values = self._groups.changed()
        return Change(self._table(new_keys, new_values), self._table(old_keys, old_values))

    def rows(self) -> Table:
        return self._table(*self._groups.rows())

    def _update(self, table: Table, sign: int) -> None:
        if table.count == 0:
            return
        arguments = [self._argument(aggregate, table) for _, aggregate in self._aggregates]
        self._groups.update(as_rows(table, self._keys), arguments, sign)

    def _argument(self, aggregate: Aggregate, table: Table) -> Ids | None:
        if aggregate.operand is not None:
            return evaluate(aggregate.operand, table.columns, table.count, self._dictionary)
        return as_rows(table, self._visible) if aggregate.distinct else None

    def _table(self, keys: Ids, values: Ids) -> Table:
        columns = {name: keys[:, at] for at, name in enumerate(self._keys)}
        columns |= {name: values[:, at] for at, (name, _) in enumerate(self._aggregates)}
        return Table(columns, len(keys))
