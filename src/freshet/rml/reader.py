"""Reads mappings in Turtle: RML in the vocabulary of semweb.mmlab.be and in that of w3id.org/rml, and R2RML."""

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
    QuotedTriples,
    Target,
    TermMap,
    TermType,
    TriplesMap,
)
from freshet.rml.reader_joins import listed, read_window
from freshet.rml.reader_terms import TermMapReader, constant
from freshet.rml.reader_views import SourceReader
from freshet.rml.sources import LogicalSource
from freshet.rml.windows import JoinWindow

_IN_TRIPLES_MAP = {"logicalSource", "logicalTable", "subjectMap", "subject", "predicateObjectMap", "baseIRI"}
_IN_PAIR = {"predicateMap", "predicate", "objectMap", "object", "graphMap", "graph"}
_IN_PARENT = {
    "parentTriplesMap", "joinCondition", "rmls:joinConfig", "rmls:windowType", "logicalTarget", "termType",
}  # fmt: skip
_IN_QUOTED = {
    "quotedTriplesMap", "joinCondition", "rmls:joinConfig", "rmls:windowType", "logicalTarget", "termType", "class",
    "graph", "graphMap",
}  # fmt: skip
_IN_CONDITION = {"child", "parent", "childMap", "parentMap"}
_NODES = (TermType.IRI, TermType.URI, TermType.UNSAFE_IRI, TermType.UNSAFE_URI, TermType.BLANK_NODE)
_IRIS = _NODES[:-1]
_OLD = "http://semweb.mmlab.be/ns/rml#logicalSource"


def read_mapping(
    path: str | Path, *, base: str | None = None, functions: Functions = FUNCTIONS, database: str | None = None
) -> Mapping:
    """The triples maps of a mapping file. What Freshet cannot map is an error that names triples map and property.

    Relative IRIs are resolved against rml:baseIRI, or else `base`, or else the file's own @base. The tables
    of R2RML are those of the `database`: a JDBC address, or a file of SQLite.
    """
    return _Reader(MappingGraph(Path(path)), base, functions, database).mapping()


def read_mapping_text(text: str, name: str) -> Mapping:
    """The same of a text from a client; `name` stands for the file in errors. It brings no code."""
    return _Reader(MappingGraph(Path(name), text), None, FUNCTIONS).mapping()


class _Reader:
    def __init__(
        self, graph: MappingGraph, base: str | None, functions: Functions, database: str | None = None
    ) -> None:
        self._graph = graph
        self._base = base or graph.base
        self._functions = functions
        self._source_reader = SourceReader(graph, self._base, functions, database)
        self._sources: dict[Value, LogicalSource] = {}

    def mapping(self) -> Mapping:
        graph = self._graph
        maps = graph.nodes_with("logicalSource", "logicalTable", "subjectMap", "subject", "predicateObjectMap")
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
        sources, tables = graph.get(node, "logicalSource"), graph.get(node, "logicalTable")
        if len(sources) + len(tables) != 1:
            raise graph.wrong("needs one logical source")
        return self._source_reader.read(sources[0]) if sources else self._source_reader.read_table(tables[0])

    def _triples_map(self, node: Value, source: LogicalSource) -> TriplesMap:
        graph = self._graph
        graph.triples_map = name_of(node)
        base = graph.text(node, "baseIRI") or self._base
        natural = not graph.full[node][_OLD]
        plain = TermMapReader(graph, source, base, self._functions, natural=natural)
        terms = TermMapReader(
            graph,
            source,
            base,
            self._functions,
            natural=natural,
            read_parent=lambda value: self._parent(value, plain, source),
        )
        written = graph.get(node, "subjectMap")
        subject = self._subject(node, written, terms, source)
        classes = [Iri(found.value) for each in written for found in graph.get(each, "class")]
        graphs = [found for each in written for found in self._graphs(each, terms)]
        pairs = tuple(self._pair(pair, terms, source) for pair in graph.get(node, "predicateObjectMap"))
        asserted = self._is_asserted(node)
        return TriplesMap(graph.triples_map, source, subject, tuple(classes), tuple(graphs), pairs, asserted)

    def _is_asserted(self, node: Value) -> bool:
        kinds = self._graph.types(node) & {"AssertedTriplesMap", "NonAssertedTriplesMap"}
        if len(kinds) > 1:
            raise self._graph.wrong("is asserted and not asserted at once")
        return kinds != {"NonAssertedTriplesMap"}

    def _subject(
        self, node: Value, written: list[Value], terms: TermMapReader, source: LogicalSource
    ) -> TermMap | QuotedTriples:
        graph = self._graph
        if len(written) == 1 and graph.get(written[0], "quotedTriplesMap") and not graph.get(node, "subject"):
            return self._quoted(written[0], terms, source)
        subjects = terms.read_all(node, "subject", TermType.IRI, extra={"class", "graph", "graphMap"})
        if len(subjects) != 1:
            raise graph.wrong("needs one subject map")
        _expect(graph, subjects, _NODES, "a subject map that makes literals")
        return subjects[0]

    def _graphs(self, node: Value, terms: TermMapReader) -> list[TermMap]:
        graphs = terms.read_all(node, "graph", TermType.IRI)
        _expect(self._graph, graphs, _NODES, "a graph map that makes literals")
        return graphs

    def _pair(self, node: Value, terms: TermMapReader, source: LogicalSource) -> PredicateObjectMap:
        graph = self._graph
        graph.check_properties(node, _IN_PAIR)
        predicates = terms.read_all(node, "predicate", TermType.IRI)
        _expect(graph, predicates, _IRIS, "a predicate map that does not make IRIs")
        objects: list[TermMap | ParentObject | QuotedTriples] = [
            constant(graph, value) for value in graph.get(node, "object")
        ]
        for value in graph.get(node, "objectMap"):
            if graph.get(value, "parentTriplesMap"):
                objects.append(self._parent(value, terms, source))
            elif graph.get(value, "quotedTriplesMap"):
                objects.append(self._quoted(value, terms, source))
            else:
                objects.append(terms.read(value, None))
        if not predicates or not objects:
            raise graph.wrong("has a predicate-object map without a predicate or without an object")
        return PredicateObjectMap(tuple(predicates), tuple(objects), tuple(self._graphs(node, terms)))

    def _parent(self, node: Value, terms: TermMapReader, source: LogicalSource) -> ParentObject:
        self._graph.check_properties(node, _IN_PARENT)
        return ParentObject(*self._reference_to_map(node, "parentTriplesMap", terms, source))

    def _quoted(self, node: Value, terms: TermMapReader, source: LogicalSource) -> QuotedTriples:
        self._graph.check_properties(node, _IN_QUOTED)
        return QuotedTriples(*self._reference_to_map(node, "quotedTriplesMap", terms, source))

    def _reference_to_map(
        self, node: Value, key: str, terms: TermMapReader, source: LogicalSource
    ) -> tuple[str, tuple[JoinCondition, ...], JoinWindow | None, tuple[Target, ...]]:
        """Another triples map, how its records join those of this one, and where the triples go."""
        graph = self._graph
        parent = graph.single(node, key)
        if parent not in self._sources:
            raise graph.wrong(f"refers to {name_of(parent)}, which is no triples map")
        conditions = [
            condition
            for written in graph.get(node, "joinCondition")
            for condition in self._conditions(written, terms, source, self._sources[parent])
        ]
        if not conditions and graph.get(parent, "logicalTable") and self._sources[parent] != source:
            raise graph.refusal(f"{name_of(parent)} of another table without a join condition")
        return name_of(parent), tuple(conditions), read_window(graph, node), terms.targets(node)

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
