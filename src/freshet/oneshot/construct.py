"""CONSTRUCT (SPARQL 1.1, 16.2): the template filled in for each solution."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import PatternTerm, TriplePattern
from freshet.kernels.values import BLANK_NODE, IRI
from freshet.oneshot.constants import given_id
from freshet.oneshot.dataset import Ids
from freshet.oneshot.table import Table
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import BlankNode
from freshet.rdf.values import values
from freshet.results.report import GraphAnswer


def construct(template: tuple[TriplePattern, ...], table: Table, dictionary: Dictionary) -> GraphAnswer:
    """A set of triples. One that is not bound in full, or would be none of RDF's, is left out."""
    _, triples = construct_each(template, table, np.zeros(table.count, np.int64), dictionary)
    return GraphAnswer(triples[:, 0], triples[:, 1], triples[:, 2], dictionary)


def construct_each(
    template: tuple[TriplePattern, ...], table: Table, places: Ids, dictionary: Dictionary
) -> tuple[Ids, Ids]:
    """The graphs of several answers: solutions with equal places, which are in order, belong together.

    Gives the place of each triple, in order, and the triples as rows.
    """
    blank_nodes = _BlankNodes(table.count, dictionary)
    parts = []
    for pattern in template:
        current().reserve(64 * table.count)
        subjects, predicates, objects = (
            _column(term, table, blank_nodes, dictionary)
            for term in (pattern.subject, pattern.predicate, pattern.object)
        )
        good = (objects != 0) & _are(predicates, dictionary, IRI) & _are(subjects, dictionary, IRI, BLANK_NODE)
        parts.append([column[good] for column in (places, subjects, predicates, objects)])
    columns = [np.concatenate([np.empty(0, np.int64), *columns]) for columns in zip(*parts, strict=True)]
    columns = columns or [np.empty(0, np.int64)] * 4
    order = np.argsort(columns[0], kind="stable")
    named = dict(zip(("place", "s", "p", "o"), (column[order] for column in columns), strict=True))
    found = Table(named, len(order)).distinct().columns
    return found["place"], np.column_stack((found["s"], found["p"], found["o"]))


def graph_answer(subjects: Ids, predicates: Ids, objects: Ids, *, dictionary: Dictionary) -> GraphAnswer:
    """Triples as an answer, each once."""
    distinct = Table({"s": subjects, "p": predicates, "o": objects}, len(subjects)).distinct().columns
    return GraphAnswer(distinct["s"], distinct["p"], distinct["o"], dictionary)


class _BlankNodes:
    """The template's blank nodes: another for each solution."""

    def __init__(self, count: int, dictionary: Dictionary) -> None:
        self._count = count
        self._dictionary = dictionary
        self._scope = dictionary.fresh_scope()
        self._columns: dict[str, Ids] = {}

    def column(self, label: str) -> Ids:
        if label not in self._columns:
            numbers = pa.array(np.arange(self._count)).cast(pa.large_string())
            start = f"_:{self._scope}.{len(self._columns)}n"
            keys = pc.binary_join_element_wise(
                pa.scalar(start, pa.large_string()), numbers, pa.scalar("", pa.large_string())
            )
            self._columns[label] = self._dictionary.intern_arrow(keys)
        return self._columns[label]


def _column(term: PatternTerm, table: Table, blank_nodes: _BlankNodes, dictionary: Dictionary) -> Ids:
    if isinstance(term, Variable):
        return table.column(term.name)
    if isinstance(term, BlankNode):
        return blank_nodes.column(term.label)
    return np.full(table.count, given_id(term, dictionary), np.int64)


def _are(ids: Ids, dictionary: Dictionary, *kinds: int) -> NDArray[np.bool_]:
    return np.isin(values(dictionary, ids).kinds, kinds)
