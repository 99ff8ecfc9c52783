"""Where an answer has no two equal rows, and none that comes again at the moment at which it goes."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import StreamOperator
from freshet.native.plan.plan import (
    Names,
    Plan,
    PlanDistinct,
    PlanExtend,
    PlanFilter,
    PlanGroup,
    PlanJoin,
    PlanLeaf,
    PlanNode,
    PlanParameters,
    PlanProject,
    PlanSharedRead,
    PlanValues,
    Stored,
    children,
)
from freshet.native.plan.sharing import parameter_number
from freshet.native.timing import Timing


class Exactness(IntEnum):
    """When what comes and goes at an evaluation is what ISTREAM and DSTREAM report, without a comparison."""

    NEVER = 0
    AT_EVALUATIONS = 1  # where all of it comes and goes at an evaluation, and nothing between two
    ALWAYS = 2


def exactness(plan: Plan, timing: Timing) -> Exactness:
    """How exact a query is. It is where all variables are in the answer, for

    - joins of patterns: a pattern has a row once, and a row that comes again before it goes stays;
    - DISTINCT and GROUP BY: a row appears, or vanishes, once at a moment, and a group has one row.

    Over windows everything comes and goes at evaluations, where every move of a window is one.
    """
    if not timing.is_plain:
        return Exactness.NEVER
    base, answered = _below(plan.root), _answer(plan)
    if isinstance(base, PlanDistinct | PlanGroup):
        is_exact, sources = _answered(base.names) <= answered, list(_sources(base))
    else:
        sources = list(base.inputs if isinstance(base, PlanJoin) else (base,))
        is_exact = all(
            isinstance(each, PlanParameters) or (isinstance(each, PlanLeaf) and _answered(each.names) <= answered)
            for each in sources
        )
    if not is_exact or not all(map(_is_of_window_or_stored, sources)):
        return Exactness.NEVER
    return Exactness.AT_EVALUATIONS if any(map(_is_stored, sources)) else Exactness.ALWAYS


def _answer(plan: Plan) -> set[str]:
    """The variables that the answer has, also under other names."""
    answered, node = set(plan.variables), plan.root
    while isinstance(node, PlanProject | PlanFilter | PlanExtend):
        if isinstance(node, PlanExtend) and isinstance(node.expression, Variable) and node.variable in answered:
            answered.add(node.expression.name)
        node = node.child
    return answered


def _sources(node: PlanNode) -> Iterator[PlanNode]:
    """What stands below a node and has nothing below it."""
    below = children(node)
    if not below:
        yield node
    for child in below:
        yield from _sources(child)


def _is_of_window_or_stored(node: PlanNode) -> bool:
    """Whether it has rows that come and go with windows, or some that stay."""
    return isinstance(node, PlanLeaf | PlanValues | PlanParameters | PlanSharedRead)


def _is_stored(node: PlanNode) -> bool:
    """Rows of stored patterns begin between evaluations, so that a result may begin and end between two evaluations."""
    return isinstance(node, PlanLeaf) and isinstance(node.source, Stored)


def _answered(names: Names) -> Names:
    """Without those that the number of the query determines."""
    return frozenset(name for name in names if parameter_number(Variable(name)) is None)


def top_join(plan: Plan) -> PlanJoin | None:
    """The join whose results need not end, where the answer is exact."""
    base = _below(plan.root)
    return base if isinstance(base, PlanJoin) and plan.output is StreamOperator.ISTREAM else None


def _below(node: PlanNode) -> PlanNode:
    while isinstance(node, PlanProject | PlanFilter | PlanExtend):
        node = node.child
    return node
