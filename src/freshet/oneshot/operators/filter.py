"""Filter: the solutions for which the condition is true; where it is an error, it is not."""

from __future__ import annotations

from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import Filter
from freshet.oneshot.conditions import holds
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table


@operator.register
def _(node: Filter, scope: Scope) -> Table:
    return filter_table(evaluate(node.child, scope), node, scope)


def filter_table(table: Table, node: Filter, scope: Scope) -> Table:
    """The rows of a table for which the node's condition is true."""
    if scope.outer is not None:
        table = scope.correlate(table, variables_of(node.condition))
    return table.where(holds(node.condition, table, scope))
