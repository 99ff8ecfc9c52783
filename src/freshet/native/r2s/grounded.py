"""Whether an answer is empty by itself where all windows are."""

from __future__ import annotations

from freshet.native.plan.plan import (
    PlanDistinct,
    PlanDraw,
    PlanExtend,
    PlanFilter,
    PlanGroup,
    PlanJoin,
    PlanLeaf,
    PlanLeftJoin,
    PlanNegation,
    PlanNode,
    PlanOrdered,
    PlanProject,
    PlanReevaluate,
    PlanShared,
    PlanUnion,
    Stored,
)


def is_grounded(node: PlanNode) -> bool:
    """Whether every row of a node comes from a row of some window."""
    match node:
        case PlanLeaf(source=source):
            return not isinstance(source, Stored)
        case PlanJoin(inputs=inputs):
            return any(map(is_grounded, inputs))
        case PlanUnion(children=children):
            return all(map(is_grounded, children))
        case PlanLeftJoin(left=left) | PlanNegation(left=left):
            return is_grounded(left)
        case PlanGroup(keys=keys, child=child):
            return bool(keys) and is_grounded(child)
        case (
            PlanFilter(child=child)
            | PlanExtend(child=child)
            | PlanDraw(child=child)
            | PlanProject(child=child)
            | PlanDistinct(child=child)
            | PlanShared(child=child)
            | PlanOrdered(child=child)
        ):
            return is_grounded(child)
        case PlanReevaluate():
            return False
    return False
