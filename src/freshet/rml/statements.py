"""The statements that a triples map makes of a record, and the joins that bring the other records that they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import RDF_TYPE, Iri
from freshet.rml.model import (
    JoinCondition,
    Mapping,
    ParentObject,
    QuotedTriple,
    QuotedTriples,
    Target,
    TermMap,
    TermType,
    TriplesMap,
)
from freshet.rml.reader_terms import DEFAULT_GRAPHS
from freshet.rml.sources import LogicalSource
from freshet.rml.term_walks import on_side
from freshet.rml.windows import JoinWindow

REIFIES = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")
_TYPE = TermMap(TermType.IRI, RDF_TYPE)


class Statement(NamedTuple):
    """What makes triples of a record: in the default graph where there is no graph."""

    subject: TermMap
    predicate: TermMap
    object: TermMap
    graph: TermMap | None = None

    @property
    def targets(self) -> frozenset[Target]:
        """Where its triples go; the usual output where there are none."""
        terms = (each for each in self if each is not None)
        return frozenset(target for term in terms for target in term.targets)


class Collection(NamedTuple):
    """A term that gathers members, of which the collection's own triples are made in a graph."""

    term: TermMap
    graph: TermMap | None = None

    @property
    def targets(self) -> frozenset[Target]:
        terms = (each for each in self if each is not None)
        return frozenset(target for term in terms for target in term.targets)


class Join(NamedTuple):
    """The records of another source that belong to those of one side: all of them, where there is no condition."""

    side: str
    of: str
    source: LogicalSource
    conditions: tuple[JoinCondition, ...]
    window: JoinWindow | None


class JoinedStatement(NamedTuple):
    """A statement, and the joins of the sides that its references are to; the record itself is the side ""."""

    statement: Statement | Collection
    joins: tuple[Join, ...] = ()


class _Made(NamedTuple):
    """A term, the joins that it needs, and the triples that say what its reifiers reify."""

    term: TermMap
    joins: tuple[Join, ...] = ()
    reified: tuple[QuotedTriple, ...] = ()


def statements_of(triples_map: TriplesMap, mapping: Mapping) -> Iterator[JoinedStatement]:
    """The statements of a triples map; of one that is not asserted there are none."""
    if triples_map.asserted:
        yield from _Maker({each.name: each for each in mapping.triples_maps}).statements(triples_map)


