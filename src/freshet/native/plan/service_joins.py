"""In which order SERVICE patterns are joined, and which rows they are joined with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from freshet.algebra.expressions import Call, Expression, Not, Variable
from freshet.algebra.rewrite.constants import TRUE
from freshet.native.plan.plan import (
    Names,
    PlanDistinct,
    PlanFilter,
    PlanJoin,
    PlanLeaf,
    PlanLeftJoin,
    PlanNegation,
    PlanNode,
    PlanProject,
    PlanService,
    PlanShared,
    PlanSharedRead,
    PlanUnion,
)


def last_services(inputs: Sequence[PlanNode]) -> list[PlanService]:
    """The SERVICE patterns that are joined last: those that only other such patterns lead to, else all of them.

    What is joined before leads to a pattern if it is sure to bind one of its variables, and to one whose endpoint is a
    variable if it can bind that. Where such a pattern is left, those that nothing leads to come before it.
    """
    waiting = [each for each in inputs if isinstance(each, PlanService)]
    before = [each for each in inputs if not isinstance(each, PlanService)]
    layers: list[list[PlanService]] = [waiting]
    while layer := _led_to(waiting, before):
        layers.append(layer)
        before += layer
        waiting = [each for each in waiting if each not in layer]
    return layers[-1] if len(layers) > 2 else layers[0]


def _led_to(waiting: Sequence[PlanService], before: Sequence[PlanNode]) -> list[PlanService]:
    sure, names = certain_in(before), names_in(before)
    led_to = [
        each
        for each in waiting
        if (each.endpoint.name in names if isinstance(each.endpoint, Variable) else each.certain & sure)
    ]
    if not led_to and any(isinstance(each.endpoint, Variable) for each in waiting):
        return [each for each in waiting if not isinstance(each.endpoint, Variable)]
    return led_to


def may_be_unbound(services: Iterable[PlanNode], sure: Names) -> str | None:
    """An endpoint that some rows may leave unbound, of a SERVICE that passes over such rows."""
    for each in services:
        match each:
            case PlanService(endpoint=Variable(name), silent=True) if name not in sure:
                return name
    return None


def join_apart(
    join: PlanJoin, left: PlanNode, services: Sequence[PlanService], endpoint: str, number: int
) -> PlanUnion:
    """The rows that have an endpoint joined with all patterns, and the rest with those of other endpoints."""
    first, again = share(left, number)
    others = [each for each in services if each.endpoint != Variable(endpoint)]
    return PlanUnion(
        join.names,
        join.certain,
        (
            replace(join, inputs=(_bound(first, endpoint), *services)),
            replace(join, inputs=(_unbound(again, endpoint), *others)),
        ),
    )


def left_join_apart(node: PlanLeftJoin, endpoint: str, number: int) -> PlanUnion:
    """OPTIONAL for the rows that have an endpoint; the rest as they are."""
    first, again = share(node.left, number)
    parts = replace(node, left=_bound(first, endpoint)), _unbound(again, endpoint)
    return PlanUnion(node.names, node.certain, parts)


def negation_apart(node: PlanNegation, endpoint: str, number: int) -> PlanUnion:
    """The same of MINUS and EXISTS. The solution that binds nothing takes no row away in MINUS, but it does exist.

    A condition inside EXISTS sees what the row itself has; where it is an error, nothing exists.
    """
    first, again = share(node.left, number)
    kept: tuple[PlanNode, ...] = ()
    if node.condition is not None:
        condition = _untrue(node.condition) if node.negated else node.condition
        kept = (PlanFilter(again.names, again.certain, _unbound(again, endpoint), condition),)
    elif node.overlapping or not node.negated:
        kept = (_unbound(again, endpoint),)
    return PlanUnion(node.names, node.certain, (replace(node, left=_bound(first, endpoint)), *kept))


def share(node: PlanNode, number: int) -> tuple[PlanNode, PlanNode]:
    """A node for two readers, of which the first is built first.

    A second copy would ask endpoints again, which may say something else by then. Leaves are shared anyway.
    """
    if isinstance(node, PlanLeaf):
        return node, node
    return PlanShared(node.names, node.certain, node, number), PlanSharedRead(node.names, node.certain, number)


def restrict(
    left: PlanNode, right: PlanNode, numbers: Iterator[int], *, substituted: bool = False
) -> tuple[PlanNode, PlanNode]:
    """Left, and what OPTIONAL, MINUS or EXISTS looks for matches in: without rows that fit none of left, if it takes
    remote data.

    A SERVICE that stands alone is asked for what left needs anyway. One that is joined with other patterns would be
    asked for all that these have, were they not joined first with what left has of their variables. Only where left's
    values are `substituted` (EXISTS) may they be what binds an endpoint.
    """
    if not isinstance(right, PlanJoin):
        return left, right
    services = [each for each in right.inputs if isinstance(each, PlanService)]
    asked = [each for each in services if isinstance(each.endpoint, Variable)]
    endpoints = {each.endpoint.name for each in asked if isinstance(each.endpoint, Variable)}
    bound = names_in(each for each in right.inputs if each not in asked)
    common = left.certain & (right.certain | endpoints if substituted else right.certain - (endpoints - bound))
    if not services or not common:
        return left, right
    left, again = share(left, next(numbers))
    seed = PlanDistinct(common, common, PlanProject(common, common, again))
    return left, replace(right, certain=right.certain | common, inputs=(seed, *right.inputs))


def names_in(inputs: Iterable[PlanNode]) -> Names:
    """What any of some inputs can bind."""
    return frozenset[str]().union(*(each.names for each in inputs))


def certain_in(inputs: Iterable[PlanNode]) -> Names:
    """What the join of some inputs binds in every row."""
    return frozenset[str]().union(*(each.certain for each in inputs))


def _untrue(condition: Expression) -> Expression:
    """Whether a condition is false or an error."""
    return Call("COALESCE", (Not(condition), TRUE))


def _bound(node: PlanNode, name: str) -> PlanFilter:
    return PlanFilter(node.names, node.certain | {name}, node, Call("BOUND", (Variable(name),)))


def _unbound(node: PlanNode, name: str) -> PlanFilter:
    return PlanFilter(node.names, node.certain, node, Not(Call("BOUND", (Variable(name),))))
