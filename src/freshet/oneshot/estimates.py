"""About how many solutions an operator has: enough to say which of two to evaluate first."""

from __future__ import annotations

from functools import singledispatch
from math import inf

from freshet.algebra import nodes
from freshet.algebra.expressions import Variable
from freshet.oneshot.dataset import ANY
from freshet.oneshot.patterns import Pattern
from freshet.oneshot.scope import Scope

_STEPS = 10.0  # how much longer a property path is taken to be than the graph, for want of anything better


@singledispatch
def estimate(node: nodes.Node, scope: Scope) -> float:
    """An estimate that costs nearly nothing; of an operator on top of another, that of the other."""
    child = getattr(node, "child", None)
    return estimate(child, scope) if isinstance(child, nodes.Node) else 1.0


@estimate.register
def _(node: nodes.BGP, scope: Scope) -> float:
    return min(
        (float(Pattern(pattern, scope.dictionary).count_matches(scope.graph)) for pattern in node.patterns), default=1.0
    )


@estimate.register
def _(node: nodes.PathPattern, scope: Scope) -> float:
    ends = sum(isinstance(end, Variable) for end in (node.subject, node.object))
    if ends == 0:
        return 1.0
    return scope.graph.count(ANY, ANY, ANY) * _STEPS ** (ends - 1) / (1.0 if ends == 2 else _STEPS)


@estimate.register
def _(node: nodes.Service, scope: Scope) -> float:
    return inf  # what is here comes first: it is near, and says what to ask for


@estimate.register
def _(node: nodes.Values, scope: Scope) -> float:
    return float(len(node.rows))


@estimate.register
def _(node: nodes.Slice, scope: Scope) -> float:
    below = estimate(node.child, scope)
    return below if node.limit is None else min(below, float(node.limit))


@estimate.register
def _(node: nodes.Group, scope: Scope) -> float:
    return estimate(node.child, scope) if node.keys else 1.0


@estimate.register
def _(node: nodes.Graph, scope: Scope) -> float:
    return estimate(node.child, scope)  # with the wrong graph's counts, but in the right order more often than not


@estimate.register
def _(node: nodes.Join, scope: Scope) -> float:
    return min(estimate(node.left, scope), estimate(node.right, scope))


@estimate.register
def _(node: nodes.Union, scope: Scope) -> float:
    return estimate(node.left, scope) + estimate(node.right, scope)


@estimate.register(nodes.LeftJoin)
@estimate.register(nodes.Minus)
def _(node: nodes.LeftJoin | nodes.Minus, scope: Scope) -> float:
    return estimate(node.left, scope)
