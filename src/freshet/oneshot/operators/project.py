"""Project: some of the variables. What stands below sees of its surroundings only these."""

from __future__ import annotations

from freshet.algebra.nodes import Project
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table


@operator.register
def _(node: Project, scope: Scope) -> Table:
    names = [variable.name for variable in node.variables]
    return project_table(evaluate(node.child, scope.select(names)), names)


def project_table(table: Table, names: list[str]) -> Table:
    """The table with just these columns."""
    return Table({name: table.column(name) for name in names}, table.count)
