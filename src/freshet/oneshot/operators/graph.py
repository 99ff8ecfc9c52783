"""Graph: the pattern in a named graph, or in each of them with its name in a variable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Graph
from freshet.algebra.scope import variables_in_scope
from freshet.oneshot.constants import known_id
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.joining import join
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table, empty, stack_tables
from freshet.rdf.deadline import current


@operator.register
def _(node: Graph, scope: Scope) -> Table:
    names = scope.dataset.names()
    in_scope = [variable.name for variable in variables_in_scope(node)]
    if not isinstance(node.name, Variable):
        name = known_id(node.name, scope.dictionary)
        if name == 0 or not (names == name).any():
            return empty(in_scope)
        return evaluate(node.child, replace(scope, graph=scope.dataset.graph(name)))
    variable = node.name.name
    if scope.hint is not None and variable in scope.hint.columns:
        names = np.intersect1d(names, scope.hint.columns[variable])
    parts = []
    for name in names.tolist():
        current().check()
        found = evaluate(node.child, replace(scope, graph=scope.dataset.graph(name)))
        parts.append(join(found, Table({variable: np.array([name], np.int64)}, 1)))
    return stack_tables(_alike(parts, scope)) if parts else empty(in_scope)


def _alike(parts: list[Table], scope: Scope) -> list[Table]:
    """All parts with the same outer variables."""
    names = dict.fromkeys(name for part in parts for name in part.columns)
    return [scope.correlate(part, names) for part in parts]
