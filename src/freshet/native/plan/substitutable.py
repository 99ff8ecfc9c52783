"""EXISTS as a join that only counts: where restricting the pattern's solutions is as good as substituting in it.

SPARQL 1.1 (18.6) evaluates the pattern of EXISTS with the outer solution's values in place of its variables. For
joins of triple patterns that is the same as looking for compatible solutions of the pattern; filters directly in the
pattern's group may look at outer variables too, and become the condition of a match. OPTIONAL, MINUS, BIND and
sub-selects inside see the substituted values earlier than a join would show them, and are not taken apart. What SERVICE
is sure to bind is restricted in the same way; of an outer variable that it only mentions the endpoint would not hear.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass

from freshet.algebra import nodes
from freshet.algebra.certain import certainly_bound
from freshet.algebra.expressions import And, Exists, Expression
from freshet.algebra.free_variables import variables_of
from freshet.algebra.scope import variables_in_scope, visible_variables
from freshet.native.plan.volatile import is_moment


@dataclass(frozen=True, slots=True)
class ExistsParts:
    """A pattern to look for matches in, and the condition on a match."""

    pattern: nodes.Node
    condition: Expression | None
    negated: bool


def exists_parts(exists: Exists, outer: frozenset[str]) -> ExistsParts | None:
    """How to look for an EXISTS by a join; None where that would not be the same. `outer` names the row's variables."""
    pattern, conditions = exists.pattern, list[Expression]()
    while isinstance(pattern, nodes.Filter):
        if contains_exists(pattern.condition):
            return None
        conditions.append(pattern.condition)
        pattern = pattern.child
    if not _is_join(pattern, outer):
        return None
    condition = None
    for each in conditions:
        condition = each if condition is None else And(each, condition)
    return ExistsParts(pattern, condition, exists.negated)


def _is_join(node: nodes.Node, outer: frozenset[str]) -> bool:
    """Whether substituting outer variables in the node gives just those of its solutions that agree with them."""
    match node:
        case nodes.BGP():
            return True
        case nodes.Extend() if is_moment(node):
            return True
        case nodes.Values(variables):
            return not outer & {variable.name for variable in variables}
        case nodes.Join(left, right):
            return _is_join(left, outer) and _is_join(right, outer)
        case nodes.Window(_, child) | nodes.Graph(_, child):
            return _is_join(child, outer)
        case nodes.Filter(condition, child):
            bound = {variable.name for variable in certainly_bound(child)}
            sees = variables_of(condition)
            return sees & (outer | _names(child)) <= bound and not contains_exists(condition) and _is_join(child, outer)
        case nodes.PathPattern(subject, path, object_):
            # where a path of length zero is possible, a substituted end matches itself even if no triple has it
            return not (_may_be_empty(path) and outer & variables_of((subject, object_)))
        case nodes.Service(_, child):
            visible = {variable.name for variable in visible_variables(child)}
            bound = {variable.name for variable in certainly_bound(child)} & visible
            return variables_of(child) & outer <= bound
    return False


def _names(node: nodes.Node) -> set[str]:
    return {variable.name for variable in variables_in_scope(node)}


def _may_be_empty(path: nodes.Path) -> bool:
    match path:
        case nodes.Repeat(inner, least):
            return least == 0 or _may_be_empty(inner)
        case nodes.Inverse(inner):
            return _may_be_empty(inner)
        case nodes.Sequence(left, right) | nodes.Alternative(left, right):
            return _may_be_empty(left) or _may_be_empty(right)
    return False


def contains_exists(part: object) -> bool:
    """Whether an EXISTS stands anywhere in an expression."""
    if isinstance(part, Exists):
        return True
    if isinstance(part, tuple):
        return any(map(contains_exists, part))
    if isinstance(part, Expression) and is_dataclass(part):
        return any(contains_exists(getattr(part, place.name)) for place in fields(part))
    return False
