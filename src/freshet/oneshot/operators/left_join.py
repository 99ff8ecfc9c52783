"""LeftJoin, which is OPTIONAL: the join where the condition holds, and what of left found no partner.

| left (?x) | right (?x, ?y) | condition | result (?x, ?y) |
| --------- | -------------- | --------- | --------------- |
| 1, 2, 3   | (1, a), (2, b) | ?y = a    | (1, a), 2, 3    |
"""

from __future__ import annotations

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import LeftJoin
from freshet.oneshot.conditions import holds
from freshet.oneshot.endpoint_rows import without_endpoint
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.joining import merge_rows, pairs, shared_variables
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table, stack_tables
from freshet.rdf.deadline import current


@operator.register
def _(node: LeftJoin, scope: Scope) -> Table:
    return left_join_table(evaluate(node.left, scope), node, scope)


def left_join_table(left: Table, node: LeftJoin, scope: Scope) -> Table:
    """The solutions for some of left."""
    left, unasked = without_endpoint(node.right, left)
    hint = left.bound_columns()
    right = evaluate(node.right, scope.with_hint(hint if hint.columns else None))
    left = scope.correlate(left, [*right.columns, *(variables_of(node.condition) if node.condition else ())])
    parts: list[Table] = []
    alone = np.ones(left.count, np.bool_)
    for left_rows, right_rows in pairs(left, right, shared_variables(left, right)):
        with current().step():
            joined = merge_rows(left, right, left_rows, right_rows)
            if node.condition is not None:
                passed = holds(node.condition, joined, scope)
                joined, left_rows = joined.where(passed), left_rows[passed]
        current().reserve(joined.nbytes)
        alone[left_rows] = False
        parts.append(joined)
    rest = left.where(alone)
    nothing = {name: np.zeros(rest.count, np.int64) for name in right.columns if name not in left.columns}
    return stack_tables(
        [*parts, Table({**rest.columns, **nothing}, rest.count), *([] if unasked is None else [unasked])]
    )
