"""Which variables a pattern binds for what stands around it (section 18.2.1, variable scope)."""

from __future__ import annotations

from collections.abc import Iterable

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import (
    BGP,
    DESCRIBED,
    Describe,
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


def variables_in_scope(node: Node) -> tuple[Variable, ...]:
    """The variables that a solution of the node can bind, in order of appearance, Freshet's own included."""
    found: dict[Variable, None] = {}
    _collect(node, found)
    return tuple(found)


def visible_variables(node: Node) -> tuple[Variable, ...]:
    """The variables in scope that the query's writer named: what `SELECT *` gives."""
    return tuple(variable for variable in variables_in_scope(node) if not variable.name.startswith("."))


def _collect(node: Node, found: dict[Variable, None]) -> None:
    match node:
        case BGP(patterns):
            for each in patterns:
                _add((each.subject, each.predicate, each.object), found)
        case PathPattern(subject, _, object_):
            _add((subject, object_), found)
        case Join(left, right) | LeftJoin(left, right) | Union(left, right):
            _collect(left, found)
            _collect(right, found)
        case Window(name, child, stream):
            _add((name,) if stream is None else (name, stream), found)
            _collect(child, found)
        case Graph(name, child) | Service(name, child):
            _add((name,), found)
            _collect(child, found)
        case Extend(child, variable, _):
            _collect(child, found)
            _add((variable,), found)
        case Values(variables, _) | Project(_, variables):
            _add(variables, found)
        case Group(_, keys, aggregates):
            _add((*keys, *(variable for variable, _ in aggregates)), found)
        case Describe():
            _add((DESCRIBED.subject, DESCRIBED.predicate, DESCRIBED.object), found)
        case Minus(child, _) | Filter(_, child) | OrderBy(child) | Distinct(child) | Reduced(child) | Slice(child):
            _collect(child, found)
        case _:
            raise TypeError(f"no scope is defined for {type(node).__name__}")


def _add(terms: Iterable[PatternTerm], found: dict[Variable, None]) -> None:
    for term in terms:
        if isinstance(term, Variable):
            found[term] = None
