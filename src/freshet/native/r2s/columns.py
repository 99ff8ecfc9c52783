"""Which columns of which node an answer has: projections and renamings above it need no operators."""

from __future__ import annotations

from freshet.algebra.expressions import Variable
from freshet.native.plan.plan import (
    Plan,
    PlanCache,
    PlanExtend,
    PlanFilter,
    PlanGroup,
    PlanJoin,
    PlanLeaf,
    PlanNode,
    PlanProject,
    Stored,
)
from freshet.native.timing import closes_regularly

_UNBOUND = ""  # no variable has this name, so that it stands for a column without values


def answer_columns(plan: Plan) -> tuple[PlanNode, tuple[str, ...]]:
    """The topmost node that does more than to choose and rename columns, and its column for each variable."""
    node, columns = plan.root, plan.variables
    while True:
        if isinstance(node, PlanProject):
            columns = tuple(name if name in node.names else _UNBOUND for name in columns)
        elif isinstance(node, PlanExtend) and isinstance(node.expression, Variable):
            columns = tuple(node.expression.name if name == node.variable else name for name in columns)
        else:
            return node, columns
        node = node.child


def has_rows_at_hand(node: PlanNode) -> bool:
    """Whether its operator has all rows that hold without keeping them for that: those of groups."""
    while isinstance(node, PlanProject | PlanFilter | PlanExtend):
        node = node.child
    return isinstance(node, PlanGroup)


def goes_out_of_order(plan: Plan) -> bool:
    """Whether the answer is a join of several windows that close: its rows do not go in the order in which they came.

    To find them among all that hold then costs more than to read what holds from the results of the join. Windows that
    move with elements are evaluated many times a batch, for which all rows are kept with their lives.
    """
    node, _ = answer_columns(plan)
    if not isinstance(node, PlanJoin) or not all(map(closes_regularly, plan.windows)):
        return False
    if not all(isinstance(each, PlanLeaf | PlanCache) for each in node.inputs):
        return False
    sources = {each.source for each in node.inputs if isinstance(each, PlanLeaf)}
    return sum(not isinstance(source, Stored) for source in sources) > 1
