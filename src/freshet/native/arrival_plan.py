"""Which plans can be answered for many instants at once, and what they come to then."""

from __future__ import annotations

from dataclasses import dataclass

from freshet.algebra.expressions import Expression
from freshet.algebra.nodes import StreamOperator
from freshet.algebra.rewrite.conditions import has_exists, is_volatile
from freshet.native.arrival_leaf import ArrivalLeaf
from freshet.native.arrival_source import moves_with_arrivals
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.leaf_patterns import leaf_pattern
from freshet.native.plan import (
    Plan,
    PlanCondition,
    PlanDistinct,
    PlanExtend,
    PlanFilter,
    PlanJoin,
    PlanLeaf,
    PlanNode,
    PlanParameters,
    PlanProject,
    Stored,
)
from freshet.native.sharing import QUERY, parameter
from freshet.rdf.dictionary import Dictionary


@dataclass(frozen=True, slots=True)
class Computed:
    """A variable computed from others (BIND)."""

    variable: str
    expression: Expression


RowStep = PlanCondition | Computed


@dataclass(frozen=True, slots=True)
class ArrivalPlan:
    """What is asked for above the leaves: conditions of the join, then steps row by row."""

    conditions: tuple[PlanCondition, ...]
    steps: tuple[RowStep, ...]
    variables: tuple[str, ...]
    distinct: bool
    output: StreamOperator


def arrival_plan(plan: Plan, dictionary: Dictionary) -> tuple[tuple[ArrivalLeaf, ...], ArrivalPlan] | None:
    """The leaves of a plan and what it asks for above them; None where it needs more than an `ArrivalQuery` has.

    The parameters of a shared plan are leaves too, of triples (query, which parameter, constant).
    """
    if plan.output is StreamOperator.RSTREAM or not all(map(moves_with_arrivals, plan.windows)):
        return None
    if plan.template is not None:
        return None
    distinct = isinstance(plan.root, PlanDistinct)
    node = plan.root.child if isinstance(plan.root, PlanDistinct) else plan.root
    while isinstance(node, PlanProject):
        node = node.child
    steps: list[RowStep] = []
    while isinstance(node, PlanFilter | PlanExtend):
        if isinstance(node, PlanFilter):
            steps.append(PlanCondition(node.condition, node.child.names))
        else:
            steps.append(Computed(node.variable, node.expression))
        node = node.child
    inputs, conditions = (node.inputs, node.conditions) if isinstance(node, PlanJoin) else ((node,), ())
    if not _are_leaves(inputs, plan) or not all(map(_follows_rows, (*conditions, *steps))):
        return None
    leaves = [_leaf(each, dictionary) for each in inputs if isinstance(each, PlanLeaf)]
    for each in inputs:
        if isinstance(each, PlanParameters):
            leaves += map(_parameter_leaf, range(each.count))
    return tuple(leaves), ArrivalPlan(conditions, tuple(reversed(steps)), plan.variables, distinct, plan.output)


def parameter_predicate(number: int) -> int:
    """What stands between a query's number and one of its constants; no term has such an id."""
    return number + 1


def _are_leaves(inputs: tuple[PlanNode, ...], plan: Plan) -> bool:
    """Whether only patterns in windows and in the stored default graph are joined, in every window at least one."""
    patterns = [each for each in inputs if isinstance(each, PlanLeaf)]
    if any(not isinstance(each, PlanLeaf | PlanParameters) for each in inputs):
        return False
    read = {leaf.source for leaf in patterns if leaf.source != Stored()}
    return read == set(plan.windows)


def _follows_rows(step: RowStep) -> bool:
    """Whether a step gives the same for a row whenever it is asked."""
    return not (is_volatile(step.expression) or has_exists(step.expression))


def _parameter_leaf(number: int) -> ArrivalLeaf:
    pattern = LeafPattern((0, parameter_predicate(number), 0), ((0,), (2,)))
    return ArrivalLeaf(None, pattern, (QUERY, parameter(number).name))


def _leaf(leaf: PlanLeaf, dictionary: Dictionary) -> ArrivalLeaf:
    pattern, names = leaf_pattern(leaf.pattern, dictionary)
    return ArrivalLeaf(None if isinstance(leaf.source, Stored) else leaf.source, pattern, names)
