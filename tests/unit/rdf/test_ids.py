import pytest
from hypothesis import given, settings

from freshet.kernels import layout
from freshet.rdf.ids import (
    XSD_BOOLEAN,
    XSD_DATE_TIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    inline_id,
    inline_term,
)
from freshet.rdf.terms import RDF_LANG_STRING, BlankNode, Iri, Literal
from lexical_forms import EDGE_LITERALS, literals

FLAG = -(2**63)


@pytest.mark.parametrize(
    ("literal", "kind", "value"),
    [
        (Literal("21", XSD_INTEGER), 1, 21),
        (Literal("-1", XSD_INTEGER), 1, 2**58 - 1),
        (Literal("true", XSD_BOOLEAN), 2, 1),
        (Literal("21.50", XSD_DECIMAL), 3, 2150 << 5 | 2),
        (Literal("21", XSD_DOUBLE), 4, 21 << 5),
        (Literal("0.5", XSD_FLOAT), 5, 5 << 5 | 1),
        (Literal("1.25E-3", XSD_DOUBLE), 6, 125 << 11 | 2 << 7 | 61),
        (Literal("1970-01-01T00:00:01Z", XSD_DATE_TIME), 7, 2000),
        (Literal("1970-01-01T00:00:00.001", XSD_DATE_TIME), 8, 3),
    ],
)
def test_layout(literal: Literal, kind: int, value: int) -> None:
    assert inline_id(literal) == FLAG | kind << 58 | value


@settings(max_examples=500)
@given(literals)
def test_decoding_gives_the_same_term(literal: Literal) -> None:
    term_id = inline_id(literal)
    if term_id:
        assert -(2**63) <= term_id < 0
        assert inline_term(term_id) == literal


def test_edges_decode_to_themselves_and_differ() -> None:
    inline = {literal: inline_id(literal) for literal in EDGE_LITERALS if inline_id(literal)}
    assert len(set(inline.values())) == len(inline)
    assert all(inline_term(term_id) == literal for literal, term_id in inline.items())


@pytest.mark.parametrize(
    ("least", "beyond"),
    [
        ("144115188075855871", "144115188075855872"),
        ("-144115188075855872", "-144115188075855873"),
    ],
)
def test_integers_of_58_bits(least: str, beyond: str) -> None:
    assert inline_id(Literal(least, XSD_INTEGER)) != 0
    assert inline_id(Literal(beyond, XSD_INTEGER)) == 0


@pytest.mark.parametrize(
    "term",
    [
        Iri("http://example.org/5"),
        BlankNode("b5"),
        Literal("5"),
        Literal("5", RDF_LANG_STRING, "en"),
        Literal("5", Iri("http://www.w3.org/2001/XMLSchema#int")),
        Literal("-0", XSD_INTEGER),
        Literal("-0.0", XSD_DOUBLE),
        Literal("1.0E01", XSD_DOUBLE),
        Literal("1.0E0", XSD_DECIMAL),
        Literal("1.0E0", XSD_FLOAT),
        Literal("2023-02-29T00:00:00", XSD_DATE_TIME),
        Literal("2023-01-01T24:00:00", XSD_DATE_TIME),
    ],
)
def test_others_belong_to_the_dictionary(term: Iri | BlankNode | Literal) -> None:
    assert inline_id(term) == 0


def test_accessors_agree_with_the_layout() -> None:
    for literal in EDGE_LITERALS:
        term_id = inline_id(literal)
        if term_id and literal.datatype == XSD_INTEGER:
            assert layout.inline_type(term_id) == layout.INTEGER
            assert layout.inline_value(term_id) == int(literal.lexical)
    assert layout.inline_type(12345) == 0
