"""Variables that nothing above asks for are dropped as soon as they have done their work."""

from __future__ import annotations

from dataclasses import replace

from freshet.algebra.expressions import Variable
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
    Project,
    Reduced,
    Slice,
    Union,
    Values,
    Window,
)
from freshet.algebra.rewrite.conditions import mentioned_variables
from freshet.algebra.scope import variables_in_scope

_BARE = (BGP, PathPattern, Values)


def project_early(node: Node, needed: set[Variable]) -> Node:
    """`P -> Project(P, needed)` below Join, LeftJoin, Minus and Group; unused Extends and aggregates are removed.

    Project keeps how often a solution comes, so dropping a variable changes nothing but the variable. Needed are the
    variables that something above mentions, those of EXISTS included, and those that both sides of a join have. What
    a Distinct or Reduced compares stays whole. A side that is only a pattern stays bare, so that an evaluator can
    look its triples up instead of computing all of them.

    >>> a, b = Variable("a"), Variable("b")
    >>> values = Values((a, b), ())
    >>> from freshet.algebra.expressions import Constant
    >>> from freshet.rdf.terms import Literal
    >>> project_early(Extend(values, Variable("c"), Constant(Literal("x"))), {a}) == values
    True
    """
    match node:
        case Project(child, variables):
            return _project(node, child, tuple(each for each in variables if each in needed))
        case Distinct(child) | Reduced(child):
            return _below(node, child, set(variables_in_scope(child)))
        case Slice(child):
            return _below(node, child, needed)
        case OrderBy(child, conditions):
            return _below(node, child, needed | mentioned_variables(conditions))
        case Filter(condition, child):
            return _below(node, child, needed | mentioned_variables(condition))
        case Extend(child, variable, expression):
            if variable not in needed:
                return project_early(child, needed)
            return _below(node, child, needed | mentioned_variables(expression))
        case Group(child, keys):
            return _group(node, child, keys, needed)
        case Graph(name, child):
            return _below(node, child, needed | mentioned_variables(name))
        case Window(name, child, stream):
            return _below(node, child, needed | mentioned_variables((name, stream)))
        case Union(left, right):
            return _sides(node, project_early(left, needed), project_early(right, needed))
        case Join(left, right) | LeftJoin(left, right) | Minus(left, right):
            return _joined(node, left, right, needed)
        case _:
            return node


def _below(node: Node, child: Node, needed: set[Variable]) -> Node:
    changed = project_early(child, needed)
    return node if changed is child else replace(node, child=changed)  # type: ignore[call-arg]


def _sides(node: Node, left: Node, right: Node) -> Node:
    if left is node.left and right is node.right:  # type: ignore[attr-defined]
        return node
    return replace(node, left=left, right=right)  # type: ignore[call-arg]


def _project(node: Project, child: Node, kept: tuple[Variable, ...]) -> Node:
    changed = project_early(child, set(kept))
    if isinstance(changed, Project) and set(changed.variables).issuperset(kept):
        return Project(changed.child, kept)
    return node if changed is child and kept == node.variables else Project(changed, kept)


def _group(node: Group, child: Node, keys: tuple[Variable, ...], needed: set[Variable]) -> Node:
    used = tuple(pair for pair in node.aggregates if pair[0] in needed)
    aggregates = used if used or keys else node.aggregates[:1]  # a group of everything is there for its one row
    whole = any(each.operand is None and each.distinct for _, each in aggregates)
    asked = (
        set(variables_in_scope(child))
        if whole
        else {*keys, *mentioned_variables(tuple(each for _, each in aggregates))}
    )
    narrowed = _narrowed(project_early(child, asked), asked)
    same = narrowed is child and len(aggregates) == len(node.aggregates)
    return node if same else Group(narrowed, keys, aggregates)


def _joined(node: Join | LeftJoin | Minus, left: Node, right: Node, needed: set[Variable]) -> Node:
    left_scope, right_scope = set(variables_in_scope(left)), set(variables_in_scope(right))
    shared = left_scope & right_scope
    asked = needed | shared
    if isinstance(node, LeftJoin) and node.condition is not None:
        asked = asked | mentioned_variables(node.condition)
    return _sides(
        node,
        _side(left, left_scope & asked),
        _side(right, shared if isinstance(node, Minus) else right_scope & asked),
    )


def _side(node: Node, needed: set[Variable]) -> Node:
    changed = project_early(node, needed)
    return changed if _is_bare(changed) else _narrowed(changed, needed)


def _narrowed(node: Node, needed: set[Variable]) -> Node:
    """The node under a Project, if it has more variables than needed and no Project of its own."""
    scope = variables_in_scope(node)
    if isinstance(node, Project | Distinct | Reduced | Slice) or needed.issuperset(scope):
        return node
    return Project(node, tuple(variable for variable in scope if variable in needed))


def _is_bare(node: Node) -> bool:
    while isinstance(node, Filter | Graph):
        node = node.child
    return isinstance(node, _BARE)
