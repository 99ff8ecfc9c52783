"""Functions of strings give what pyoxigraph gives; what it does not do is worked out from the specification."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expression_rows import Row, agree, expression_of, freshet_values, rows, value
from freshet.expressions import evaluate as native
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF_LANG_STRING, BlankNode, Iri, Literal, Term
from oxigraph_expressions import IRIS, TERMS, typed

PROPERTY = settings(max_examples=60, deadline=None)
WORDS = st.text("abcABC éßΣ😀-._~%&/'", max_size=6)
STRINGS = st.one_of(
    WORDS.map(Literal),
    st.builds(lambda word, tag: Literal(word, RDF_LANG_STRING, tag), WORDS, st.sampled_from(["en", "de", "en-gb"])),
)
ARGUMENTS = st.one_of(STRINGS, STRINGS, STRINGS, IRIS, st.sampled_from([typed("integer", "5"), None]))
PLACES = st.integers(-3, 9).map(lambda number: typed("integer", str(number)))


@PROPERTY
@given(rows(ARGUMENTS))
def test_of_one_string(terms: list[Row]) -> None:
    agree(["STRLEN(?a)", "UCASE(?a)", "LCASE(?a)", "ENCODE_FOR_URI(?a)", "CONCAT(?a)"], terms)


@PROPERTY
@given(rows(ARGUMENTS, ARGUMENTS))
def test_of_two_strings(terms: list[Row]) -> None:
    names = ("STRSTARTS", "STRENDS", "CONTAINS", "STRBEFORE", "STRAFTER", "CONCAT")
    agree([*(f"{name}(?a, ?b)" for name in names), 'CONCAT(?a, "-", ?b)', 'CONTAINS(?a, "b")'], terms)


@PROPERTY
@given(rows(ARGUMENTS, PLACES, PLACES))
def test_substrings(terms: list[Row]) -> None:
    """Worked out character by character: those at places p with start <= p < start + length."""
    for text, start, length in terms:
        found = freshet_values("SUBSTR(?a, ?b, ?c)", [(text, start, length)])
        if not isinstance(text, Literal) or text.datatype.value.endswith("integer"):
            assert found == [None]
            continue
        first, last = int(start.lexical), int(start.lexical) + int(length.lexical)
        kept = "".join(character for place, character in enumerate(text.lexical, 1) if first <= place < last)
        assert found == [Literal(kept, text.datatype, text.language)]


@PROPERTY
@given(rows(st.sampled_from(["", "en", "en-gb", "EN-us", "de", "deu"]).map(Literal) | ARGUMENTS, STRINGS))
def test_language_ranges(terms: list[Row]) -> None:
    agree([f'LANGMATCHES(?a, "{tag}")' for tag in ("*", "en", "EN", "en-GB", "de", "d")], terms)


@PROPERTY
@given(rows(TERMS, TERMS))
def test_only_strings_are_taken(terms: list[Row]) -> None:
    """Any term at all: a column of mixed terms fails row by row."""
    for text in ("STRLEN(?a)", "CONCAT(?a, ?b)", "STRBEFORE(?a, ?b)"):
        for found, row in zip(freshet_values(text, terms), terms, strict=True):
            strings = [isinstance(term, Literal) and (term.language or term == Literal(term.lexical)) for term in row]
            needed = strings[:1] if text == "STRLEN(?a)" else strings
            if not all(needed):
                assert found is None, f"{text} of {row}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the examples of section 17.4.3
        ('STRLEN("chat")', typed("integer", "4")),
        ('STRLEN("chat"@en)', typed("integer", "4")),
        ('SUBSTR("foobar", 4)', Literal("bar")),
        ('SUBSTR("foobar"@en, 4)', Literal("bar", RDF_LANG_STRING, "en")),
        ('SUBSTR("foobar", 4, 1)', Literal("b")),
        ('STRBEFORE("abc","b")', Literal("a")),
        ('STRBEFORE("abc"@en,"bc")', Literal("a", RDF_LANG_STRING, "en")),
        ('STRBEFORE("abc"@en,"b"@cy)', None),
        ('STRBEFORE("abc","xyz")', Literal("")),
        ('STRBEFORE("abc"@en, "z"@en)', Literal("")),
        ('STRBEFORE("abc"@en, ""@en)', Literal("", RDF_LANG_STRING, "en")),
        ('STRAFTER("abc"@en,"ab")', Literal("c", RDF_LANG_STRING, "en")),
        ('STRAFTER("abc"@en, "")', Literal("abc", RDF_LANG_STRING, "en")),
        ('ENCODE_FOR_URI("Los Angeles"@en)', Literal("Los%20Angeles")),
        ('CONCAT("foo"@en, "bar"@en)', Literal("foobar", RDF_LANG_STRING, "en")),
        ('CONCAT("foo"@en, "bar")', Literal("foobar")),
        ("CONCAT()", Literal("")),
        # fn:substring
        ('SUBSTR("12345", 1.5, 2.6)', Literal("234")),
        ('SUBSTR("12345", 0, 3)', Literal("12")),
        ('SUBSTR("12345", 5, -3)', Literal("")),
        ('SUBSTR("12345", xsd:double("NaN"))', Literal("")),
        ('SUBSTR("12345", -42, xsd:double("INF"))', Literal("12345")),
        ('SUBSTR("12345", "2")', None),
        ('STRLEN("\U0001f600é")', typed("integer", "2")),
    ],
)
def test_examples(text: str, expected: Term | None) -> None:
    assert value(text) == expected


def test_nothing_but_the_result_enters_the_dictionary() -> None:
    """A chain of functions makes terms of its last result only, and of none where it is a truth."""
    dictionary = Dictionary()
    columns = {"a": np.array([dictionary.encode(Iri(f"urn:{name}")) for name in "XYZ"], np.int64)}
    chain = 'CONTAINS(LCASE(CONCAT(STR(?a), ":")), "y:")'
    before = len(dictionary) + 2  # the two constants
    assert native.test(expression_of(chain), columns, 3, dictionary).tolist() == [False, True, False]
    assert len(dictionary) == before
    native.evaluate(expression_of('LCASE(CONCAT(STR(?a), ":"))'), columns, 3, dictionary)
    assert len(dictionary) == before + 3


@PROPERTY
@given(rows(ARGUMENTS, ARGUMENTS))
def test_computed_strings_compare_as_terms_do(terms: list[Row]) -> None:
    """Beside a constant, beside a column, beside another computed string, and as numbers."""
    texts = [
        *(f'CONCAT(?a, "") {operator} "a"' for operator in ("=", "!=", "<", ">=")),
        *(f"{side} {operator} ?b" for side in ("CONCAT(?a, '')", "STR(?a)") for operator in ("=", "!=", "<")),
        "UCASE(?a) = UCASE(?b)",
        "'a'@en != LCASE(?a)",
        "LCASE(?a) IN ('a', 'b'@en, 5)",
        "LCASE(?a) NOT IN (?b, 'c')",
        "sameTerm(LCASE(?a), 'a')",
        "IRI(CONCAT('urn:', STRLANG('x', 'en'))) = <urn:x>",
        "IRI(CONCAT('urn:', ENCODE_FOR_URI(?a))) != <urn:a>",
        "STRDT(STR(?a), xsd:integer) + 1",
        "STRDT('5', xsd:integer) = 5.0",
        "STRLEN(?a) + 1 = STRDT('2', xsd:decimal)",
        "IF(LCASE(?a), 1, 2)",
        "!STRDT('0', xsd:double)",
    ]
    agree(texts, terms)


def test_comparing_with_a_constant_leaves_the_dictionary_alone() -> None:
    dictionary = Dictionary()
    columns = {"a": np.array([dictionary.encode(Iri(f"urn:{name}")) for name in "xyz"], np.int64)}
    before = len(dictionary) + 2
    condition = expression_of("STR(?a) = 'urn:y' || STR(?a) IN ('urn:z', 'urn:y')")
    assert native.test(condition, columns, 3, dictionary).tolist() == [False, True, True]
    assert len(dictionary) == before


def test_blank_nodes_have_no_text() -> None:
    assert freshet_values("STR(?a)", [(BlankNode("x"),), (None,)]) == [None, None]
