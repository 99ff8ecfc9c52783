"""Reads RML mappings in Turtle, in the vocabulary of semweb.mmlab.be (with R2RML) and in that of w3id.org/rml."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pyoxigraph as ox

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import RDF_TYPE, BlankNode, Iri, Literal, Term
from freshet.rml.model import Formulation, Mapping, Reference, TermMap, TermType, TriplesMap

_BASE = "http://example.org/"
NEW = "http://w3id.org/rml/"
_OLD = ("http://www.w3.org/ns/r2rml#", "http://semweb.mmlab.be/ns/rml#", "http://semweb.mmlab.be/ns/ql#")

Value = ox.NamedNode | ox.BlankNode | ox.Literal

_IN_TRIPLES_MAP = {"logicalSource", "subjectMap", "subject", "predicateObjectMap"}
_IN_PAIR = {"predicateMap", "predicate", "objectMap", "object"}
_IN_TERM_MAP = {
    "constant", "reference", "template", "termType", "datatype", "language", "class", "datatypeMap", "languageMap",
}  # fmt: skip
_IN_SOURCE = {"source", "referenceFormulation", "iterator"}
_TEMPLATE = re.compile(r"\{((?:[^{}\\]|\\.)*)\}|((?:[^{}\\]|\\.)+)")
_JSON_PATH = re.compile(r"""\.?([^.\[\]'"$*@()]+)|\[(?:'([^']*)'|"([^"]*)")\]""")


def read_mapping(path: str | Path) -> Mapping:
    """The triples maps of a mapping file. What Freshet cannot map is an error that names triples map and property."""
    return _Reader(str(path), _parse(Path(path))).mapping()


def _parse(path: Path) -> list[ox.Quad]:
    try:
        return list(ox.parse(path=str(path), format=ox.RdfFormat.TURTLE, base_iri=_BASE))
    except SyntaxError as error:
        raise InputError(error.msg, file=str(path), line=error.lineno, column=error.offset) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(path)) from None


def _short(iri: str) -> str:
    """A property without its namespace, where the namespace is one of RML's."""
    for namespace in (NEW, *_OLD):
        if iri.startswith(namespace):
            return iri.removeprefix(namespace)
    return iri


