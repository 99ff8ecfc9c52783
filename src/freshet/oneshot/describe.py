"""DESCRIBE as concise bounded descriptions: a resource's triples, and those of the blank nodes that they lead to."""

from __future__ import annotations

import numpy as np

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import DESCRIBED, Describe, PatternTerm
from freshet.kernels.values import BLANK_NODE
from freshet.oneshot.constants import known_id
from freshet.oneshot.construct import graph_answer
from freshet.oneshot.dataset import ANY, Ids, Triples
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table
from freshet.rdf.deadline import current
from freshet.rdf.values import values
from freshet.results.report import GraphAnswer


def describe(resources: tuple[PatternTerm, ...], table: Table, scope: Scope) -> GraphAnswer:
    """The descriptions of resources, given as terms or as variables of a table, in the default graph."""
    return graph_answer(*_descriptions(resources, table, scope), dictionary=scope.dictionary)


@operator.register
def _(node: Describe, scope: Scope) -> Table:
    table = evaluate(node.child, scope)
    columns = _descriptions(node.resources, table, scope)
    terms = (DESCRIBED.subject, DESCRIBED.predicate, DESCRIBED.object)
    names = [term.name for term in terms if isinstance(term, Variable)]
    return Table(dict(zip(names, columns, strict=True)), len(columns[0])).distinct()


def _descriptions(resources: tuple[PatternTerm, ...], table: Table, scope: Scope) -> list[Ids]:
    nodes = np.unique(np.concatenate([np.empty(0, np.int64), *(_ids(each, table, scope) for each in resources)]))
    frontier = seen = nodes[nodes != 0]
    parts: list[Triples] = []
    while len(frontier):
        current().check()
        _, triples = scope.graph.probe(frontier, ANY, ANY)
        parts.append(triples)
        objects = np.unique(triples.objects)
        blank = objects[values(scope.dictionary, objects).kinds == BLANK_NODE]
        frontier = np.setdiff1d(blank, seen)
        seen = np.union1d(seen, frontier)
    return [np.concatenate([np.empty(0, np.int64), *(part[at] for part in parts)]) for at in range(3)]


def _ids(resource: PatternTerm, table: Table, scope: Scope) -> Ids:
    if isinstance(resource, Variable):
        return table.column(resource.name)
    return np.array([known_id(resource, scope.dictionary)], np.int64)
