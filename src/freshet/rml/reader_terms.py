"""Term maps as mappings describe them: constants, references, templates and function calls, with their types."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pyoxigraph as ox

from freshet.rdf.errors import InputError
from freshet.rdf.terms import XSD_STRING, BlankNode, Iri, Literal, Term
from freshet.rml.functions import LOOKUPS, Function, Functions
from freshet.rml.mapping_graph import MappingGraph, Value, term_of
from freshet.rml.model import (
    Call,
    CollectionKind,
    EachRecord,
    Expression,
    Gather,
    ParentObject,
    Reference,
    Target,
    Template,
    TermMap,
    TermType,
)
from freshet.rml.reader_sources import file_path
from freshet.rml.reader_targets import read_target
from freshet.rml.reference_checks import check_reference
from freshet.rml.references import reference
from freshet.rml.sources import LogicalSource
from freshet.rml.vocabulary import NEW, RR, short

DEFAULT_GRAPHS = (Iri(NEW + "defaultGraph"), Iri(RR + "defaultGraph"))

_IN_TERM_MAP = {
    "constant", "reference", "template", "termType", "datatype", "language", "datatypeMap", "languageMap",
    "logicalTarget", "functionExecution", "return", "returnMap", "condition", "fnml:functionValue", "column",
    "inverseExpression",
}  # fmt: skip
_IN_GATHER = {"gather", "gatherAs", "allowEmptyListAndContainer", "strategy"}
WAYS = ("constant", "reference", "column", "template", "functionExecution", "fnml:functionValue")
_IN_EXECUTION = {"function", "functionMap", "input"}
_IN_INPUT = {"parameter", "parameterMap", "inputValue", "inputValueMap"}
_IN_CONDITION = {"functionExecution", "return", "returnMap", "fnml:functionValue"}
_TEMPLATE = re.compile(r"\{((?:[^{}\\]|\\.)+)\}|((?:[^{}\\]|\\.)+)")
# BCP 47, well formed: a language of two or three letters with subtags, or a private or old registration.
LANGUAGE_TAG = r"([A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*|[xXiI](-[A-Za-z0-9]{1,8})+)"
_IRI_TYPES = (TermType.IRI, TermType.URI, TermType.UNSAFE_IRI, TermType.UNSAFE_URI)
_IRI_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]*")
_TYPE_OF = {Iri: TermType.IRI, BlankNode: TermType.BLANK_NODE, Literal: TermType.LITERAL}
_EXECUTES = ("https://w3id.org/function/ontology#executes", "http://w3id.org/function/ontology#executes")


class TermMapReader:
    """Reads the term maps of one triples map.

    The types that values of JSON have by nature become those of literals where it is `natural`: so says the vocabulary
    of w3id.org/rml, whereas in that of semweb.mmlab.be they are plain.
    """

    def __init__(
        self,
        graph: MappingGraph,
        source: LogicalSource,
        base: str | None,
        functions: Functions,
        *,
        natural: bool = True,
        read_parent: Callable[[Value], ParentObject] | None = None,
    ) -> None:
        self._natural = natural
        self._read_parent = read_parent
        self._graph = graph
        self._source = source
        self._base = base
        self._functions = functions

    def of(self, source: LogicalSource) -> TermMapReader:
        """The same for references to records of another source."""
        return TermMapReader(self._graph, source, self._base, self._functions, natural=self._natural)

    def read_all(self, node: Value, role: str, default: TermType, extra: set[str] = frozenset()) -> list[TermMap]:  # type: ignore[assignment]
        """The term maps in a role, given in full (`roleMap`) or as constants (`role`)."""
        for value in self._graph.get(node, role):
            if isinstance(value, ox.BlankNode) and value in self._graph.full:
                raise self._graph.wrong(f"describes a term map in {role}, which takes a constant: that is {role}Map")
        constants = [constant(self._graph, value) for value in self._graph.get(node, role)]
        return constants + [self.read(value, default, extra) for value in self._graph.get(node, f"{role}Map")]

    def read(self, node: Value, default: TermType | None, extra: set[str] = frozenset()) -> TermMap:  # type: ignore[assignment]
        """A term map. Without a default, what it makes depends on how it is written, as of object maps."""
        graph = self._graph
        graph.check_properties(node, _IN_TERM_MAP | _IN_GATHER | extra)
        if graph.get(node, "gather"):
            return self._gathering(node)
        expression = self.expression(node)
        datatype, language = self._datatype(node), self._language(node)
        if datatype is not None and language is not None:
            raise graph.wrong("has a term map with both a datatype and a language")
        literal = not isinstance(expression, Template) or datatype is not None or language is not None
        kind = self._term_type(node)
        if isinstance(expression, Iri | BlankNode | Literal):
            return self._checked_constant(node, expression, kind, datatype, language)
        if kind is None:
            kind = default or (TermType.LITERAL if literal else TermType.IRI)
        if (datatype is not None or language is not None) and kind is not TermType.LITERAL:
            raise graph.wrong("has a term map with a datatype or a language that does not make literals")
        if isinstance(expression, EachRecord) and kind is not TermType.BLANK_NODE:
            raise graph.wrong("has a term map without one of constant, reference and template")
        based = kind not in (TermType.LITERAL, TermType.BLANK_NODE)
        if not self._natural and isinstance(expression, Reference) and kind is TermType.LITERAL and language is None:
            datatype = datatype or XSD_STRING
        return TermMap(
            kind,
            expression,
            datatype=datatype,
            language=language,
            targets=self.targets(node),
            condition=self._condition(node),
            base=self._base if based else None,
        )

    def _gathering(self, node: Value) -> TermMap:
        """A term map that gathers members (RML-CC). Without an expression there is a collection a record."""
        graph = self._graph
        kind = short(graph.single(node, "gatherAs").value).removeprefix("rdf:")
        if kind not in set(CollectionKind):
            raise graph.wrong(f"gathers as {kind}, which is neither a list nor a container")
        strategy = short(graph.text(node, "strategy") or "append").lower()
        if strategy not in ("append", "cartesianproduct"):
            raise graph.refusal(f"the strategy {strategy} of a gather map")
        members = tuple(self._member(each) for each in graph.list_at(graph.single(node, "gather")))
        allowed = graph.text(node, "allowEmptyListAndContainer") in ("true", "1")
        product = strategy == "cartesianproduct"
        gather = Gather(graph.number_of(node), CollectionKind(kind), members, allowed, product)
        expression: Expression = EachRecord()
        if any(graph.get(node, way) for way in WAYS):
            expression = self.expression(node)
        term_type = TermType.BLANK_NODE if isinstance(expression, EachRecord) else self._term_type(node) or TermType.IRI
        if term_type is TermType.LITERAL or isinstance(expression, Literal):
            raise graph.wrong("gathers members in a literal")
        base = None if term_type is TermType.BLANK_NODE else self._base
        condition = self._condition(node)
        return TermMap(term_type, expression, targets=self.targets(node), condition=condition, base=base, gather=gather)

    def _member(self, node: Value) -> TermMap | ParentObject:
        if self._graph.get(node, "parentTriplesMap") and self._read_parent is not None:
            return self._read_parent(node)
        return self.read(node, None)

    def targets(self, node: Value) -> tuple[Target, ...]:
        """The targets of a term map, and of its language and datatype maps."""
        inner = self._graph.get(node, "languageMap", "datatypeMap")
        found = [target for each in (node, *inner) for target in self._graph.get(each, "logicalTarget")]
        return tuple(dict.fromkeys(read_target(self._graph, target) for target in found))

    def reference(self, text: str, role: str) -> Reference:
        """A reference that stands in a property of this name."""
        try:
            check_reference(text, self._source)
        except InputError as error:
            raise self._graph.wrong(f"has a {role} that cannot be followed: {error.message}") from None
        return reference(text, self._source.formulation)

    def _term_type(self, node: Value) -> TermType | None:
        found = self._graph.optional(node, "termType")
        if found is None:
            return None
        if short(found.value) not in set(TermType) - {TermType.TRIPLE}:
            raise self._graph.refusal(f"the term type {short(found.value)}")
        return TermType(short(found.value))

    def _checked_constant(
        self, node: Value, term: Term, kind: TermType | None, datatype: Iri | TermMap | None, language: object
    ) -> TermMap:
        if kind in _IRI_TYPES and isinstance(term, Literal) and _IRI_TEXT.fullmatch(term.lexical):
            term = Iri(term.lexical)  # written as a text, as many mappings do
        own = _TYPE_OF[type(term)]
        said = TermType.IRI if kind in _IRI_TYPES else kind
        if said is not None and said is not own:
            raise self._graph.wrong(f"has the constant {term}, which is no {said.value}")
        if isinstance(term, Literal) and isinstance(datatype, Iri):
            term = Literal(term.lexical, datatype)
        if isinstance(term, Literal) and isinstance(language, str):
            term = Literal(term.lexical, language=language.lower())
        return TermMap(own, term, targets=self.targets(node), condition=self._condition(node))

    def expression(self, node: Value) -> Expression:
        """What a term map or a field makes its value of."""
        graph = self._graph
        ways = [way for way in WAYS if graph.get(node, way)]
        if len(ways) > 1:
            raise graph.wrong(f"has a term map with both {ways[0]} and {ways[1]}")
        if not ways:
            if graph.get(node, "termType"):
                return EachRecord()
            raise graph.wrong("has a term map without one of constant, reference and template")
        if ways[0] in ("functionExecution", "fnml:functionValue"):
            return self._call(node)
        value = graph.single(node, ways[0])
        if ways[0] == "constant":
            return term_of(value)
        if not isinstance(value, ox.Literal):
            raise graph.wrong(f"has a {ways[0]} that is no text")
        if ways[0] in ("reference", "column"):
            return self.reference(value.value, ways[0])
        return self.template(value.value)

    def template(self, text: str) -> Template:
        parts: list[str | Reference] = []
        end = 0
        for match in _TEMPLATE.finditer(text):
            if match.start() != end:
                break
            end = match.end()
            written, plain = match.groups()
            if plain is not None:
                parts.append(_unescaped(plain))
            else:
                parts.append(self.reference(_unescaped(written), "template"))
        if end != len(text):
            raise self._graph.wrong(f"has a template with a brace that is not closed: {text}")
        return Template(tuple(parts))

    def _datatype(self, node: Value) -> Iri | TermMap | None:
        found = self._graph.optional(node, "datatype")
        if found is not None:
            if not isinstance(found, ox.NamedNode):
                raise self._graph.wrong(f"has the datatype {found.value}, which is no IRI")
            return Iri(found.value)
        inner = self._graph.optional(node, "datatypeMap")
        if inner is None:
            return None
        read = self.read(inner, TermType.IRI)
        if read.type is not TermType.IRI:
            raise self._graph.wrong("has a datatype map that does not make IRIs")
        return read.expression if isinstance(read.expression, Iri) else read

    def _language(self, node: Value) -> str | TermMap | None:
        found = self._graph.text(node, "language")
        inner = self._graph.optional(node, "languageMap")
        if inner is not None:
            read = self.read(inner, TermType.LITERAL)
            if not isinstance(read.expression, Literal):
                return read
            found = read.expression.lexical
        if found is not None and re.fullmatch(LANGUAGE_TAG, found) is None:
            raise self._graph.wrong(f"has {found} as language, which is no language tag")
        return found

    def _condition(self, node: Value) -> Call | None:
        found = self._graph.optional(node, "condition")
        if found is None:
            return None
        self._graph.check_properties(found, _IN_CONDITION)
        return self._call(found)

    def _call(self, node: Value) -> Call:
        """A function call: `rml:functionExecution`, or `fnml:functionValue` of the old vocabulary."""
        execution = self._graph.optional(node, "functionExecution")
        if execution is None:
            return self._old_call(self._graph.single(node, "fnml:functionValue"))
        self._graph.check_properties(execution, _IN_EXECUTION)
        inputs = []
        for given in self._graph.get(execution, "input"):
            self._graph.check_properties(given, _IN_INPUT)
            inputs.append((self._iri(given, "parameter"), self._input(given)))
        output = self._iri(node, "return") if self._graph.get(node, "return", "returnMap") else None
        return self._checked_call(self._iri(execution, "function"), inputs, output)

    def _input(self, node: Value) -> TermMap:
        values = [constant(self._graph, value) for value in self._graph.get(node, "inputValue")]
        values += [self.read(value, TermType.LITERAL) for value in self._graph.get(node, "inputValueMap")]
        if len(values) != 1:
            raise self._graph.wrong("has a function input without one value")
        return values[0]

    def _iri(self, node: Value, role: str) -> Iri:
        """A function, parameter or output: given plainly, or as a map of a constant."""
        found = self._graph.optional(node, role)
        if found is None:
            inner = self._graph.single(node, f"{role}Map")
            found = self._graph.optional(inner, "constant")
        if not isinstance(found, ox.NamedNode):
            raise self._graph.refusal(f"{role}Map without a constant IRI")
        return Iri(found.value)

    def _old_call(self, node: Value) -> Call:
        graph = self._graph
        function: Iri | None = None
        inputs = []
        for pair in graph.get(node, "predicateObjectMap"):
            predicates = self.read_all(pair, "predicate", TermType.IRI)
            values = [constant(graph, value) for value in graph.get(pair, "object")]
            values += [self.read(value, TermType.LITERAL) for value in graph.get(pair, "objectMap")]
            for predicate in predicates:
                if not isinstance(predicate.expression, Iri) or len(values) != 1:
                    raise graph.wrong("has a function call whose parameters are no constants with one value")
                if predicate.expression.value not in _EXECUTES:
                    inputs.append((predicate.expression, values[0]))
                elif isinstance(values[0].expression, Iri):
                    function = values[0].expression
        if function is None:
            raise graph.wrong("has a function call that does not say what it executes")
        return self._checked_call(function, inputs, None)

    def _checked_call(self, function: Iri, inputs: list[tuple[Iri, TermMap]], output: Iri | None) -> Call:
        declared = self._functions.get(function.value)
        if declared is None:
            raise self._graph.refusal(f"the function {function}")
        given = [declared.parameter(parameter.value) for parameter, _ in inputs]
        for (parameter, _), name in zip(inputs, given, strict=True):
            if name is None:
                raise self._graph.wrong(f"gives {function} the parameter {parameter}, which it does not have")
        missing = [name for name in declared.parameters[: declared.required] if name not in given]
        if missing:
            raise self._graph.wrong(f"calls {function} without its parameter {missing[0]}")
        if output is not None and not declared.gives(output.value):
            raise self._graph.wrong(f"takes {output} of {function}, which does not give it")
        if declared.name in LOOKUPS:
            inputs = self._looked_up(inputs, declared)
        if declared.associative and given.count(declared.parameters[0]) > 1:
            return _folded(function, declared, inputs, output)
        if twice := next((name for name in given if given.count(name) > 1), None):
            raise self._graph.refusal(f"the function {function} with several values of its parameter {twice}")
        return Call(function, tuple(inputs), output)

    def _looked_up(self, inputs: list[tuple[Iri, TermMap]], declared: Function) -> list[tuple[Iri, TermMap]]:
        """The inputs of a lookup, with the whole path of its file."""
        found = []
        for parameter, value in inputs:
            name = declared.parameter(parameter.value)
            if name != declared.parameters[0] and not isinstance(value.expression, Literal):
                raise self._graph.refusal(f"a lookup whose {name} is no constant")
            if name == "inputFile" and isinstance(value.expression, Literal):
                if self._graph.sent is not None:
                    raise self._graph.refusal("a lookup in a file of the server")
                path = file_path(self._graph, value.expression.lexical, None)
                if not path.is_file():
                    raise self._graph.wrong(f"looks up in a file that is not there: {path}")
                value = replace(value, expression=Literal(str(path)))
            found.append((parameter, value))
        return found


def _folded(function: Iri, declared: Function, inputs: list[tuple[Iri, TermMap]], output: Iri | None) -> Call:
    """A call with any number of values as calls with two, one in the other."""
    values = [value for _, value in inputs]
    first, second = map(Iri, declared.parameters)
    call = Call(function, ((first, values[-2]), (second, values[-1])), output)
    for value in reversed(values[:-2]):
        call = Call(function, ((first, value), (second, TermMap(TermType.LITERAL, call))), output)
    return call


def constant(graph: MappingGraph, value: Value) -> TermMap:
    """A term map that makes the same term of every record."""
    term = term_of(value)
    if isinstance(term, Literal) and term.language is not None and re.fullmatch(LANGUAGE_TAG, term.language) is None:
        raise graph.wrong(f"has {term.language} as language, which is no language tag")
    return TermMap(_TYPE_OF[type(term)], term)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
