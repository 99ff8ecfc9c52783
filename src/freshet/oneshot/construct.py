"""CONSTRUCT (SPARQL 1.1, 16.2): the template filled in for each solution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import PatternTerm, QuadPattern, TriplePattern
from freshet.kernels.values import BLANK_NODE, IRI
from freshet.oneshot.constants import constant_id
from freshet.oneshot.dataset import DEFAULT_GRAPH, Ids
from freshet.oneshot.table import Table
from freshet.rdf.arrow import read_only
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.reading import Quads
from freshet.rdf.row_numbers import number_in_blocks
from freshet.rdf.terms import BlankNode, Literal, Term, TripleTerm
from freshet.rdf.values import values
from freshet.results.report import GraphAnswer

_SLICE = 1 << 18
_TERM_BYTES = 100  # about what a new blank node takes of the dictionary

Template = tuple[TriplePattern | QuadPattern, ...]


def construct(template: Template, table: Table, dictionary: Dictionary) -> GraphAnswer:
    """A set of triples, or quads. One that is not bound in full, or would be none of RDF's, is left out."""
    _, rows = construct_each(template, table, np.zeros(table.count, np.int64), dictionary)
    return GraphAnswer.of_rows(rows, dictionary)


def has_graphs(template: Template) -> bool:
    """Whether a template makes quads."""
    return any(isinstance(pattern, QuadPattern) for pattern in template)


def construct_each(template: Template, table: Table, places: Ids, dictionary: Dictionary) -> tuple[Ids, Ids]:
    """The graphs of several answers: solutions with equal places, which are in order, belong together.

    Gives the place of each triple, in order, and the triples as rows; with their graphs, where the template has any.
    """
    blank_nodes = _BlankNodes(table.count, dictionary)
    names = ("place", "s", "p", "o", "g")[: 5 if has_graphs(template) else 4]
    parts = []
    for pattern in template:
        current().reserve(64 * table.count)
        triple = pattern if isinstance(pattern, TriplePattern) else pattern.triple
        subjects, predicates, objects = (_column(term, table, blank_nodes, dictionary) for term in triple_terms(triple))
        graphs = np.full(table.count, DEFAULT_GRAPH, np.int64)
        good = (objects != 0) & _are(predicates, dictionary, IRI) & _are(subjects, dictionary, IRI, BLANK_NODE)
        if isinstance(pattern, QuadPattern) and pattern.graph is not None:
            graphs = _column(pattern.graph, table, blank_nodes, dictionary)
            good &= isinstance(pattern.graph, BlankNode) or _are(graphs, dictionary, IRI)
        parts.append([column[good] for column in (places, subjects, predicates, objects, graphs)[: len(names)]])
    columns = [np.concatenate([np.empty(0, np.int64), *columns]) for columns in zip(*parts, strict=True)]
    columns = columns or [np.empty(0, np.int64)] * len(names)
    order = np.argsort(columns[0], kind="stable")
    named = dict(zip(names, (column[order] for column in columns), strict=True))
    found = Table(named, len(order)).distinct().columns
    return found["place"], np.column_stack([found[name] for name in names[1:]])


def construct_quads(template: tuple[QuadPattern, ...], graph: int, table: Table, dictionary: Dictionary) -> Quads:
    """What a template with graphs makes of solutions: as `construct`; a quad may stand twice. `graph` is its own."""
    data = [quad for quad in template if is_ground(quad) and not isinstance(quad.triple.subject, Literal | TripleTerm)]
    parts = [_ground_quads(data, graph, table, dictionary)]
    if all(map(is_ground, template)):
        return parts[0]
    blank_nodes = _BlankNodes(table.count, dictionary)
    for quad in template:
        if is_ground(quad):
            continue
        current().reserve(64 * table.count)
        graphs = np.full(table.count, graph, np.int64)
        if quad.graph is not None:
            graphs = _column(quad.graph, table, blank_nodes, dictionary)
        subjects, predicates, objects = (
            _column(term, table, blank_nodes, dictionary) for term in triple_terms(quad.triple)
        )
        quads = Quads(subjects, predicates, objects, graphs)
        parts.append(_good_quads(quads, quad.graph is not None, dictionary))
    return Quads(*map(np.concatenate, zip(*parts, strict=True)))


