"""Group: the solutions that agree on the keys as one, with the aggregates of each group (SPARQL 1.1, 11 and 18.5.1).

| rows (?k, ?v)          | keys ?k, SUM(?v) |
| ---------------------- | ---------------- |
| (a, 1), (a, 2), (b, 3) | (a, 3), (b, 3)   |
"""

from __future__ import annotations

import numpy as np

from freshet.algebra.expressions import Aggregate
from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import Group
from freshet.expressions.aggregates import aggregate
from freshet.oneshot.conditions import value
from freshet.oneshot.dataset import Ids
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.joining import have_compatible
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Rows, Table, number_groups, stack_tables


@operator.register
def _(node: Group, scope: Scope) -> Table:
    return group_table(grouped_table(node, scope), node, scope)[0]


def grouped_table(node: Group, scope: Scope) -> Table:
    """The solutions that a node groups."""
    key_names = [key.name for key in node.keys]
    inner = scope.with_hint(None) if scope.hint is None else scope.with_hint(_hint(scope, key_names))
    child = evaluate(node.child, inner)
    if scope.outer is not None:
        child = scope.correlate(child, variables_of(node.aggregates) | set(key_names))
    return child


def group_table(child: Table, node: Group, scope: Scope) -> tuple[Table, Rows]:
    """The groups of solutions, and for each solution the number of its group."""
    key_names = [key.name for key in node.keys]
    outer_names = scope.outer_names(child)
    names = list(dict.fromkeys([*outer_names, *key_names]))
    keyed = Table({**child.columns, **{name: child.column(name) for name in names}}, child.count)
    groups, firsts = number_groups(keyed, names)
    result = keyed.select(names).take(firsts)
    if not node.keys:
        result = _with_empty_groups(result, outer_names, scope)
    for variable, function in node.aggregates:
        ids = _aggregate(function, child, groups, result.count, scope)
        result = Table({**result.columns, variable.name: ids}, result.count)
    return result, groups


def _hint(scope: Scope, key_names: list[str]) -> Table | None:
    hint = None if scope.hint is None else scope.hint.select(key_names)
    return hint if hint is not None and hint.columns else None


def _with_empty_groups(groups: Table, outer_names: list[str], scope: Scope) -> Table:
    """Without keys there is a group even where there are no solutions: one, or one for each outer solution."""
    if not outer_names:
        return Table({}, 1)
    assert scope.outer is not None
    outer = scope.outer.select(outer_names).distinct()
    return stack_tables([groups, outer.where(~have_compatible(outer, groups, outer_names, ()))])


def _aggregate(function: Aggregate, child: Table, groups: Rows, count: int, scope: Scope) -> Ids:
    if function.operand is None and function.distinct:  # COUNT(DISTINCT *) counts rows, of which only we know
        visible = [name for name in child.columns if not name.startswith(".")]
        rows = Table({**child.select(visible).columns, ".group": groups}, child.count)
        _, firsts = number_groups(rows, tuple(rows.columns))
        return aggregate(Aggregate("COUNT", None), None, groups[firsts], count, scope.dictionary)
    ids = None if function.operand is None else value(function.operand, child, scope)
    return np.asarray(aggregate(function, ids, groups, count, scope.dictionary))
