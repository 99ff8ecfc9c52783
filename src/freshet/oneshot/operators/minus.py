"""Minus: the solutions of left with which no solution of right is compatible and shares a bound variable.

| left (?x, ?y)          | right (?x, ?z) | result         |
| ---------------------- | -------------- | -------------- |
| (1, a), (2, b), (-, c) | (1, d)         | (2, b), (-, c) |
"""

from __future__ import annotations

from freshet.algebra.nodes import Minus
from freshet.oneshot.endpoint_rows import without_endpoint
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.joining import have_compatible, shared_variables
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table, stack_tables


@operator.register
def _(node: Minus, scope: Scope) -> Table:
    left = evaluate(node.left, scope)
    left, unasked = without_endpoint(node.right, left)
    hint = left.bound_columns()
    right = evaluate(node.right, scope.with_hint(hint if hint.columns else None))
    left = scope.correlate(left, right.columns)
    names = shared_variables(left, right)
    constants = scope.outer_names(left)  # which stand for terms here, and are in no solution's domain
    domain = [name for name in names if name not in constants]
    kept = left.where(~have_compatible(left, right, names, domain)) if domain else left
    return kept if unasked is None else stack_tables([kept, scope.correlate(unasked, right.columns)])
