"""From the algebra to the native engine's plan. What it cannot do is refused by name, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch
from typing import cast

from freshet.algebra import nodes
from freshet.algebra.expressions import Aggregate, And, Expression, Variable
from freshet.algebra.scope import variables_in_scope
from freshet.algebra.windows import WindowOperator
from freshet.expressions.evaluate import unsupported
from freshet.native.plan import Plan, PlanExtend, PlanFilter, PlanGroup, PlanLeaf, RowStep
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri

# Nodes that the native engine does not lower, each with the words that the user is shown.
REFUSED: dict[type[nodes.Node], str] = {
    nodes.PathPattern: "a property path",
    nodes.LeftJoin: "OPTIONAL",
    nodes.Union: "UNION",
    nodes.Minus: "MINUS",
    nodes.Graph: "GRAPH",
    nodes.Service: "SERVICE",
    nodes.Values: "VALUES",
    nodes.OrderBy: "ORDER BY",
    nodes.Slice: "LIMIT or OFFSET",
}


def refuse(what: str) -> UnsupportedError:
    return UnsupportedError(f"{what} is not supported yet by the native engine")


def lower(query: nodes.Query, *, file: str | None = None) -> Plan:
    """The plan of a SELECT query, continuous or one-shot."""
    try:
        return _lower(query)
    except UnsupportedError as error:
        raise UnsupportedError(error.message, file=file) from None


def _lower(query: nodes.Query) -> Plan:
    if query.form is not nodes.QueryForm.SELECT:
        raise refuse(query.form.value.upper())
    if query.default_graphs or query.named_graphs:
        raise refuse("FROM" if query.default_graphs else "FROM NAMED")
    windows = {declaration.name: _window(declaration.window) for declaration in query.windows}
    if query.merged:
        raise refuse("C-SPARQL's merge of windows (FROM STREAM)")
    root = query.root
    distinct = False
    while isinstance(root, nodes.Distinct | nodes.Reduced):
        distinct = distinct or isinstance(root, nodes.Distinct)
        root = root.child
    _check(root)
    if not isinstance(root, nodes.Project):
        raise refuse(type(root).__name__)
    variables = tuple(variable.name for variable in root.variables)
    below, rows = _row_steps(root.child)
    group = None
    extends: list[RowStep] = []
    if isinstance(below, nodes.Group):
        group = PlanGroup(
            tuple(key.name for key in below.keys),
            tuple((variable.name, aggregate) for variable, aggregate in below.aggregates),
        )
        for _, aggregate in group.aggregates:
            _check_aggregate(aggregate)
        below, extends = _row_steps(below.child)
    elif rows:
        extends, rows = rows, []
    pattern = _Pattern(windows)
    while extends and isinstance(extends[0], PlanFilter):  # these can run inside the join
        pattern.filters += _split(cast(PlanFilter, extends.pop(0)))
    _pattern(below, pattern)
    if not pattern.leaves:
        raise refuse("a query without a triple pattern")
    return Plan(
        windows=tuple(dict.fromkeys(windows.values())),
        leaves=tuple(sorted(pattern.leaves, key=lambda leaf: leaf.window is None)),
        filters=tuple(pattern.filters),
        extends=tuple(extends),
        group=group,
        rows=tuple(rows),
        variables=variables,
        distinct=distinct,
        output=query.output,
    )


def _split(filter_: PlanFilter) -> list[PlanFilter]:
    """The parts of a conjunction as filters of their own: each can run as soon as its own variables are bound."""
    if not isinstance(filter_.condition, And):
        return [filter_]
    left, right = (PlanFilter(part, filter_.scope) for part in (filter_.condition.left, filter_.condition.right))
    return _split(left) + _split(right)


def _window(window: WindowOperator) -> WindowOperator:
    if isinstance(window.stream, Variable):
        raise refuse("STREAM with a variable")
    return window


def _check(node: nodes.Node) -> None:
    if type(node) in REFUSED:
        raise refuse(REFUSED[type(node)])


def _check_expression(expression: Expression) -> None:
    if what := unsupported(expression):
        raise refuse(what)


def _check_aggregate(aggregate: Aggregate) -> None:
    if aggregate.function == "GROUP_CONCAT":
        raise refuse("GROUP_CONCAT")
    if aggregate.operand is None and aggregate.distinct:
        raise refuse("COUNT(DISTINCT *)")
    if aggregate.operand is not None:
        _check_expression(aggregate.operand)


def _row_steps(node: nodes.Node) -> tuple[nodes.Node, list[RowStep]]:
    """Peel the filters and extends on top of a node; they are listed from the bottom up."""
    steps: list[RowStep] = []
    while isinstance(node, nodes.Extend | nodes.Filter):
        if isinstance(node, nodes.Extend):
            _check_expression(node.expression)
            steps.append(PlanExtend(node.variable.name, node.expression))
        else:
            _check_expression(node.condition)
            steps.append(PlanFilter(node.condition, _scope(node.child)))
        node = node.child
    return node, steps[::-1]


@dataclass
class _Pattern:
    """What a graph pattern comes to: leaves to join and filters to apply."""

    windows: dict[Iri, WindowOperator]
    inside: WindowOperator | None = None
    leaves: list[PlanLeaf] = field(default_factory=list)
    filters: list[PlanFilter] = field(default_factory=list)


@singledispatch
def _pattern(node: nodes.Node, into: _Pattern) -> None:
    _check(node)
    names = {nodes.Extend: "BIND inside a pattern", nodes.Group: "a sub-select", nodes.Project: "a sub-select"}
    raise refuse(names.get(type(node), type(node).__name__))


@_pattern.register
def _(node: nodes.BGP, into: _Pattern) -> None:
    into.leaves += [PlanLeaf(into.inside, pattern) for pattern in node.patterns]


@_pattern.register
def _(node: nodes.Join, into: _Pattern) -> None:
    _pattern(node.left, into)
    _pattern(node.right, into)


@_pattern.register
def _(node: nodes.Filter, into: _Pattern) -> None:
    _check_expression(node.condition)
    into.filters += _split(PlanFilter(node.condition, _scope(node.child)))
    _pattern(node.child, into)


@_pattern.register
def _(node: nodes.Window, into: _Pattern) -> None:
    if isinstance(node.name, Variable):
        raise refuse("WINDOW with a variable")
    outside, into.inside = into.inside, into.windows[node.name]
    _pattern(node.child, into)
    into.inside = outside


def _scope(node: nodes.Node) -> frozenset[str]:
    """The names of the variables that a filter on top of a node sees."""
    return frozenset(variable.name for variable in variables_in_scope(node))
