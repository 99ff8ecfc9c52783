"""Through a tree from the leaves up: what stands below a node, and the node with other things below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from freshet.algebra.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Compare,
    Exists,
    Expression,
    In,
    Negate,
    Not,
    Or,
)
from freshet.algebra.nodes import (
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
    Service,
    Slice,
    Union,
    Window,
)

LocalRule = Callable[[Node], Node]
ExpressionRule = Callable[[Expression], Expression]

_TWO_SIDED = (Join, LeftJoin, Union, Minus)
_ONE_SIDED = (Filter, Extend, Project, Graph, Window, Slice, Distinct, Reduced, Group, OrderBy, Service)


def bottom_up(node: Node, rules: tuple[LocalRule, ...], in_exists: tuple[LocalRule, ...]) -> Node:
    """The tree with all rules applied at every node, the leaves first; `in_exists` are those for EXISTS."""
    if isinstance(node, _TWO_SIDED):
        left, right = bottom_up(node.left, rules, in_exists), bottom_up(node.right, rules, in_exists)
        if left is not node.left or right is not node.right:
            node = replace(node, left=left, right=right)
    elif isinstance(node, _ONE_SIDED):
        child = bottom_up(node.child, rules, in_exists)
        if child is not node.child:
            node = replace(node, child=child)
    node = _with_exists(node, in_exists)
    for rule in rules:
        node = rule(node)
    return node


def with_children(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with every node right below it changed; the patterns of EXISTS stay."""
    if isinstance(node, _TWO_SIDED):
        left, right = change(node.left), change(node.right)
        return node if left is node.left and right is node.right else replace(node, left=left, right=right)
    if isinstance(node, _ONE_SIDED):
        child = change(node.child)
        return node if child is node.child else replace(node, child=child)
    return node


def with_expressions(node: Node, change: ExpressionRule) -> Node:
    """The node with its own expressions changed; those of the nodes below stay."""
    match node:
        case Filter(condition, child):
            changed = change(condition)
            return node if changed is condition else Filter(changed, child)
        case LeftJoin(left, right, Expression() as condition):
            changed = change(condition)
            return node if changed is condition else LeftJoin(left, right, changed)
        case Extend(child, variable, expression):
            changed = change(expression)
            return node if changed is expression else Extend(child, variable, changed)
        case OrderBy(child, conditions):
            keys = tuple(replace(each, expression=change(each.expression)) for each in conditions)
            return OrderBy(child, keys)
        case Group(child, keys_, aggregates):
            computed = tuple(
                (variable, replace(each, operand=change(each.operand)) if each.operand is not None else each)
                for variable, each in aggregates
            )
            return Group(child, keys_, computed)
        case _:
            return node


def with_operands(expression: Expression, change: ExpressionRule) -> Expression:
    """The expression with every expression right below it changed."""
    match expression:
        case And(left, right) | Or(left, right) | Compare(_, left, right) | Arithmetic(_, left, right):
            left_, right_ = change(left), change(right)
            same = left_ is left and right_ is right
            return expression if same else replace(expression, left=left_, right=right_)
        case Not(operand) | Negate(operand):
            operand_ = change(operand)
            return expression if operand_ is operand else replace(expression, operand=operand_)
        case In(operand, choices):
            return replace(expression, operand=change(operand), choices=tuple(map(change, choices)))
        case Call(_, arguments):
            changed = tuple(map(change, arguments))
            same = all(new is old for new, old in zip(changed, arguments, strict=True))
            return expression if same else replace(expression, arguments=changed)
        case Aggregate(_, Expression() as operand):
            return replace(expression, operand=change(operand))
        case _:
            return expression


def _with_exists(node: Node, rules: tuple[LocalRule, ...]) -> Node:
    def change(expression: Expression) -> Expression:
        if isinstance(expression, Exists):
            pattern = bottom_up(expression.pattern, rules, rules)
            return expression if pattern is expression.pattern else replace(expression, pattern=pattern)
        return with_operands(expression, change)

    return with_expressions(node, change)
