"""Queries with parameters: variables that subscribers bind.

`bind_parameters(query, {?user: <u1>})` is the query whose solutions have `<u1>` for `?user`: a filter on the pattern,
below grouping and other solution modifiers. Queries that differ only in such constants share a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from freshet.algebra.expressions import Call, Constant, Variable
from freshet.algebra.nodes import (
    Distinct,
    Extend,
    Filter,
    Group,
    Node,
    OrderBy,
    Project,
    Query,
    Reduced,
    Slice,
)
from freshet.algebra.scope import visible_variables
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Term

_MODIFIERS = (Slice, Distinct, Reduced, Project, OrderBy)


def bind_parameters(query: Query, bindings: Mapping[str, Term]) -> Query:
    """The query with values for some of its variables, by their names without the question mark."""
    if not bindings:
        return query
    return replace(query, root=_bound(query.root, bindings))


def check_parameters(query: Query, names: tuple[str, ...]) -> None:
    """Raise an InputError where a name is not that of a variable which the query's pattern can bind."""
    known = {variable.name for variable in visible_variables(_pattern_of(query.root))}
    for name in names:
        if name not in known:
            raise InputError(f"?{name} cannot be a parameter: the pattern of the query has no such variable")


def _bound(node: Node, bindings: Mapping[str, Term]) -> Node:
    if isinstance(node, _MODIFIERS) or _is_above_group(node):
        assert isinstance(node, (*_MODIFIERS, Extend, Filter, Group))
        return replace(node, child=_bound(node.child, bindings))
    for name, term in bindings.items():
        node = Filter(Call("SAMETERM", (Variable(name), Constant(term))), node)
    return node


def _pattern_of(node: Node) -> Node:
    """What stands in WHERE, below all solution modifiers."""
    while isinstance(node, _MODIFIERS) or _is_above_group(node):
        assert isinstance(node, (*_MODIFIERS, Extend, Filter, Group))
        node = node.child
    return node


def _is_above_group(node: Node) -> bool:
    """Whether a node is the query's GROUP BY, or HAVING or an expression of SELECT over it."""
    while isinstance(node, Extend | Filter):
        node = node.child
    return isinstance(node, Group)
