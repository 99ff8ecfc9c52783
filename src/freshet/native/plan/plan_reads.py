"""What of streams and stored graphs a plan can see, so that the rest is neither shipped nor waited for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from freshet.algebra import nodes
from freshet.algebra.windows import SlidingWindow
from freshet.native.plan.plan import (
    Plan,
    PlanDraw,
    PlanGroup,
    PlanJoin,
    PlanLeaf,
    PlanLeftJoin,
    PlanMoment,
    PlanNegation,
    PlanNode,
    PlanOrdered,
    PlanReevaluate,
    PlanService,
    PlanSharedRead,
    PlanUnion,
    PlanValues,
    Stored,
    children,
)
from freshet.native.streams.timed_stream import base_name
from freshet.rdf.terms import Iri


def stored_predicates(plan: Plan) -> frozenset[Iri] | None:
    """The predicates that a query asks of the stored default graph; None where any triple can make a difference."""
    wanted: set[Iri] = set()
    for node in _nodes(plan.root):
        if isinstance(node, PlanLeaf) and node.source == Stored():
            if not isinstance(node.pattern.predicate, Iri):
                return None
            wanted.add(node.pattern.predicate)
        elif isinstance(node, PlanReevaluate) and any(Stored() in sources for _, sources in node.graphs):
            found = _predicates_in(node.node)
            if found is None:
                return None
            wanted |= found
    return frozenset(wanted)


def reads_stored(plan: Plan) -> bool:
    """Whether a query reads any stored graph."""
    return any(
        isinstance(node, PlanReevaluate) or (isinstance(node, PlanLeaf) and isinstance(node.source, Stored))
        for node in _nodes(plan.root)
    )


def _predicates_in(part: object) -> set[Iri] | None:
    """The predicates of all patterns in a part of the algebra; None where a pattern can match any triple."""
    match part:
        case nodes.Describe():  # all triples of its resources
            return None
        case nodes.TriplePattern(predicate=predicate):
            return {predicate} if isinstance(predicate, Iri) else None
        case nodes.Link(predicate):
            return {predicate}
        case nodes.NegatedPropertySet() | nodes.Repeat(least=0):  # a path of length zero ends at every node
            return None
        case nodes.Service():
            return set()
        case tuple():
            parts: Iterator[object] = iter(part)
        case _ if is_dataclass(part):
            parts = (getattr(part, place.name) for place in fields(part))
        case _:
            return set()
    wanted: set[Iri] = set()
    for each in parts:
        found = _predicates_in(each)
        if found is None:
            return None
        wanted |= found
    return wanted


def predicates_of(plan: Plan, stream: str) -> frozenset[str] | None:
    """The predicates that a query asks of a stream's elements; None where every element counts.

    Every element counts where a window counts elements or moves with each of them, where the times or the graphs of
    elements are asked for, and where an answer needs no triple of a window but only a window that is not empty.
    """
    streams = (window.stream.value for window in plan.windows if isinstance(window.stream, Iri))
    if any(each != stream and base_name(each) == stream for each in streams):
        return None
    if not all(isinstance(window, SlidingWindow) for window in plan.windows) or not _needs_window(plan.root):
        return None
    wanted: set[str] = set()
    for node in _nodes(plan.root):
        if isinstance(node, PlanReevaluate):
            return None
        if isinstance(node, PlanLeaf) and not isinstance(node.source, Stored) and node.source.stream == Iri(stream):
            if not isinstance(node.pattern.predicate, Iri):
                return None
            wanted.add(node.pattern.predicate.value)
    return frozenset(wanted)


def asks_time(plan: Plan) -> bool:
    """Whether an answer depends on the time at which it is asked for."""
    return any(
        isinstance(node, PlanMoment) or (isinstance(node, PlanReevaluate) and node.asks_time)
        for node in _nodes(plan.root)
    )


def can_be_asked_again(plan: Plan) -> bool:
    """Whether operators that are made anew have the answer that others have; else it is kept, in case they are.

    Not where an answer is of the last evaluation, was drawn, or depends on the order in which rows came and went.
    What has no stored pattern is never made anew.
    """
    nodes = list(_nodes(plan.root))
    if not any(isinstance(node, PlanReevaluate) or _is_stored(node) for node in nodes):
        return True
    return not any(isinstance(node, _OF_THE_LAST_EVALUATION) for node in nodes)


def asks_services(plan: Plan) -> bool:
    """Whether an answer takes remote data."""
    return any(
        isinstance(node, PlanService) or (isinstance(node, PlanReevaluate) and bool(node.services))
        for node in _nodes(plan.root)
    )


_OF_THE_LAST_EVALUATION = PlanReevaluate | PlanService | PlanOrdered | PlanDraw | PlanMoment | PlanGroup


def _is_stored(node: PlanNode) -> bool:
    return isinstance(node, PlanLeaf) and isinstance(node.source, Stored)


def _nodes(node: PlanNode) -> Iterator[PlanNode]:
    yield node
    for child in children(node):
        yield from _nodes(child)


def _needs_window(node: PlanNode) -> bool:
    """Whether every row of a node takes a triple of some window."""
    match node:
        case PlanLeaf(source=source):
            return not isinstance(source, Stored)
        case PlanJoin(inputs=inputs):
            return any(map(_needs_window, inputs))
        case PlanUnion(children=parts):
            return all(map(_needs_window, parts))
        case PlanLeftJoin(left=left) | PlanNegation(left=left):
            return _needs_window(left)
        case PlanGroup(keys=()) | PlanReevaluate() | PlanValues() | PlanService() | PlanSharedRead() | PlanMoment():
            return False
    return all(map(_needs_window, children(node)))
