"""A mapping file as a graph of properties, and the errors that name what of it cannot be mapped."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pyoxigraph as ox

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import BlankNode, Iri, Literal, Term
from freshet.rml.vocabulary import short

Value = ox.NamedNode | ox.BlankNode | ox.Literal
Properties = dict[Value, dict[str, list[Value]]]

YARRRML_SUFFIXES = (".yml", ".yaml", ".yarrrml")
_BASE = "http://example.org/"
_NIL = "http://www.w3.org/1999/02/22-rdf-syntax-ns#nil"


class MappingGraph:
    """The nodes of a mapping file with their properties: by short name in `get`, by full IRI in `full`.

    `base` is what the file says with @base. `triples_map` is the one that is being read; errors name it.
    A mapping that is `sent` as text is a stranger's: nothing of this machine is looked at for it.
    """

    def __init__(self, path: Path, sent: str | None = None) -> None:
        self.path = path
        self.sent = sent
        self.file = str(path)
        self.triples_map = ""
        self.base: str | None = None
        self._lines: dict[str, int] = {}  # where triples maps begin, of YARRRML
        self.full: Properties = defaultdict(lambda: defaultdict(list))
        self._short: Properties = defaultdict(lambda: defaultdict(list))
        for quad in self._parse():
            if not isinstance(quad.subject, ox.Triple) and not isinstance(quad.object, ox.Triple):
                self.full[quad.subject][quad.predicate.value].append(quad.object)
                self._short[quad.subject][short(quad.predicate.value)].append(quad.object)

    def _parse(self) -> list[ox.Quad]:
        if self.sent is None and self.path.suffix.lower() in YARRRML_SUFFIXES:
            return self._parse_yarrrml()
        try:
            turtle = ox.RdfFormat.TURTLE
            if self.sent is None:
                parser = ox.parse(path=self.file, format=turtle, base_iri=_BASE)
            else:
                parser = ox.parse(self.sent, format=turtle, base_iri=_BASE)
            quads = list(parser)
        except SyntaxError as error:
            raise InputError(error.msg, file=self.file, line=error.lineno, column=error.offset) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", file=self.file) from None
        self.base = None if parser.base_iri == _BASE else parser.base_iri
        return quads

    def _parse_yarrrml(self) -> list[ox.Quad]:
        from freshet.rml.yarrrml import translate  # brings a reader of YAML along

        try:
            text = self.path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", file=self.file) from None
        except UnicodeDecodeError:
            raise InputError("is not UTF-8", file=self.file) from None
        translation = translate(text, self.file, _BASE)
        self._lines = translation.lines
        return translation.quads

    def nodes_with(self, *keys: str) -> list[Value]:
        """The nodes with one of these properties, in the order of the file."""
        return [node for node, properties in self._short.items() if any(properties.get(key) for key in keys)]

    def get(self, node: Value, *keys: str) -> list[Value]:
        """The values of a node's properties."""
        found = self._short.get(node, {})
        return [value for key in keys for value in found.get(key, ())]

    def single(self, node: Value, key: str) -> Value:
        values = self.get(node, key)
        if len(values) != 1:
            raise self.wrong(f"has {len(values)} values of {key} where one is wanted")
        return values[0]

    def optional(self, node: Value, *keys: str) -> Value | None:
        values = self.get(node, *keys)
        if len(values) > 1:
            raise self.wrong(f"has {len(values)} values of {keys[0]} where one is wanted")
        return values[0] if values else None

    def text(self, node: Value, *keys: str) -> str | None:
        found = self.optional(node, *keys)
        return None if found is None else found.value

    def list_at(self, node: Value) -> list[Value]:
        """The members of an RDF list."""
        found: list[Value] = []
        while node.value != _NIL and len(found) <= len(self._short):
            found.append(self.single(node, "rdf:first"))
            node = self.single(node, "rdf:rest")
        return found

    def number_of(self, node: Value) -> int:
        """The place of a node in the file, which no other has."""
        return list(self._short).index(node)

    def types(self, node: Value) -> set[str]:
        return {short(value.value) for value in self.get(node, "rdf:type")}

    def check_properties(self, node: Value, known: set[str], also: str = "rmls:") -> None:
        """Refuse a node with other properties of RML, or with this prefix, than these. Labels and other remarks are
        skipped."""
        for key, values in self._short.get(node, {}).items():
            ours = ":" not in key or key.startswith(("rmls:", "fnml:", "http://semweb.mmlab.be/", also))
            if values and ours and key not in known:
                raise self.refusal(key)

    def refusal(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"the triples map {self.triples_map} uses {what}, which is not supported yet",
            file=self.file,
            line=self._lines.get(self.triples_map),
        )

    def wrong(self, what: str) -> InputError:
        line = self._lines.get(self.triples_map)
        return InputError(f"the triples map {self.triples_map} {what}", file=self.file, line=line)


def name_of(node: Value) -> str:
    """A node as people read it."""
    return node.value.removeprefix(_BASE) if isinstance(node, ox.NamedNode) else f"_:{node.value}"


def term_of(value: Value) -> Term:
    if isinstance(value, ox.NamedNode):
        return Iri(value.value)
    if isinstance(value, ox.BlankNode):
        return BlankNode(value.value)
    direction = None if value.direction is None else value.direction.value
    return Literal(value.value, Iri(value.datatype.value), value.language, direction)
