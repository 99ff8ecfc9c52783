"""Casts by the table of section 17.5, and by XPath where that says more."""

from __future__ import annotations

from math import isclose, isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expression_rows import Row, freshet_values, rows, value
from freshet.rdf.terms import RDF_LANG_STRING, XSD, BlankNode, Iri, Literal, Term
from oxigraph_expressions import BOOLEANS, IRIS, LANGUAGE_STRINGS, MOMENTS, NUMBERS, OTHERS, oxigraph_rows, typed

NUMERALS = st.sampled_from(["1", "-1.50", "+7", "1e3", "1.5E-2", "INF", "NaN", "true", "0", "x", "", "1.", ".5", "007"])
DATES = st.sampled_from(["2020-01-01T00:00:00Z", "2020-01-01", "2020-02-30T00:00:00", "10:00:00Z", "2020-1-1"])
TERMS = st.one_of(NUMBERS, BOOLEANS, (NUMERALS | DATES).map(Literal), LANGUAGE_STRINGS, MOMENTS, IRIS, OTHERS)
NAMES = ("boolean", "double", "float", "decimal", "integer", "dateTime", "date", "time")
DOUBLE, FLOAT = Iri(XSD + "double"), Iri(XSD + "float")
_REALS = {DOUBLE, FLOAT}


def close(found: Term | None, said: Term | None) -> bool:
    if isinstance(found, Literal) and isinstance(said, Literal) and found.datatype == said.datatype:
        if found.datatype in _REALS:
            one, other = float(found.lexical), float(said.lexical)
            return one == other or isclose(one, other, rel_tol=1e-6) or (isnan(one) and isnan(other))
        if found.datatype.value.removeprefix(XSD) in ("dateTime", "date", "time"):
            return True  # the notation of fractions and zones is left as it was written; see below
    return found == said


@settings(max_examples=150, deadline=None)
@given(rows(TERMS))
def test_as_oxigraph(terms: list[Row]) -> None:
    expected = oxigraph_rows([f"xsd:{name}(?a)" for name in NAMES], "a", terms)
    for at, name in enumerate(NAMES):
        for found, said, (term,) in zip(freshet_values(f"xsd:{name}(?a)", terms), expected, terms, strict=True):
            if name in ("decimal", "integer") and isinstance(term, Literal) and term.datatype in _REALS:
                check_exact(term, found, said[at])
            else:
                assert close(found, said[at]), f"xsd:{name}({term}): {found}, not {said[at]}"


