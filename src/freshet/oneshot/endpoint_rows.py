"""What SERVICE ?endpoint is joined with: solutions that bind the endpoint, and solutions that do not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, Filter, Node, Project, Service
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.joining import join
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table
from freshet.rdf.errors import InputError


def lacks_endpoint(node: Node, table: Table) -> bool:
    """Whether a SERVICE has to wait for what binds the variable of its endpoint."""
    service = _inner(node)
    return (
        isinstance(service, Service)
        and isinstance(service.endpoint, Variable)
        and service.endpoint.name not in table.columns
    )


def without_endpoint(node: Node, table: Table) -> tuple[Table, Table | None]:
    """The rows that a pattern is evaluated for, and those that leave the endpoint of a SERVICE unbound.

    SILENT skips such an endpoint: it has the solution that binds nothing, so that these rows stay as they are.
    """
    service = _inner(node)
    if not isinstance(service, Service) or not isinstance(service.endpoint, Variable):
        return table, None
    name = service.endpoint.name
    if name not in table.columns or table.columns[name].all():
        return table, None
    if not service.silent:
        hint = "SERVICE SILENT skips them"
        raise InputError(f"some solutions leave {service.endpoint}, the endpoint of SERVICE, unbound", hint=hint)
    bound = table.columns[name] != 0
    return table.where(bound), table.where(~bound)


def join_with_empty(node: Node, table: Table, scope: Scope) -> Table:
    """Rows joined with the solution that binds nothing, if the filters in which the SERVICE stands let it pass."""
    return join(table, evaluate(_empty_services(node), scope.with_hint(None)))


def skip_unbound_services(node: Node, names: Collection[str]) -> Node:
    """A pattern for solutions that leave these variables unbound: where SILENT skips an endpoint that is one of
    them, the filters in which the SERVICE stands, with the solution that binds nothing.
    """
    match _inner(node):
        case Service(endpoint=Variable(name), silent=True) if name in names:
            return _empty_services(node)
    return node


def _inner(node: Node) -> Node:
    """What stands in filters and projections, where rewriting may have put it."""
    while isinstance(node, Filter | Project):
        node = node.child
    return node


def _empty_services(node: Node) -> Node:
    return replace(node, child=_empty_services(node.child)) if isinstance(node, Filter | Project) else BGP(())
