"""YARRRML: mappings in YAML become the triples of RML that they stand for, which the reader of RML then reads.

https://rml.io/yarrrml/spec/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

import pyoxigraph as ox

from freshet.rdf.errors import InputError
from freshet.rdf.yaml_positions import read_yaml
from freshet.rml.functions import GREL, IDLAB
from freshet.rml.yarrrml_parts import Part
from freshet.rml.yarrrml_sources import SourceWriter, TargetWriter
from freshet.rml.yarrrml_text import PREFIXES, Ref, call_in, expand, pieces, template
from freshet.rml.yarrrml_triples import Node, Triples

_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_JOIN_INPUTS = {"str1": "child", "str2": "parent"}
_SIDES = {"s": "child", "subject": "child", "o": "parent", "object": "parent"}
_EQUAL = {"str1": f"{GREL}valueParameter", "str2": f"{GREL}valueParameter2"}
_TYPES = {"iri": "IRI", "blank": "BlankNode", "literal": "Literal"}
_IN_VALUE = ("value", "type", "datatype", "language", "function", "parameters", "conditions", "targets")


class Translation(NamedTuple):
    """The triples of a mapping, and in which line the triples map of a name begins."""

    quads: list[ox.Quad]
    lines: dict[str, int]


def translate(text: str, file: str, base: str) -> Translation:
    """The RML of a YARRRML document. What is wrong with it is an error with its line."""
    document = read_yaml(text, file)
    if document.problems:
        raise document.problems[0]
    if not isinstance(document.data, dict):
        raise InputError("there are no mappings in it", file=file)
    return _Translator(Part(document, (), document.data), base).translation()


class _Translator:
    def __init__(self, root: Part, base: str) -> None:
        self._parts = root.keys("prefixes", "base", "mappings", "sources", "targets", "authors", "external")
        self._root = root
        self._base = base
        self._triples = Triples()
        self._prefixes = {**PREFIXES, **self._texts("prefixes")}
        self._external = self._texts("external")
        self._lines: dict[str, int] = {}
        self._sources = SourceWriter(self._triples, self._parts.get("sources"))
        self._targets = TargetWriter(self._triples, self._parts.get("targets"))
        self._maps: dict[str, list[Node]] = {}

    def _texts(self, key: str) -> dict[str, str]:
        return {name: part.text for name, part in self._parts[key].named()} if key in self._parts else {}

    def translation(self) -> Translation:
        if "mappings" not in self._parts:
            raise self._root.error("there are no mappings in it")
        mappings = dict(self._parts["mappings"].named())
        read = {name: self._keys_of(part) for name, part in mappings.items()}
        for name, keys in read.items():
            count = len(self._sources_of(mappings[name], keys)) * len(self._subjects_of(keys))
            names = [name, *(f"{name}-{number}" for number in range(2, count + 1))]
            self._maps[name] = [ox.NamedNode(self._base + quote(each)) for each in names]
            self._lines |= {quote(each): mappings[name].line for each in names}
        for name, keys in read.items():
            self._mapping(mappings[name], keys, iter(self._maps[name]))
        return Translation(self._triples.quads, self._lines)

    def _keys_of(self, part: Part) -> dict[str, Part]:
        return part.keys("subjects", "predicateobjects", "graphs", "conditions", "sources")

    def _sources_of(self, part: Part, keys: dict[str, Part]) -> list[Part]:
        found = keys.get("sources")
        if found is None:
            raise part.document.key_error(part.path, f"the mapping {part.path[-1]} has no sources")
        if not found.is_list or self._sources.is_short(found):
            return [found]
        return [each for every in found.items() for each in self._named_in(every)]

    def _named_in(self, part: Part) -> list[Part]:
        """A source, or several that a list names."""
        return part.items() if part.is_list and not self._sources.is_short(part) else [part]

    def _subjects_of(self, keys: dict[str, Part]) -> list[Part | None]:
        found = keys.get("subjects")
        return [None] if found is None or found.data is None else list(found.each())

    def _mapping(self, part: Part, keys: dict[str, Part], nodes: Iterator[Node]) -> None:
        for source in self._sources_of(part, keys):
            for subject in self._subjects_of(keys):
                self._triples_map(next(nodes), source, subject, keys)

    def _triples_map(self, node: Node, source: Part, subject: Part | None, keys: dict[str, Part]) -> None:
        triples = self._triples
        triples.add(node, "logicalSource", self._sources.node(source))
        made = triples.new()
        triples.add(node, "subjectMap", made)
        if subject is None:
            triples.add(made, "termType", "BlankNode")
        else:
            self._value(made, subject, "iri", role="subject")
        if "conditions" in keys:
            self._condition(made, keys["conditions"])
        self._graphs(made, keys)
        if "predicateobjects" in keys:
            for each in keys["predicateobjects"].each():
                self._pair(node, each)

    def _graphs(self, node: Node, keys: dict[str, Part]) -> None:
        for each in keys["graphs"].each() if "graphs" in keys else []:
            made = self._triples.new()
            self._triples.add(node, "graphMap", made)
            self._value(made, each, "iri", role="graph")

    def _pair(self, node: Node, part: Part) -> None:
        """Predicates and objects, as a map or as a list of two or three."""
        extra: Part | None = None
        language: Part | None = None
        if part.is_list:
            if len(part.data) not in (2, 3):
                raise part.error("predicates and objects are wanted here, and perhaps a datatype or a language")
            predicates, objects, *rest = part.items()
            extra = rest[0] if rest else None
            keys: dict[str, Part] = {}
        else:
            keys = part.keys("predicates", "objects", "graphs", "conditions", "datatype", "language")
            if "predicates" not in keys or "objects" not in keys:
                raise part.error("predicates and objects are wanted here")
            predicates, objects = keys["predicates"], keys["objects"]
            extra, language = keys.get("datatype"), keys.get("language")
        made = self._triples.new()
        self._triples.add(node, "predicateObjectMap", made)
        types = [self._predicate(made, each, keys.get("conditions")) for each in predicates.each()]
        for each in objects.each():
            self._object(made, each, all(types), extra, language)
        self._graphs(made, keys)

    def _predicate(self, pair: Node, part: Part, condition: Part | None) -> bool:
        """A predicate; gives whether it is rdf:type."""
        made = self._triples.new()
        self._triples.add(pair, "predicateMap", made)
        is_type = not part.is_map and (part.text == "a" or expand(part.text, self._prefixes) == _RDF_TYPE)
        if is_type:
            self._triples.add(made, "constant", ox.NamedNode(_RDF_TYPE))
        else:
            self._value(made, part, "iri", role="predicate")
        if condition is not None:
            self._condition(made, condition)
        return is_type

    def _object(self, pair: Node, part: Part, is_class: bool, extra: Part | None, language: Part | None) -> None:
        usual = "iri" if is_class else "literal"
        if part.is_map and "mapping" in part.data:
            self._parents(pair, part)
            return
        made = self._triples.new()
        self._triples.add(pair, "objectMap", made)
        own_extra = None
        value = part
        if part.is_list:
            if len(part.data) not in (1, 2):
                raise part.error("a value is wanted here, and perhaps a datatype or a language")
            value, *rest = part.items()
            own_extra = rest[0] if rest else None
        typed = self._value(made, value, usual, role="object")
        if not typed and (own_extra or extra) is not None:
            self._datatype_or_language(made, own_extra or extra)  # type: ignore[arg-type]
        if not typed and language is not None:
            self._language(made, language, language.text)

    def _parents(self, pair: Node, part: Part) -> None:
        """Objects that are the subjects of other mappings."""
        keys = part.keys("mapping", "conditions")
        for named in keys["mapping"].each():
            if named.text not in self._maps:
                raise named.error(f"there is no mapping {named.text}")
            for parent in self._maps[named.text]:
                made = self._triples.new()
                self._triples.add(pair, "objectMap", made)
                self._triples.add(made, "parentTriplesMap", parent)
                for condition in keys["conditions"].each() if "conditions" in keys else []:
                    self._join_condition(made, condition)

    def _join_condition(self, node: Node, part: Part) -> None:
        keys = part.keys("function", "parameters")
        function = keys["function"].text if "function" in keys else ""
        if expand(function, self._prefixes) not in (
            "equal",
            f"{IDLAB}equal",
            "http://example.com/idlab/function/equal",
        ):
            raise part.error(f"mappings are joined by the function equal, and not by {function or 'nothing'}")
        made = self._triples.new()
        self._triples.add(node, "joinCondition", made)
        for given in keys["parameters"].each() if "parameters" in keys else []:
            name, value, side = self._input_of(given)
            role = _SIDES.get(side.text) if side is not None else _JOIN_INPUTS.get(name.text)
            if role is None:
                raise given.error("a side of the join is wanted here: str1 or str2")
            inner = self._triples.new()
            self._triples.add(made, f"{role}Map", inner)
            self._value(inner, value, "literal", role=f"{role} of a join")

    def _input_of(self, part: Part) -> tuple[Part, Part, Part | None]:
        """The name, the value and the side of a parameter."""
        if part.is_list:
            if len(part.data) not in (2, 3):
                raise part.error("a parameter and its value are wanted here")
            name, value, *rest = part.items()
            return name, value, rest[0] if rest else None
        keys = part.keys("parameter", "value", "type", "from")
        if "parameter" not in keys or "value" not in keys:
            raise part.error("a parameter and its value are wanted here")
        return keys["parameter"], keys["value"], keys.get("from")

    def _condition(self, node: Node, part: Part) -> None:
        conditions = part.each()
        if len(conditions) != 1:
            raise part.error("one condition is wanted here")
        made = self._triples.new()
        self._triples.add(node, "condition", made)
        self._function(made, conditions[0].keys("function", "parameters"), conditions[0])

    def _value(self, node: Node, part: Part, usual: str, *, role: str) -> bool:
        """What a term map makes its terms of. Gives whether datatype or language are settled by it."""
        if not part.is_map:
            if part.is_list:
                raise part.error(f"one {role} is wanted here")
            text = part.text
            kind = "iri" if text.endswith("~iri") else usual
            self._text(node, part, text.removesuffix("~iri"), kind)
            return kind != "literal"
        keys = part.keys(*_IN_VALUE)
        kind = keys["type"].text.lower() if "type" in keys else usual
        if kind not in _TYPES:
            raise keys["type"].error(f"there is no type {kind}: there are {', '.join(_TYPES)}")
        if "function" in keys:
            self._function(node, keys, part)
            self._triples.add(node, "termType", _TYPES[kind])
        elif "value" in keys:
            text = keys["value"].text
            kind = "iri" if text.endswith("~iri") and "type" not in keys else kind
            self._text(node, keys["value"], text.removesuffix("~iri"), kind)
        elif kind == "blank":
            self._triples.add(node, "termType", "BlankNode")
        else:
            raise part.error(f"the {role} has neither a value nor a function")
        if "conditions" in keys:
            self._condition(node, keys["conditions"])
        if "datatype" in keys:
            self._datatype(node, keys["datatype"])
        if "language" in keys:
            self._language(node, keys["language"], keys["language"].text)
        for target in self._targets.parts(keys.get("targets")):
            self._triples.add(node, "logicalTarget", self._targets.node(target))
        return kind != "literal" or "datatype" in keys or "language" in keys

    def _text(self, node: Node, part: Part, text: str, kind: str) -> None:
        """A text with its references."""
        found = self._pieces(part, text, kind)
        match found:
            case [Ref(reference)]:
                self._triples.add(node, "reference", ox.Literal(reference))
            case [] | [str()]:
                constant = found[0] if found else ""
                assert isinstance(constant, str)
                self._constant(node, part, constant, kind)
                return
            case _:
                self._triples.add(node, "template", ox.Literal(template(found)))
        self._triples.add(node, "termType", _TYPES[kind])

    def _constant(self, node: Node, part: Part, text: str, kind: str) -> None:
        if kind == "blank":
            self._triples.add(node, "constant", ox.BlankNode(text) if text.isalnum() else self._triples.new())
        elif kind == "literal":
            self._triples.add(node, "constant", ox.Literal(text))
        else:
            self._triples.add(node, "constant", self._iri(part, text))

    def _iri(self, part: Part, text: str) -> Node:
        try:
            return ox.NamedNode(expand(text, self._prefixes))
        except ValueError:
            raise part.error(f"{text} is no IRI, and has no prefix that is declared") from None

    def _pieces(self, part: Part, text: str, kind: str) -> list[str | Ref]:
        """Texts and references, with what is known from outside in place."""
        found: list[str | Ref] = []
        for each in pieces(expand(text, self._prefixes) if kind != "literal" else text):
            if isinstance(each, Ref) and each.text.startswith("_"):
                if each.text[1:] not in self._external:
                    raise part.error(f"there is no external value {each.text[1:]}")
                each = self._external[each.text[1:]]
            if isinstance(each, str) and found and isinstance(found[-1], str):
                found[-1] += each
            else:
                found.append(each)
        return found

    def _datatype_or_language(self, node: Node, part: Part) -> None:
        if part.text.endswith("~lang"):
            self._language(node, part, part.text.removesuffix("~lang"))
        else:
            self._datatype(node, part)

    def _datatype(self, node: Node, part: Part) -> None:
        found = self._pieces(part, part.text, "iri")
        if any(isinstance(each, Ref) for each in found):
            made = self._triples.new()
            self._triples.add(node, "datatypeMap", made)
            self._text(made, part, part.text, "iri")
        else:
            self._triples.add(node, "datatype", self._iri(part, part.text))

    def _language(self, node: Node, part: Part, text: str) -> None:
        if any(isinstance(each, Ref) for each in pieces(text)):
            made = self._triples.new()
            self._triples.add(node, "languageMap", made)
            self._text(made, part, text, "literal")
        else:
            self._triples.add(node, "language", ox.Literal(text))

    def _function(self, node: Node, keys: dict[str, Part], part: Part) -> None:
        """A call of a function with its parameters."""
        if "function" not in keys:
            raise part.error("a function is wanted here")
        named = keys["function"]
        try:
            line = call_in(named.text)
        except ValueError as error:
            raise named.error(str(error)) from None
        execution = self._triples.new()
        self._triples.add(node, "functionExecution", execution)
        name = named.text if line is None else line.function
        equal = name == "equal"
        self._triples.add(execution, "function", self._iri(named, f"{IDLAB}equal" if equal else name))
        for parameter, text in line.inputs if line is not None else ():
            self._text(self._input(execution, named, parameter), named, text, "literal")
        for given in keys["parameters"].each() if "parameters" in keys else []:
            parameter_part, value, _ = self._input_of(given)
            parameter = parameter_part.text
            parameter = _EQUAL.get(parameter, parameter) if equal else parameter
            self._value(self._input(execution, parameter_part, parameter), value, "literal", role="value")

    def _input(self, execution: Node, part: Part, parameter: str) -> Node:
        """The term map of an input."""
        given, value = self._triples.new(), self._triples.new()
        self._triples.add(execution, "input", given)
        self._triples.add(given, "parameter", self._iri(part, parameter))
        self._triples.add(given, "inputValueMap", value)
        return value
