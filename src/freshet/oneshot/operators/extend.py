"""Extend: a variable more, unbound where its expression is an error."""

from __future__ import annotations

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import Extend
from freshet.oneshot.conditions import value
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table


@operator.register
def _(node: Extend, scope: Scope) -> Table:
    return extend_table(evaluate(node.child, scope.with_hint(hint_below(node, scope))), node, scope)


def hint_below(node: Extend, scope: Scope) -> Table | None:
    """What is known of the solutions below: nothing of the variable that the node adds."""
    hint = scope.hint
    if hint is not None and node.variable.name in hint.columns:
        hint = hint.select(name for name in hint.columns if name != node.variable.name)
    return hint if hint is not None and hint.columns else None


def extend_table(child: Table, node: Extend, scope: Scope) -> Table:
    """The table with the variable that the node adds."""
    name = node.variable.name
    if scope.outer is not None:
        child = scope.correlate(child, {name, *variables_of(node.expression)})
    ids = value(node.expression, child, scope)
    if name not in child.columns:
        return Table({**child.columns, name: ids}, child.count)
    # inside EXISTS, the variable may stand for an outer term: what is computed must be that
    return child.where((ids == 0) | (child.columns[name] == 0) | (ids == np.asarray(child.columns[name])))
