"""Queries that are equal, or differ only in constants: one plan for all, with the constants as a table of parameters.

A parameter stands where a query has a constant as the subject or the object of a pattern that every solution matches,
or in a condition on such patterns. The table has a row for each query; it is joined like any other input, and the
number of the query goes through to the answer, which is dealt out by it.

    SELECT ?post { ?user :account <p1> . WINDOW <w> { ?user :posts ?post } }      query 1: p1
    SELECT ?post { ?user :account <p2> . WINDOW <w> { ?user :posts ?post } }      query 2: p2
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from freshet.algebra.expressions import Constant, Expression, Variable
from freshet.algebra.nodes import PatternTerm, TriplePattern
from freshet.native.plan.plan import (
    Plan,
    PlanCondition,
    PlanDistinct,
    PlanExtend,
    PlanFilter,
    PlanGroup,
    PlanJoin,
    PlanLeaf,
    PlanLeftJoin,
    PlanNegation,
    PlanNode,
    PlanParameters,
    PlanProject,
    PlanUnion,
    children,
)
from freshet.native.plan.plan_reads import asks_time
from freshet.rdf.terms import RDF_TYPE, Term

QUERY = ".query"  # the variable that has the number of the query


@dataclass(frozen=True, slots=True)
class PlanShape:
    """A plan without its constants, and these."""

    plan: Plan
    constants: tuple[Term, ...]


def shape_of(plan: Plan) -> PlanShape | None:
    """What a query has in common with others; None where it cannot share."""
    if plan.template is not None or asks_time(plan):
        return None
    taken = _Taken()
    root = _parametrize(plan.root, taken)
    if root is None:
        return None
    return PlanShape(replace(plan, root=root, variables=(*plan.variables, QUERY)), tuple(taken.constants))


def can_begin_later(node: PlanNode) -> bool:
    """Whether queries can come to share a plan while it runs: each row of a window is joined with the parameters, so
    that it is known for each query whether it sees that row.
    """
    match node:
        case PlanProject() | PlanDistinct() | PlanFilter() | PlanExtend() | PlanGroup() | PlanUnion():
            return all(map(can_begin_later, children(node)))
        case PlanJoin(inputs=inputs):
            return all(isinstance(each, PlanLeaf | PlanParameters) for each in inputs)
    return False


@dataclass(slots=True)
class _Taken:
    constants: list[Term] = field(default_factory=list)

    def variable(self, term: Term) -> Variable:
        self.constants.append(term)
        return parameter(len(self.constants) - 1)


def parameter(number: int) -> Variable:
    """The variable that stands for a constant."""
    return Variable(f".constant{number}")


def parameter_number(variable: Variable) -> int | None:
    """Which constant a variable stands for, if it does."""
    start = ".constant"
    return int(variable.name[len(start) :]) if variable.name.startswith(start) else None


def _parametrize(node: PlanNode, taken: _Taken) -> PlanNode | None:
    """The node with parameters, on the way down where every row of the answer comes from one row below."""
    match node:
        case PlanProject(child=child) | PlanDistinct(child=child) | PlanFilter(child=child) | PlanExtend(child=child):
            below = _parametrize(child, taken)
            return None if below is None else _with_query_number(node, child=below)
        case PlanGroup(child=child, keys=keys) if keys:
            below = _parametrize(child, taken)
            return None if below is None else replace(_with_query_number(node, child=below), keys=(*keys, QUERY))
        case PlanLeftJoin(left=left) | PlanNegation(left=left):
            below = _parametrize(left, taken)
            return None if below is None else _with_query_number(node, left=below)
        case PlanUnion(children=children):
            parts = [_parametrize(child, taken) for child in children]
            shared = tuple(part for part in parts if part is not None)
            return _with_query_number(node, children=shared) if len(shared) == len(parts) else None
        case PlanJoin(inputs=inputs, conditions=conditions):
            return _join(inputs, conditions, taken)
        case PlanLeaf():
            return _join((node,), (), taken)
    return None


def _with_query_number(node: Any, **below: Any) -> Any:
    return replace(node, names=node.names | {QUERY}, certain=node.certain | {QUERY}, **below)


def _join(inputs: tuple[PlanNode, ...], conditions: tuple[PlanCondition, ...], taken: _Taken) -> PlanNode:
    parts = [_leaf(each, taken) if isinstance(each, PlanLeaf) else each for each in inputs]
    first = len(taken.constants)
    asked = [replace(each, expression=_expression(each.expression, taken)) for each in conditions]
    own = frozenset(parameter(number).name for number in range(first, len(taken.constants)))
    names = frozenset({QUERY, *(parameter(number).name for number in range(len(taken.constants)))})
    asked = [replace(each, scope=each.scope | own) for each in asked]
    parts.append(PlanParameters(names, names, len(taken.constants)))
    seen = frozenset[str]().union(*(each.names for each in inputs), {QUERY})
    sure = frozenset[str]().union(*(each.certain for each in inputs), {QUERY})
    return PlanJoin(seen, sure, tuple(parts), tuple(asked))


def _leaf(leaf: PlanLeaf, taken: _Taken) -> PlanLeaf:
    """Types stay where they are: queries of one form ask for the same."""
    pattern = leaf.pattern
    if pattern.predicate == RDF_TYPE:
        return leaf
    ends: list[PatternTerm] = [
        end if isinstance(end, Variable) else taken.variable(end) for end in (pattern.subject, pattern.object)
    ]
    names = leaf.names | {end.name for end in ends if isinstance(end, Variable)}
    return PlanLeaf(names, names, leaf.source, TriplePattern(ends[0], pattern.predicate, ends[1]))


def _expression(part: Any, taken: _Taken) -> Any:
    if isinstance(part, Constant):
        return taken.variable(part.term)
    if isinstance(part, tuple):
        return tuple(_expression(each, taken) for each in part)
    if isinstance(part, Expression) and is_dataclass(part) and not isinstance(part, Variable):
        return replace(part, **{place.name: _expression(getattr(part, place.name), taken) for place in fields(part)})
    return part
