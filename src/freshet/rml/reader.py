"""Reads RML mappings in Turtle, in the vocabulary of semweb.mmlab.be (with R2RML) and in that of w3id.org/rml."""

from __future__ import annotations

from pathlib import Path

from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri
from freshet.rml.functions import FUNCTIONS, Functions
from freshet.rml.mapping_graph import MappingGraph, Value, name_of
from freshet.rml.model import (
    Expression,
    JoinCondition,
    Mapping,
    ParentObject,
    PredicateObjectMap,
    TermMap,
    TermType,
    TriplesMap,
)
from freshet.rml.reader_joins import listed, read_window
from freshet.rml.reader_sources import read_logical_source
from freshet.rml.reader_terms import TermMapReader, constant
from freshet.rml.sources import LogicalSource

_IN_TRIPLES_MAP = {"logicalSource", "subjectMap", "subject", "predicateObjectMap", "baseIRI"}
_IN_PAIR = {"predicateMap", "predicate", "objectMap", "object", "graphMap", "graph"}
_IN_PARENT = {
    "parentTriplesMap", "joinCondition", "rmls:joinConfig", "rmls:windowType", "logicalTarget", "termType",
}  # fmt: skip
_IN_CONDITION = {"child", "parent", "childMap", "parentMap"}
_NODES = (TermType.IRI, TermType.URI, TermType.UNSAFE_IRI, TermType.UNSAFE_URI, TermType.BLANK_NODE)
_IRIS = _NODES[:-1]
_OLD = "http://semweb.mmlab.be/ns/rml#logicalSource"


def read_mapping(path: str | Path, *, base: str | None = None, functions: Functions = FUNCTIONS) -> Mapping:
    """The triples maps of a mapping file. What Freshet cannot map is an error that names triples map and property.

    Relative IRIs are resolved against rml:baseIRI, or else `base`, or else the file's own @base.
    """
    return _Reader(MappingGraph(Path(path)), base, functions).mapping()


def read_mapping_text(text: str, name: str) -> Mapping:
    """The same of a text from a client; `name` stands for the file in errors. It brings no code."""
    return _Reader(MappingGraph(Path(name), text), None, FUNCTIONS).mapping()


class _Reader:
    def __init__(self, graph: MappingGraph, base: str | None, functions: Functions) -> None:
        self._graph = graph
        self._base = base or graph.base
        self._functions = functions
        self._sources: dict[Value, LogicalSource] = {}

    def mapping(self) -> Mapping:
        graph = self._graph
        maps = graph.having("logicalSource", "subjectMap", "subject", "predicateObjectMap")
        maps = [node for node in maps if not graph.get(node, "fno:executes") and not self._is_execution(node)]
        if not maps:
            raise InputError("there is no triples map in it", file=graph.file)
        self._sources = {node: self._source(node) for node in maps}
        return Mapping(tuple(self._triples_map(*each) for each in self._sources.items()), graph.file, self._base)

    def _is_execution(self, node: Value) -> bool:
        """Whether a node is a function call of the old vocabulary, which is written with predicate-object maps."""
        if self._graph.get(node, "subjectMap", "subject"):
            return False
        return any(
            value.value.endswith("function/ontology#executes")
            for pair in self._graph.get(node, "predicateObjectMap")
            for value in self._graph.get(pair, "predicate")
            + [found for inner in self._graph.get(pair, "predicateMap") for found in self._graph.get(inner, "constant")]
        )

    def _source(self, node: Value) -> LogicalSource:
        graph = self._graph
        graph.triples_map = name_of(node)
        graph.check_properties(node, _IN_TRIPLES_MAP)
        sources = graph.get(node, "logicalSource")
        if len(sources) != 1:
            raise graph.wrong("needs one logical source")
        return read_logical_source(graph, sources[0])

    def _triples_map(self, node: Value, source: LogicalSource) -> TriplesMap:
        graph = self._graph
        graph.triples_map = name_of(node)
        base = graph.text(node, "baseIRI") or self._base
        terms = TermMapReader(graph, source, base, self._functions, natural=not graph.full[node][_OLD])
        subjects = terms.read_all(node, "subject", TermType.IRI, extra={"class", "graph", "graphMap"})
        if len(subjects) != 1:
            raise graph.wrong("needs one subject map")
        _expect(graph, subjects, _NODES, "a subject map that makes literals")
        written = graph.get(node, "subjectMap")
        classes = [Iri(found.value) for each in written for found in graph.get(each, "class")]
        graphs = [found for each in written for found in self._graphs(each, terms)]
        pairs = tuple(self._pair(pair, terms, source) for pair in graph.get(node, "predicateObjectMap"))
        return TriplesMap(graph.triples_map, source, subjects[0], tuple(classes), tuple(graphs), pairs)

    def _graphs(self, node: Value, terms: TermMapReader) -> list[TermMap]:
        graphs = terms.read_all(node, "graph", TermType.IRI)
        _expect(self._graph, graphs, _NODES, "a graph map that makes literals")
        return graphs

    def _pair(self, node: Value, terms: TermMapReader, source: LogicalSource) -> PredicateObjectMap:
        graph = self._graph
        graph.check_properties(node, _IN_PAIR)
        predicates = terms.read_all(node, "predicate", TermType.IRI)
        _expect(graph, predicates, _IRIS, "a predicate map that does not make IRIs")
        objects: list[TermMap | ParentObject] = [constant(graph, value) for value in graph.get(node, "object")]
        for value in graph.get(node, "objectMap"):
            if graph.get(value, "parentTriplesMap"):
                objects.append(self._parent(value, terms, source))
            else:
                objects.append(terms.read(value, None))
        if not predicates or not objects:
            raise graph.wrong("has a predicate-object map without a predicate or without an object")
        return PredicateObjectMap(tuple(predicates), tuple(objects), tuple(self._graphs(node, terms)))

    def _parent(self, node: Value, terms: TermMapReader, source: LogicalSource) -> ParentObject:
        graph = self._graph
        graph.check_properties(node, _IN_PARENT)
        parent = graph.single(node, "parentTriplesMap")
        if parent not in self._sources:
            raise graph.wrong(f"refers to {name_of(parent)}, which is no triples map")
        conditions = [
            condition
            for written in graph.get(node, "joinCondition")
            for condition in self._conditions(written, terms, source, self._sources[parent])
        ]
        window = read_window(graph, node)
        return ParentObject(name_of(parent), tuple(conditions), window, terms.targets(node))

    def _conditions(
        self, node: Value, terms: TermMapReader, child: LogicalSource, parent: LogicalSource
    ) -> list[JoinCondition]:
        graph = self._graph
        graph.check_properties(node, _IN_CONDITION)
        plain = graph.optional(node, "child"), graph.optional(node, "parent")
        if plain[0] is not None and plain[1] is not None:
            return [
                JoinCondition(
                    terms.of(child).reference(left, "join condition"),
                    terms.of(parent).reference(right, "join condition"),
                )
                for left, right in listed(plain[0].value, plain[1].value)
            ]
        sides: list[Expression] = []
        for role, source in (("child", child), ("parent", parent)):
            if graph.get(node, role):
                sides.append(terms.of(source).reference(graph.single(node, role).value, "join condition"))
            else:
                sides.append(terms.of(source).read(graph.single(node, f"{role}Map"), TermType.LITERAL).expression)
        return [JoinCondition(sides[0], sides[1])]


def _expect(graph: MappingGraph, maps: list[TermMap], types: tuple[TermType, ...], wrong: str) -> None:
    if any(each.type not in types for each in maps):
        raise graph.wrong(f"has {wrong}")
