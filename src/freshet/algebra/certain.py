"""Which variables every solution of a pattern binds: the others may be unbound, and rules must mind that."""

from __future__ import annotations

from freshet.algebra.expressions import Call, Constant, Variable
from freshet.algebra.nodes import (
    BGP,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathPattern,
    PatternTerm,
    Project,
    Reduced,
    Service,
    Slice,
    Union,
    Values,
    Window,
)

_NEVER_AN_ERROR = frozenset(Call(name, ()) for name in ("NOW", "RAND", "UUID", "STRUUID", "BNODE"))


def certainly_bound(node: Node) -> set[Variable]:
    """The variables that are bound in every solution of the node.

    >>> a, b = Variable("a"), Variable("b")
    >>> certainly_bound(LeftJoin(Values((a,), ()), Values((b,), ()))) == {a}
    True
    """
    match node:
        case BGP(patterns):
            return {term for each in patterns for term in _variables(each.subject, each.predicate, each.object)}
        case PathPattern(subject, _, object_):
            return _variables(subject, object_)
        case Join(left, right):
            return certainly_bound(left) | certainly_bound(right)
        case Union(left, right):
            return certainly_bound(left) & certainly_bound(right)
        case Graph(name, child) | Window(name, child) | Service(name, child, False):
            return certainly_bound(child) | _variables(name)
        case Extend(child, variable, expression):
            bound = certainly_bound(child)
            is_sure = isinstance(expression, Constant) or expression in bound or expression in _NEVER_AN_ERROR
            return bound | {variable} if is_sure else bound
        case Values(variables, rows):
            return {variable for place, variable in enumerate(variables) if all(row[place] is not None for row in rows)}
        case Group(child, keys, aggregates):
            counts = {variable for variable, aggregate in aggregates if aggregate.function == "COUNT"}
            return certainly_bound(child).intersection(keys) | counts
        case Project(child, variables):
            return certainly_bound(child).intersection(variables)
        case LeftJoin(child) | Minus(child) | OrderBy(child) | Distinct(child) | Reduced(child) | Slice(child):
            return certainly_bound(child)
        case Filter(_, child):
            return certainly_bound(child)
        case _:
            return set()


def _variables(*terms: PatternTerm) -> set[Variable]:
    return {term for term in terms if isinstance(term, Variable)}
