"""Joins with what adds nothing, and operators over what has no solutions."""

from __future__ import annotations

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
    Project,
    Reduced,
    Slice,
    Union,
    Values,
    Window,
)
from freshet.algebra.scope import variables_in_scope

_UNIT = Values((), ((),))


def remove_identities(node: Node) -> Node:
    """`Join(P, {}) -> P`, `Join(P, nothing) -> nothing`, `Union(P, nothing) -> P`, and so on for every operator.

    The empty pattern has one solution that binds nothing, and so has VALUES with one empty row. VALUES without rows
    has no solution; it keeps the variables of what it stands for, so that scope stays what it was. A Group without
    keys makes one group of nothing, and stays. A Distinct of a Distinct is one.

    >>> from freshet.algebra.expressions import Variable
    >>> nothing = Values((Variable("x"),), ())
    >>> remove_identities(Union(nothing, BGP(())))
    BGP(patterns=())
    """
    match node:
        case Join(left, right):
            if _is_unit(left):
                return right
            if _is_unit(right):
                return left
            return _no_rows(node) if _is_nothing(left) or _is_nothing(right) else node
        case Union(left, right):
            return right if _is_nothing(left) else left if _is_nothing(right) else node
        case LeftJoin(left, right) | Minus(left, right):
            return _no_rows(node) if _is_nothing(left) else left if _is_nothing(right) else node
        case Group(child, keys):
            return _no_rows(node) if keys and _is_nothing(child) else node
        case Distinct(Distinct() as child):
            return child
        case (
            Filter(_, child)
            | Graph(_, child)
            | Window(_, child)
            | Extend(child)
            | Project(child)
            | OrderBy(child)
            | Distinct(child)
            | Reduced(child)
            | Slice(child)
        ):
            return _no_rows(node) if _is_nothing(child) else node
        case _:
            return node


def _is_unit(node: Node) -> bool:
    return (isinstance(node, BGP) and not node.patterns) or node == _UNIT


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Values) and not node.rows


def _no_rows(node: Node) -> Values:
    return Values(variables_in_scope(node), ())