def check_exact(term: Literal, found: Term | None, said: Term | None) -> None:
    """Oxigraph finds digits that the double does not have: 123456.789 is 123456.789000000003637248 there."""
    assert (found is None) == (said is None), term
    if isinstance(found, Literal):
        if found.datatype.value == XSD + "integer":
            real = np.float32(term.lexical) if term.datatype == FLOAT else float(term.lexical)
            assert int(found.lexical) == int(real)
        else:
            assert isclose(float(found.lexical), float(term.lexical), rel_tol=1e-6, abs_tol=1e-18)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('xsd:integer(" 5\\n")', typed("integer", "5")),
        ('xsd:integer("5"@en)', None),
        ('xsd:integer("5.5")', None),
        ("xsd:integer(-5.99)", typed("integer", "-5")),
        ("xsd:integer(1e19)", None),
        ("xsd:integer(9.2e18)", typed("integer", "9200000000000000000")),
        ("xsd:integer(xsd:double('NaN'))", None),
        ("xsd:integer(true)", typed("integer", "1")),
        ("xsd:integer(<urn:x>)", None),
        ("xsd:integer('2020-01-01T00:00:00Z'^^xsd:dateTime)", None),
        ("xsd:decimal(123456.789e0)", typed("decimal", "123456.789")),
        ("xsd:decimal(xsd:float('0.1'))", typed("decimal", "0.1")),
        ("xsd:decimal(1e21)", None),
        ("xsd:decimal('1e3')", None),
        ("xsd:double('-0')", typed("double", "-0.0E0")),
        ("xsd:float('1e39')", typed("float", "INF")),
        ("xsd:boolean('TRUE')", None),
        ("xsd:boolean(' 1 ')", typed("boolean", "true")),
        ("xsd:boolean(xsd:double('NaN'))", typed("boolean", "false")),
        ("xsd:boolean('x'@en)", None),
        ("xsd:boolean('x'^^xsd:integer)", None),
        ("xsd:string(1.0)", Literal("1")),
        ("xsd:string(1.50)", Literal("1.5")),
        ("xsd:string('007'^^xsd:integer)", Literal("7")),
        ("xsd:string('1'^^xsd:boolean)", Literal("true")),
        ("xsd:string(1.5e0)", Literal("1.5")),
        ("xsd:string(1e6)", Literal("1.0E6")),
        ("xsd:string(1e-7)", Literal("1.0E-7")),
        ("xsd:string(xsd:float('0.1'))", Literal("0.1")),
        ("xsd:string(xsd:double('-INF'))", Literal("-INF")),
        ("xsd:string(<urn:x>)", Literal("urn:x")),
        ("xsd:string('x'^^<urn:d>)", Literal("x")),
        ("xsd:string('2020-01-01T00:00:00.500Z'^^xsd:dateTime)", Literal("2020-01-01T00:00:00.500Z")),
        ("xsd:string(2 > 1)", Literal("true")),
        ("xsd:dateTime(' 2020-01-01T00:00:00+01:00')", typed("dateTime", "2020-01-01T00:00:00+01:00")),
        ("xsd:dateTime('2020-01-01Z'^^xsd:date)", typed("dateTime", "2020-01-01T00:00:00Z")),
        ("xsd:dateTime('2020-02-30T00:00:00')", None),
        ("xsd:dateTime(5)", None),
        ("xsd:date('2020-12-31T24:00:00Z'^^xsd:dateTime)", typed("date", "2021-01-01Z")),
        ("xsd:time('2020-12-31T01:02:03.5-01:00'^^xsd:dateTime)", typed("time", "01:02:03.5-01:00")),
        ("xsd:byte('127')", typed("byte", "127")),
        ("xsd:byte(128)", None),
        ("xsd:unsignedByte(255.9)", typed("unsignedByte", "255")),
        ("xsd:negativeInteger(0)", None),
        ("xsd:nonPositiveInteger('-0')", typed("nonPositiveInteger", "0")),
        ("xsd:short('5'^^xsd:byte)", typed("short", "5")),
        ("DATATYPE(xsd:byte(1) + xsd:byte(1))", Iri(XSD + "integer")),
        ("DATATYPE(xsd:byte(1) + 0.5)", Iri(XSD + "decimal")),
        ("DATATYPE(xsd:float(1) + 0.5)", Iri(XSD + "float")),
        ("DATATYPE(xsd:float(1) + xsd:long(1) * 1e0)", Iri(XSD + "double")),
        ("DATATYPE(1 / 2)", Iri(XSD + "decimal")),
    ],
)
def test_examples(text: str, expected: Term | None) -> None:
    assert value(text) == expected


def test_mixed_columns() -> None:
    terms: list[Row] = [
        (term,)
        for term in (typed("integer", "1"), Literal("2"), None, BlankNode("x"), Literal("3", RDF_LANG_STRING, "en"))
    ]
    for name in ("integer", "decimal", "byte"):
        found = freshet_values(f"xsd:{name}(?a)", [*terms, *terms])
        assert found == [typed(name, "1"), typed(name, "2"), None, None, None] * 2
    assert freshet_values("xsd:string(?a)", terms) == [Literal("1"), Literal("2"), None, None, Literal("3")]
    assert freshet_values("xsd:dateTime(?a)", terms) == [None] * 5
