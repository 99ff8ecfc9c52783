"""Filter: the solutions for which the condition is true; where it is an error, it is not."""

from __future__ import annotations

from freshet.algebra.nodes import Filter
from freshet.oneshot.conditions import holds
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.mentioned import mentioned
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table


@evaluate.register
def _(node: Filter, scope: Scope) -> Table:
    table = evaluate(node.child, scope)
    if scope.outer is not None:
        table = scope.correlated(table, mentioned(node.condition))
    return table.where(holds(node.condition, table, scope))
