"""Distinct: no solution twice, the first of each kept where it is. Reduced may do the same, and does."""

from __future__ import annotations

from freshet.algebra.nodes import Distinct, Reduced
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table


@operator.register(Distinct)
@operator.register(Reduced)
def _(node: Distinct | Reduced, scope: Scope) -> Table:
    return evaluate(node.child, scope).distinct()
