"""The functions that mappings may call (FnO): their parameters, outputs and types. `spark/functions.py` computes them.

A function, parameter or output that is not declared here or by the user is an error before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from freshet.rdf.terms import XSD, Iri

GREL = "http://users.ugent.be/~bjdmeest/function/grel.ttl#"
IDLAB = "https://w3id.org/imec/idlab/function#"
_IDLAB_OLD = "http://example.com/idlab/function/"
_NAMESPACES = (GREL, IDLAB, _IDLAB_OLD)

TEXT = None
INTEGER, DOUBLE, BOOLEAN = Iri(XSD + "integer"), Iri(XSD + "double"), Iri(XSD + "boolean")


@dataclass(frozen=True, slots=True)
class Function:
    """What a function takes and gives. Parameters are in order; `required` of them must be given.

    One that is associative takes its first parameter any number of times, as calls within calls.
    """

    name: str
    parameters: tuple[str, ...]
    required: int
    outputs: frozenset[str]
    result: Iri | None = TEXT  # the datatype of its values; None where they are plain texts
    associative: bool = False

    def parameter(self, iri: str) -> str | None:
        """The parameter that an IRI names, or None."""
        name = iri if iri in self.parameters else plain_name(iri)
        return name if name in self.parameters else None

    def gives(self, iri: str) -> bool:
        return iri in self.outputs or plain_name(iri) in self.outputs


def plain_name(iri: str) -> str:
    """The name of a parameter or output as the tables here have it: published descriptions spell it in several ways.

    >>> plain_name(GREL + "valueParameter2"), plain_name(GREL + "p_int_i_from"), plain_name(IDLAB + "_stringOut")
    ('valueParam2', 'int_i_from', 'stringOut')
    """
    for namespace in _NAMESPACES:
        if iri.startswith(namespace):
            local = iri.removeprefix(namespace).removeprefix("_").replace("Parameter", "Param")
            return re.sub(r"^(param|p)_", "", local)
    return iri


_OUTPUTS = {
    TEXT: frozenset({"stringOut", "output_string", "output", "stringOutput"}),
    INTEGER: frozenset({"output_number", "output_integer", "integerOut", "intOut", "output", "numberOut"}),
    DOUBLE: frozenset({"output_number", "output_decimal", "output_double", "decimalOut", "output", "numberOut"}),
    BOOLEAN: frozenset({"output_bool", "output_boolean", "boolOut", "booleanOut", "output"}),
}
_LISTS = frozenset({"output_array", "listOut", "arrayOut", "output", "stringOut"})


def _function(
    name: str, parameters: str, required: int | None = None, result: Iri | None = TEXT, *, associative: bool = False
) -> Function:
    names = tuple(parameters.split())
    given = len(names) if required is None else required
    return Function(name, names, given, _OUTPUTS[result], result, associative)


_GREL = (
    _function("toUpperCase", "valueParam"),
    _function("toLowerCase", "valueParam"),
    _function("toTitleCase", "valueParam"),
    _function("string_trim", "valueParam"),
    _function("string_length", "valueParam", result=INTEGER),
    _function("string_substring", "valueParam int_i_from int_i_opt_to", 2),
    _function("string_replace", "valueParam find replace"),
    _function("string_replaceChars", "valueParam find replace"),
    _function("string_contains", "valueParam string_sub", result=BOOLEAN),
    _function("string_startsWith", "valueParam string_sub", result=BOOLEAN),
    _function("string_endsWith", "valueParam string_sub", result=BOOLEAN),
    _function("string_indexOf", "valueParam string_sub", result=INTEGER),
    _function("string_lastIndexOf", "valueParam string_sub", result=INTEGER),
    _function("string_md5", "valueParam"),
    _function("string_sha1", "valueParam"),
    _function("string_reverse", "valueParam"),
    _function("string_split", "valueParam string_sep"),
    _function("array_join", "array_a string_sep"),
    _function("escape", "valueParam modeParam"),
    _function("math_round", "dec_n", result=INTEGER),
    _function("math_ceil", "dec_n", result=INTEGER),
    _function("math_floor", "dec_n", result=INTEGER),
    _function("math_abs", "dec_n", result=DOUBLE),
    _function("controls_if", "bool_b any_true any_false", 2),
    _function("boolean_not", "bool_b", result=BOOLEAN),
    _function("boolean_and", "rep_b rep_b2", 1, result=BOOLEAN, associative=True),
    _function("boolean_or", "rep_b rep_b2", 1, result=BOOLEAN, associative=True),
    _function("random", ""),
)
_IDLAB = (
    _function("alwaysReturnsABC", ""),
    _function("toUpperCaseURL", "str"),
    _function("trueCondition", "strBoolean str"),
    _function("decide", "str expectedStr result"),
    _function("equal", "valueParam valueParam2", result=BOOLEAN),
    _function("notEqual", "valueParam valueParam2", result=BOOLEAN),
    _function("isNull", "str", result=BOOLEAN),
    _function("isNotNull", "str", result=BOOLEAN),
    _function("stringContainsOtherString", "str otherStr delimiter", 2, result=BOOLEAN),
    _function("listContainsElement", "list str", result=BOOLEAN),
    _function("inRange", "test from to", 1, result=BOOLEAN),
    _function("getMIMEType", "str"),
    _function("lookup", "str inputFile fromColumn toColumn"),
    _function("lookupWithDelimiter", "str inputFile fromColumn toColumn delimiter"),
    _function("random", ""),
    _function("concat", "str otherStr delimiter", 2),
    _function("slugify", "str"),
)
LOOKUPS = frozenset({"lookup", "lookupWithDelimiter"})
"""Functions that look up in a file: all but their first parameter are constants."""

# What getMIMEType knows.
MEDIA_TYPES = {
    "csv": "text/csv", "json": "application/json", "xml": "application/xml", "nt": "application/n-triples",
    "ttl": "text/turtle", "nq": "application/n-quads", "sql": "application/sql",
}  # fmt: skip
# In its older namespace this function had another result: HTTP://VENUS, where it is http://VENUS now.
_OLD_UPPER_URL = _function("toUpperCaseWholeURL", "str")
_OTHER_NAMES = {
    "trim": "string_trim", "length": "string_length", "substring": "string_substring", "replace": "string_replace",
    "contains": "string_contains", "startsWith": "string_startsWith", "endsWith": "string_endsWith",
    "indexOf": "string_indexOf", "split": "string_split", "join": "array_join", "string_toUppercase": "toUpperCase",
    "string_toLowercase": "toLowerCase", "string_toTitlecase": "toTitleCase", "toUppercase": "toUpperCase",
    "toLowercase": "toLowerCase", "toTitlecase": "toTitleCase", "string_escape": "escape", "round": "math_round",
    "ceil": "math_ceil", "floor": "math_floor", "abs": "math_abs", "not": "boolean_not", "if": "controls_if",
    "and": "boolean_and", "or": "boolean_or",
    "md5": "string_md5", "sha1": "string_sha1", "reverse": "string_reverse",
}  # fmt: skip

Functions = Mapping[str, Function]


def _all() -> dict[str, Function]:
    grel = {function.name: function for function in _GREL}
    found = {GREL + name: function for name, function in grel.items()}
    found |= {GREL + other: grel[name] for other, name in _OTHER_NAMES.items()}
    found |= {namespace + each.name: each for each in _IDLAB for namespace in (IDLAB, _IDLAB_OLD)}
    found[_IDLAB_OLD + "toUpperCaseURL"] = _OLD_UPPER_URL
    return found


FUNCTIONS: Functions = _all()