class _Reader:
    """One mapping file as a graph of properties by short name."""

    def __init__(self, file: str, quads: list[ox.Quad]) -> None:
        self._file = file
        self._graph: dict[Value, dict[str, list[Value]]] = defaultdict(lambda: defaultdict(list))
        for quad in quads:
            if not isinstance(quad.subject, ox.Triple) and not isinstance(quad.object, ox.Triple):
                self._graph[quad.subject][_short(quad.predicate.value)].append(quad.object)
        self._map = ""  # the triples map that is being read, for errors

    def mapping(self) -> Mapping:
        maps = [node for node, properties in self._graph.items() if properties.keys() & {"logicalSource", "subjectMap"}]
        if not maps:
            raise InputError("there is no triples map in it", file=self._file)
        return Mapping(tuple(self._triples_map(node) for node in maps), self._file)

    def _triples_map(self, node: Value) -> TriplesMap:
        self._map = _name(node)
        self._only(node, _IN_TRIPLES_MAP)
        formulation = self._formulation(node)
        subjects = self._term_maps(node, "subject", formulation, TermType.IRI)
        if len(subjects) != 1:
            raise self._wrong("needs one subject map")
        if subjects[0].type is TermType.LITERAL:
            raise self._wrong("has a subject map that makes literals")
        pairs = [(_constant(RDF_TYPE), _constant(found)) for found in self._classes(node)]
        for pair in self._graph[node]["predicateObjectMap"]:
            self._only(pair, _IN_PAIR)
            predicates = self._term_maps(pair, "predicate", formulation, TermType.IRI)
            objects = self._term_maps(pair, "object", formulation, None)
            if not predicates or not objects:
                raise self._wrong("has a predicate-object map without a predicate or without an object")
            if any(predicate.type is not TermType.IRI for predicate in predicates):
                raise self._wrong("has a predicate map that does not make IRIs")
            pairs += [(predicate, made) for predicate in predicates for made in objects]
        return TriplesMap(self._map, formulation, subjects[0], tuple(pairs))

    def _classes(self, node: Value) -> list[Iri]:
        return [
            Iri(found.value)
            for subject in self._graph[node]["subjectMap"]
            for found in self._graph[subject]["class"]
            if isinstance(found, ox.NamedNode)
        ]

    def _formulation(self, node: Value) -> Formulation:
        sources = self._graph[node]["logicalSource"]
        if len(sources) != 1:
            raise self._wrong("needs one logical source")
        self._only(sources[0], _IN_SOURCE)
        source = self._graph[sources[0]]
        found = [_short(value.value) for value in source["referenceFormulation"]]
        if found not in (["JSONPath"], ["CSV"]):
            raise self._refused(f"the reference formulation {' '.join(found) or 'none'}")
        iterators = [value.value for value in source["iterator"]]
        if any(iterator not in ("$", "") for iterator in iterators):
            raise self._refused(f"the iterator {iterators[0]}")
        return Formulation(found[0])

    def _term_maps(self, node: Value, role: str, formulation: Formulation, default: TermType | None) -> list[TermMap]:
        """The term maps in a role, given in full (`roleMap`) or as constants (`role`)."""
        constants = [_constant(_term(value)) for value in self._graph[node][role]]
        return constants + [self._term_map(value, formulation, default) for value in self._graph[node][f"{role}Map"]]

    def _term_map(self, node: Value, formulation: Formulation, default: TermType | None) -> TermMap:
        self._only(node, _IN_TERM_MAP)
        ways = [way for way in ("constant", "reference", "template") if self._graph[node][way]]
        if len(ways) != 1:
            raise self._wrong("has a term map without one of constant, reference and template, or with several")
        value = self._single(node, ways[0])
        if ways[0] == "constant":
            return _constant(_term(value))
        datatype = self._constant_of(node, "datatype")
        language = self._constant_of(node, "language")
        named = self._graph[node]["termType"]
        kind = None
        if named:
            written = _short(self._single(node, "termType").value)
            if written not in set(TermType):
                raise self._refused(f"the term type {written}")
            kind = TermType(written)
        if kind is None:
            literal = ways[0] == "reference" or datatype is not None or language is not None
            kind = default or (TermType.LITERAL if literal else TermType.IRI)
        if ways[0] == "reference":
            parts: tuple[str | Reference, ...] = (self._reference(value.value, formulation),)
        else:
            parts = self._template(value.value, formulation)
        return TermMap(
            kind,
            parts=parts,
            encoded=ways[0] == "template" and kind is TermType.IRI,
            datatype=Iri(datatype) if datatype else None,
            language=language.lower() if language else None,
        )

    def _constant_of(self, node: Value, role: str) -> str | None:
        """A datatype or language: given plainly, or as a map of a constant."""
        for inner in self._graph[node][f"{role}Map"]:
            if not self._graph[inner]["constant"]:
                raise self._refused(f"{role}Map without a constant")
            return self._single(inner, "constant").value
        return self._single(node, role).value if self._graph[node][role] else None

    def _template(self, text: str, formulation: Formulation) -> tuple[str | Reference, ...]:
        parts: list[str | Reference] = []
        end = 0
        for match in _TEMPLATE.finditer(text):
            if match.start() != end:
                break
            end = match.end()
            reference, plain = match.groups()
            if plain is not None:
                parts.append(_unescaped(plain))
            else:
                parts.append(self._reference(_unescaped(reference), formulation))
        if end != len(text):
            raise self._wrong(f"has a template with a brace that is not closed: {text}")
        return tuple(parts)

    def _reference(self, text: str, formulation: Formulation) -> Reference:
        try:
            return reference(text, formulation)
        except UnsupportedError:
            raise self._refused(f"the reference {text}") from None

    def _single(self, node: Value, key: str) -> Value:
        values = self._graph[node][key]
        if len(values) != 1:
            raise self._wrong(f"has {len(values)} values of {key} where one is wanted")
        return values[0]

    def _only(self, node: Value, known: set[str]) -> None:
        for key in self._graph[node]:
            foreign = ":" in key and not key.startswith("http://semweb.mmlab.be/")  # labels and other remarks
            if key not in known and self._graph[node][key] and not foreign:
                raise self._refused(key)

    def _refused(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"the triples map {self._map} uses {what}, which is not supported yet", file=self._file)

    def _wrong(self, what: str) -> InputError:
        return InputError(f"the triples map {self._map} {what}", file=self._file)


def reference(text: str, formulation: Formulation) -> Reference:
    """A reference as it is written: a CSV column, or a JSONPath of names (`$.a.b`, `a.b`, `$['a b']`)."""
    if formulation is Formulation.CSV:
        return Reference((text,))
    path = text.removeprefix("$")
    steps, end = [], 0
    for match in _JSON_PATH.finditer(path):
        if match.start() != end:
            break
        end = match.end()
        steps.append(next(group for group in match.groups() if group is not None))
    if end != len(path) or not steps:
        raise UnsupportedError(f"the reference {text} is not supported yet")
    return Reference(tuple(steps))


def _name(node: Value) -> str:
    return node.value.removeprefix(_BASE) if isinstance(node, ox.NamedNode) else f"_:{node.value}"


def _constant(term: Term) -> TermMap:
    kind = {Iri: TermType.IRI, BlankNode: TermType.BLANK_NODE, Literal: TermType.LITERAL}[type(term)]
    return TermMap(kind, constant=term)


def _term(value: Value) -> Term:
    if isinstance(value, ox.NamedNode):
        return Iri(value.value)
    if isinstance(value, ox.BlankNode):
        return BlankNode(value.value)
    return Literal(value.value, Iri(value.datatype.value), value.language)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
