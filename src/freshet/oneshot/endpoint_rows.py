"""What SERVICE ?endpoint is joined with: solutions that bind the endpoint, and solutions that do not."""

from __future__ import annotations

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Node, Service
from freshet.oneshot.table import Table
from freshet.rdf.errors import InputError


def without_endpoint(node: Node, table: Table) -> tuple[Table, Table | None]:
    """The rows that a pattern is evaluated for, and those that leave the endpoint of a SERVICE unbound.

    SILENT passes over such an endpoint: it has the solution that binds nothing, so that these rows stay as they are.
    """
    if not isinstance(node, Service) or not isinstance(node.endpoint, Variable):
        return table, None
    name = node.endpoint.name
    if name not in table.columns or table.columns[name].all():
        return table, None
    if not node.silent:
        hint = "SERVICE SILENT passes over them"
        raise InputError(f"some solutions leave {node.endpoint}, the endpoint of SERVICE, unbound", hint=hint)
    bound = table.columns[name] != 0
    return table.where(bound), table.where(~bound)