class _Maker:
    def __init__(self, maps: dict[str, TriplesMap]) -> None:
        self._maps = maps
        self._open: list[str] = []  # the triples maps that are being quoted

    def statements(self, triples_map: TriplesMap) -> Iterator[JoinedStatement]:
        for subject in self._subjects(triples_map, ""):
            if subject.term.gather is not None:
                for graph in _graphs(triples_map.graphs):
                    yield JoinedStatement(Collection(subject.term, graph), subject.joins)
        for graphs, subject, predicate, object_ in self._triples(triples_map, ""):
            joins = tuple(dict.fromkeys((*subject.joins, *object_.joins)))
            for graph in graphs:
                yield JoinedStatement(Statement(subject.term, predicate, object_.term, graph), joins)
                for made in (subject, object_):
                    if made.term.gather is not None:
                        yield JoinedStatement(Collection(made.term, graph), made.joins)
                    for triple in made.reified:
                        yield JoinedStatement(_reification(triple, graph, subject.term.targets), made.joins)

    def _triples(
        self, triples_map: TriplesMap, side: str
    ) -> Iterator[tuple[tuple[TermMap | None, ...], _Made, TermMap, _Made]]:
        """Graphs, subjects, predicates and objects, whose references are to a side."""
        subjects = list(self._subjects(triples_map, side))
        own = _graphs(triples_map.graphs)
        for subject in subjects:
            for each in triples_map.classes:
                yield own, subject, _TYPE, _Made(TermMap(TermType.IRI, each))
        for pair in triples_map.pairs:
            graphs = _graphs(tuple(on_side(each, side) for each in (*triples_map.graphs, *pair.graphs)))
            for predicate in pair.predicates:
                for given in pair.objects:
                    for object_ in self._objects(triples_map, given, side):
                        for subject in subjects:
                            yield graphs, subject, on_side(predicate, side), object_

    def _subjects(self, triples_map: TriplesMap, side: str) -> Iterator[_Made]:
        given = triples_map.subject
        if isinstance(given, TermMap):
            yield self._term(triples_map, given, side)
            return
        for made in self._quoted(triples_map, given, side, f"{side}s"):
            assert isinstance(made.term.expression, QuotedTriple)
            node = replace(made.term, type=TermType.BLANK_NODE)
            yield _Made(node, made.joins, (*made.reified, made.term.expression))

    def _objects(
        self, triples_map: TriplesMap, given: TermMap | ParentObject | QuotedTriples, side: str
    ) -> Iterator[_Made]:
        if isinstance(given, TermMap):
            yield self._term(triples_map, given, side)
        elif isinstance(given, QuotedTriples):
            yield from self._quoted(triples_map, given, side, f"{side}o")
        else:
            parent = self._maps[given.parent]
            joins, place = _join(triples_map, parent, given, side, f"{side}o")
            for made in self._subjects(parent, place):
                term = replace(made.term, targets=given.targets)
                yield _Made(term, (*joins, *made.joins), made.reified)

    def _term(self, triples_map: TriplesMap, term: TermMap, side: str) -> _Made:
        if term.gather is None:
            return _Made(on_side(term, side))
        members: list[TermMap] = []
        joins: tuple[Join, ...] = ()
        for given in term.gather.members:
            made = self._member(triples_map, given, side)
            if made.joins and len(term.gather.members) > 1:
                raise UnsupportedError(
                    f"the triples map {triples_map.name} gathers joined records beside other members"
                )
            members.append(made.term)
            joins += made.joins
        placed = on_side(replace(term, gather=None), side)
        return _Made(replace(placed, gather=replace(term.gather, members=tuple(members))), joins)

    def _member(self, triples_map: TriplesMap, given: TermMap | ParentObject, side: str) -> _Made:
        found = list(self._objects(triples_map, given, side))
        if len(found) != 1 or found[0].reified:
            raise UnsupportedError(f"the triples map {triples_map.name} gathers quoted triples")
        return found[0]

    def _quoted(self, triples_map: TriplesMap, given: QuotedTriples, side: str, new: str) -> Iterator[_Made]:
        """The triples of another triples map as terms."""
        parent = self._maps[given.parent]
        if parent.name in self._open:
            raise InputError(f"the triples map {parent.name} quotes itself")
        joins, place = _join(triples_map, parent, given, side, new)
        self._open.append(parent.name)
        triples = list(self._triples(parent, place))
        self._open.pop()
        for _, subject, predicate, object_ in triples:
            triple = QuotedTriple(subject.term, predicate, object_.term)
            term = TermMap(TermType.TRIPLE, triple, targets=given.targets)
            reified = (*subject.reified, *object_.reified)
            yield _Made(term, (*joins, *subject.joins, *object_.joins), reified)


def _join(
    child: TriplesMap, parent: TriplesMap, given: ParentObject | QuotedTriples, side: str, new: str
) -> tuple[tuple[Join, ...], str]:
    """The join that a reference to another triples map is, and the side of its records: their own, where they are the
    same records."""
    if not given.conditions and parent.source == child.source:
        return (), side
    return (Join(new, side, parent.source, given.conditions, given.window),), new


def _reification(triple: QuotedTriple, graph: TermMap | None, targets: tuple[Target, ...]) -> Statement:
    node = TermMap(TermType.BLANK_NODE, triple, targets=targets)
    return Statement(node, TermMap(TermType.IRI, REIFIES), TermMap(TermType.TRIPLE, triple), graph)


def _graphs(given: tuple[TermMap, ...]) -> tuple[TermMap | None, ...]:
    """Each graph once; None is the default graph."""
    found = (None if graph.expression in DEFAULT_GRAPHS and not graph.targets else graph for graph in given)
    return tuple(dict.fromkeys(found)) or (None,)
