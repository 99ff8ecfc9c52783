"""Which columns of which node an answer has: projections and renamings above it need no operators."""

from __future__ import annotations

from freshet.algebra.expressions import Variable
from freshet.native.plan.plan import Plan, PlanExtend, PlanFilter, PlanGroup, PlanNode, PlanProject

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
