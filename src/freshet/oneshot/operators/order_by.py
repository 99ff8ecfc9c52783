"""OrderBy: the solutions in order (SPARQL 1.1, 15.1)."""

from __future__ import annotations

from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import OrderBy
from freshet.expressions.order import order
from freshet.oneshot.conditions import value
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table
from freshet.rdf.deadline import current


@operator.register
def _(node: OrderBy, scope: Scope) -> Table:
    table = evaluate(node.child, scope)
    if scope.outer is not None:
        table = scope.correlate(table, variables_of(node.conditions))
    current().check()
    keys = [(value(each.expression, table, scope), each.descending) for each in node.conditions]
    return table.take(order(keys, scope.dictionary))
