"""Union: the solutions of both sides, one after the other."""

from __future__ import annotations

from freshet.algebra.nodes import Union
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table, stack_tables


@operator.register
def _(node: Union, scope: Scope) -> Table:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    return stack_tables([scope.correlate(left, right.columns), scope.correlate(right, left.columns)])
