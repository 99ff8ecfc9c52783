"""Service: the solutions of a pattern at a remote endpoint (SPARQL 1.1 Federated Query).

What is known already of the variables that every remote solution binds is sent along, in bulk. The endpoint may be a
variable, which what is joined before must bind. SILENT: an endpoint that fails has one solution, which binds nothing.
"""

from __future__ import annotations

import logging

import numpy as np

from freshet.algebra.expressions import Variable
from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import Service
from freshet.algebra.scope import variables_in_scope
from freshet.federation.client import Bindings
from freshet.federation.errors import ServiceError
from freshet.federation.service_query import ServiceQuery
from freshet.oneshot.evaluate import operator
from freshet.oneshot.joining import join
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import UNIT, Table, empty, keys, stack_tables
from freshet.rdf.deadline import current
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import Iri

_log = logging.getLogger(__name__)


@operator.register
def _(node: Service, scope: Scope) -> Table:
    query = ServiceQuery(node.child)
    _check_outer(node, query, scope)
    if isinstance(node.endpoint, Iri):
        return _ask(node, node.endpoint.value, query, scope.hint, scope)
    variable = node.endpoint
    hint = scope.correlate(UNIT if scope.hint is None else scope.hint, [variable.name])
    if variable.name not in hint.columns:
        rule = "what it is joined with must bind it in every solution"
        raise InputError(f"nothing binds {variable}, the endpoint of SERVICE", hint=rule)
    parts = []
    for endpoint in np.unique(hint.columns[variable.name]).tolist():
        term = scope.dictionary.decode(endpoint)
        rows = hint.where(hint.columns[variable.name] == endpoint)
        if isinstance(term, Iri):
            found = _ask(node, term.value, query, rows, scope)
        elif node.silent:
            found = UNIT
        else:
            raise ServiceError(f"SERVICE {variable} is {term}, which is no endpoint")
        parts.append(join(found, Table({variable.name: np.array([endpoint])}, 1)))
    return stack_tables(parts) if parts else empty(each.name for each in variables_in_scope(node))


def _ask(node: Service, endpoint: str, query: ServiceQuery, hint: Table | None, scope: Scope) -> Table:
    bindings = _bindings(query, hint)
    if bindings is not None and len(bindings.rows) == 0:
        return empty(query.variables)
    try:
        deadline = current()
        found = scope.services.solutions(
            endpoint,
            query,
            scope.dictionary,
            bindings,
            check=deadline.check,
            seconds=deadline.left(),
            silent=node.silent,
        )
    except ServiceError as error:
        if not node.silent:
            raise
        _log.warning("SERVICE SILENT ignores a failure: %s", error.message)
        return UNIT
    return Table(found.ids, found.count)


def _bindings(query: ServiceQuery, hint: Table | None) -> Bindings | None:
    """What can be sent to the endpoint about the rows that its solutions will be joined with."""
    if hint is None:
        return None
    known = hint.select(name for name in hint.columns if name in query.certain)
    if not known.columns:
        return None
    names = tuple(known.columns)
    return Bindings(names, keys(known.distinct(), names))


def _check_outer(node: Service, query: ServiceQuery, scope: Scope) -> None:
    """Inside EXISTS outer variables are constants, which are sent to an endpoint as bindings or not at all."""
    if scope.outer is None:
        return
    for name in scope.outer.columns:
        if name in variables_of(node.child) and name not in query.certain:
            raise UnsupportedError(f"SERVICE inside EXISTS uses {Variable(name)}, which it does not bind itself")
