"""GROUP BY: what comes and goes is added to its group and taken from it (equations 7 to 9).

Δ(γ R) = at every moment, the rows of the groups that ΔR touched, as they are then, for those they were
"""

from __future__ import annotations

from freshet.algebra.expressions import Aggregate, Variable
from freshet.expressions.evaluate import evaluate
from freshet.native.buffers.one_way_index import Ids
from freshet.native.change import NOTHING, Change, MomentBatch, Operator, stacked_changes_of
from freshet.native.operators.group import GroupOp
from freshet.native.plan.plan import PlanGroup
from freshet.native.r2s.bags import as_rows
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary


class GroupByOp:
    """Groups of its child's rows, each as one row with its aggregates."""

    def __init__(self, child: Operator, plan: PlanGroup, dictionary: Dictionary) -> None:
        self._keys = plan.keys
        names = (*plan.keys, *(name for name, _ in plan.aggregates))
        self._places = tuple(enumerate(names, start=1))  # below the moments
        self._aggregates = [aggregate for _, aggregate in plan.aggregates]
        self._visible = plan.rows
        self._dictionary = dictionary
        self._groups = GroupOp(len(plan.keys), self._aggregates, dictionary)
        self._started = False
        self._child = child  # where a sweep of terms finds what it holds
        self._stacked = stacked_changes_of(child)

    def changes(self, batch: MomentBatch) -> Change:
        table, came_at, went_at = self._stacked(batch)
        if table.count == 0 and self._started:
            return NOTHING
        self._started = True
        arguments = [self._argument(aggregate, table) for aggregate in self._aggregates]
        changed, comes, goes = self._groups.step(batch, self._key_rows(table), arguments, came_at, went_at)
        return Change(*self._timed(changed[0], comes), *self._timed(changed[1], goes))

    def rows(self) -> Table:
        """The rows of all groups that there are."""
        matrix = self._groups.rows()
        return Table({name: matrix[at - 1] for at, name in self._places}, matrix.shape[1])

    def _key_rows(self, table: Table) -> Ids:
        if len(self._keys) == 1:
            return table.column(self._keys[0]).reshape(-1, 1)
        return as_rows(table, self._keys)

    def _argument(self, aggregate: Aggregate, table: Table) -> Ids | None:
        operand = aggregate.operand
        if operand is None:
            return as_rows(table, self._visible) if aggregate.distinct else None
        if isinstance(operand, Variable):
            return table.column(operand.name)
        return evaluate(operand, table.columns, table.count, self._dictionary)

    def _timed(self, matrix: Ids, count: int) -> tuple[Table, Ids]:
        if count == 0:
            return NOTHING.came, NOTHING.came_at
        if count < matrix.shape[1]:
            matrix = matrix[:, :count]
        # to ask for each row is quicker than to go through them, which a batch of one row would notice
        return Table({name: matrix[at] for at, name in self._places}, count), matrix[0]
