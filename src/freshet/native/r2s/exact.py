"""Where an answer has no two equal rows, and none that comes again at the moment at which it goes."""

from __future__ import annotations

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import StreamOperator
from freshet.native.plan.plan import (
    Names,
    Plan,
    PlanExtend,
    PlanFilter,
    PlanJoin,
    PlanLeaf,
    PlanNode,
    PlanParameters,
    PlanProject,
    Stored,
)
from freshet.native.plan.sharing import parameter_number
from freshet.native.timing import Timing


def is_exact(plan: Plan, timing: Timing) -> bool:
    """Whether what comes and goes at an evaluation is what ISTREAM and DSTREAM report, without a comparison.

    That holds for joins of patterns in windows all of whose variables are in the answer, where every move of a window
    is an evaluation: a pattern has a row once, and a row that comes again before it goes stays.
    """
    if not timing.is_plain:
        return False
    base = _below(plan.root)
    leaves = base.inputs if isinstance(base, PlanJoin) else (base,)
    answered = set(plan.variables)
    return all(
        isinstance(each, PlanParameters) or (_is_of_window(each) and _answered(each.names) <= answered)
        for each in leaves
    )


def _is_of_window(node: PlanNode) -> bool:
    """Rows of stored patterns begin between evaluations, so that a result may begin and end where nobody looks."""
    return isinstance(node, PlanLeaf) and not isinstance(node.source, Stored)


def _answered(names: Names) -> Names:
    """Without those that the number of the query determines."""
    return frozenset(name for name in names if parameter_number(Variable(name)) is None)


def top_join(plan: Plan) -> PlanJoin | None:
    """The join whose results nobody wants to see end, where the answer is exact."""
    base = _below(plan.root)
    return base if isinstance(base, PlanJoin) and plan.output is StreamOperator.ISTREAM else None


def _below(node: PlanNode) -> PlanNode:
    while isinstance(node, PlanProject | PlanFilter | PlanExtend):
        node = node.child
    return node
