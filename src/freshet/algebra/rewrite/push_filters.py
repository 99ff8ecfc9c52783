"""Filters go down to where their variables are bound, so that less is joined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from freshet.algebra.certain import certainly_bound
from freshet.algebra.expressions import Expression, Variable
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
    Union,
    Window,
)
from freshet.algebra.rewrite.conditions import conjunction, conjuncts, has_exists, is_volatile, mentioned_variables
from freshet.algebra.scope import variables_in_scope


def push_filters(node: Node) -> Node:
    """`Filter(c, Join(P, Q)) -> Join(Filter(c, P), Q)`, and likewise through other operators, conjunct by conjunct.

    A condition may go to one side of a Join, or to the left of a LeftJoin, where it sees of each of its variables
    what it saw before: the side binds the variable in every solution, or the other side never binds it. It goes
    to both sides of a Union; to the left of a Minus; past an Extend, GRAPH or WINDOW that does not bind a variable
    of it; into a sub-select unless that hides a variable of the same name; into a Group where it is about keys only;
    never past a Slice. The condition of a LeftJoin goes to its right side by the same law.

    The variables of EXISTS are all that its pattern mentions, and it never goes into GRAPH or WINDOW, where it would
    be asked of another graph. A condition with RAND, UUID or BNODE stays.

    >>> from freshet.algebra.nodes import Values
    >>> a, b = Variable("a"), Variable("b")
    >>> left, right = Values((a,), ()), Values((b,), ())
    >>> push_filters(Filter(a, LeftJoin(left, right))) == LeftJoin(Filter(a, left), right)
    True
    >>> push_filters(Filter(b, LeftJoin(left, right))) == Filter(b, LeftJoin(left, right))
    True
    """
    match node:
        case Filter(condition, child):
            return _add_filters([_Condition.of(each) for each in conjuncts(condition)], child)
        case LeftJoin(left, right, Expression() as condition):
            conditions = [_Condition.of(each) for each in conjuncts(condition)]
            pushed, kept = _partition(conditions, _decides_alone(right, left))
            return LeftJoin(left, _add_filters(pushed, right), _all(kept)) if pushed else node
        case _:
            return node


class _Condition(NamedTuple):
    """A conjunct, with what decides where it may go."""

    expression: Expression
    variables: set[Variable]
    asks_graph: bool
    is_volatile: bool

    @classmethod
    def of(cls, expression: Expression) -> _Condition:
        return cls(expression, mentioned_variables(expression), has_exists(expression), is_volatile(expression))


def _add_filters(conditions: list[_Condition], node: Node) -> Node:
    """The node under the conditions, each as far below as it may go."""
    if not conditions:
        return node
    kept: list[_Condition]
    match node:
        case Filter(condition, child):
            return _add_filters([*map(_Condition.of, conjuncts(condition)), *conditions], child)
        case Join(left, right):
            in_left, in_right = _decides_alone(left, right), _decides_alone(right, left)
            to_left, _ = _partition(conditions, in_left)
            # a dear or constant condition on one side is enough
            to_right, _ = _partition(conditions, lambda each: in_right(each) and not (_is_once(each) and in_left(each)))
            _, kept = _partition(conditions, lambda each: in_left(each) or in_right(each))
            node = Join(_add_filters(to_left, left), _add_filters(to_right, right))
        case LeftJoin(left, right, test):
            pushed, kept = _partition(conditions, _decides_alone(left, right))
            node = LeftJoin(_add_filters(pushed, left), right, test)
        case Union(left, right):
            pushed, kept = _partition(conditions, _anywhere)
            node = Union(_add_filters(pushed, left), _add_filters(pushed, right))
        case Minus(left, right):
            pushed, kept = _partition(conditions, _anywhere)
            node = Minus(_add_filters(pushed, left), right)
        case Extend() | Graph() | Window() | Project() | Distinct() | Reduced() | OrderBy() | Group():
            pushed, kept = _partition(conditions, _passes_by(node))
            node = replace(node, child=_add_filters(pushed, node.child)) if pushed else node
        case _:
            kept = conditions
    return Filter(conjunction([each.expression for each in kept]), node) if kept else node


def _passes_by(node: Node) -> Callable[[_Condition], bool]:
    """Which conditions may go past an operator with one child."""
    match node:
        case Extend(_, variable, _):
            return lambda each: variable not in each.variables
        case Graph(name, _):
            return lambda each: name not in each.variables and not each.asks_graph
        case Window(name, _, stream):
            return lambda each: each.variables.isdisjoint((name, stream)) and not each.asks_graph
        case Project(child, kept):
            hidden = set(variables_in_scope(child)).difference(kept)
            return lambda each: hidden.isdisjoint(each.variables)
        case Group(_, keys):
            return lambda each: bool(each.variables) and each.variables.issubset(keys) and not each.asks_graph
        case _:
            return _anywhere


def _decides_alone(side: Node, other: Node) -> Callable[[_Condition], bool]:
    """Which conditions may go to one side: it alone decides what their variables are in the solutions of both."""
    bound, elsewhere = certainly_bound(side), set(variables_in_scope(other))
    return lambda each: elsewhere.isdisjoint(each.variables - bound)


def _is_once(condition: _Condition) -> bool:
    return condition.asks_graph or not condition.variables


def _anywhere(condition: _Condition) -> bool:
    return True


def _partition(
    conditions: list[_Condition], may_go: Callable[[_Condition], bool]
) -> tuple[list[_Condition], list[_Condition]]:
    """Those that may go and those that stay."""
    going: list[_Condition] = []
    staying: list[_Condition] = []
    for each in conditions:
        (going if not each.is_volatile and may_go(each) else staying).append(each)
    return going, staying


def _all(conditions: list[_Condition]) -> Expression | None:
    return conjunction([each.expression for each in conditions]) if conditions else None