def is_ground(quad: QuadPattern) -> bool:
    """Whether a quad is the same for all solutions."""
    terms = (quad.graph, *triple_terms(quad.triple))
    return not any(isinstance(term, Variable | BlankNode) for term in terms)


def triple_terms(triple: TriplePattern) -> tuple[PatternTerm, PatternTerm, PatternTerm]:
    """The three terms of a triple of a template."""
    return triple.subject, triple.predicate, triple.object


def _ground_quads(data: list[QuadPattern], graph: int, table: Table, dictionary: Dictionary) -> Quads:
    """Quads that are the same for all solutions, if there are any; all their terms are encoded at once."""
    if not data or not table.count:
        return Quads(*(np.empty(0, np.int64) for _ in range(4)))
    terms: dict[Term, int] = {}
    for quad in data:
        for term in (quad.graph, *triple_terms(quad.triple)):
            if term is not None:
                terms.setdefault(cast(Term, term), len(terms))
    ids = np.append(dictionary.encode_many([*terms]), graph)
    places = [[terms.get(cast(Term, term), -1) for term in (*triple_terms(quad.triple), quad.graph)] for quad in data]
    return Quads(*ids[np.array(places, np.int64)].T.copy())


def _good_quads(quads: Quads, is_graph_bound: bool, dictionary: Dictionary) -> Quads:
    """Those that are bound in full and are RDF's. Repeated ones are left out, for as long as most are repeated."""
    parts: list[Quads] = []
    come_again = True
    for rows in _slices(len(quads.graphs)):
        current().check()
        some = Quads(*(column[rows] for column in quads))
        good = (some.objects != 0) & _are(some.predicates, dictionary, IRI)
        good &= _are(some.subjects, dictionary, IRI, BLANK_NODE)
        if is_graph_bound:
            good &= _are(some.graphs, dictionary, IRI)
        some = Quads(*(column[good] for column in some))
        if come_again:
            _, firsts = number_in_blocks(read_only(np.column_stack(some)))
            come_again = 2 * len(firsts) < len(some.graphs)
            some = Quads(*(column[firsts] for column in some))
        parts.append(some)
    return Quads(*map(np.concatenate, zip(*parts, strict=True))) if parts else quads


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
            start = pa.scalar(f"_:{self._scope}.{len(self._columns)}n", pa.large_string())
            ids = np.empty(self._count, np.int64)
            for rows in _slices(self._count):
                current().reserve(_TERM_BYTES * (rows.stop - rows.start))
                numbers = pa.array(np.arange(rows.start, rows.stop)).cast(pa.large_string())
                keys = pc.binary_join_element_wise(start, numbers, pa.scalar("", pa.large_string()))
                ids[rows] = self._dictionary.intern_arrow(keys)
            self._columns[label] = ids
        return self._columns[label]


def _column(term: PatternTerm, table: Table, blank_nodes: _BlankNodes, dictionary: Dictionary) -> Ids:
    if isinstance(term, Variable):
        return table.column(term.name)
    if isinstance(term, BlankNode):
        return blank_nodes.column(term.label)
    return np.full(table.count, constant_id(term, dictionary), np.int64)


def _are(ids: Ids, dictionary: Dictionary, *kinds: int) -> NDArray[np.bool_]:
    found = np.empty(ids.size, np.bool_)
    for rows in _slices(ids.size):
        current().check()
        found[rows] = np.isin(values(dictionary, ids[rows]).kinds, kinds)
    return found


def _slices(count: int) -> Iterator[slice]:
    """Some rows after others: what takes long is done slice by slice, so that it can be stopped."""
    return (slice(first, min(first + _SLICE, count)) for first in range(0, count, _SLICE))
