"""Ids to values and numbers back to ids."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels import values as kinds
from freshet.kernels.values import Values
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF_LANG_STRING, XSD, BlankNode, Iri, Literal, Term
from freshet.rdf.values import Ids, number_ids, numbers, value_table, values
from oxigraph_expressions import DECIMALS, DOUBLES, FLOATS, INTEGERS, SCIENTIFIC, TERMS, oxigraph_rows, typed

PROPERTY = settings(max_examples=100, deadline=None)
UNIT = 10**18


def encode(dictionary: Dictionary, terms: list[Term]) -> Ids:
    return np.array([dictionary.encode(term) for term in terms], np.int64)


def exact(found: Values, row: int) -> Fraction:
    return Fraction((int(found.high[row]) << 64) | int(found.low[row]), UNIT)


@PROPERTY
@given(st.lists(INTEGERS | DECIMALS, min_size=1, max_size=20))
def test_exact_numbers(terms: list[Literal]) -> None:
    dictionary = Dictionary()
    found = numbers(dictionary, encode(dictionary, terms))
    for row, term in enumerate(terms):
        written = Fraction(Decimal(term.lexical))
        if (written * UNIT).denominator == 1 and -(2**127) <= written * UNIT < 2**127:
            assert found.kinds[row] == (kinds.INTEGER if term.datatype.value.endswith("integer") else kinds.DECIMAL)
            assert exact(found, row) == written
            assert found.reals[row] == float(written)
        else:
            assert found.kinds[row] == kinds.NOTHING


@PROPERTY
@given(st.lists(DOUBLES | SCIENTIFIC | FLOATS, min_size=1, max_size=20))
def test_doubles_and_floats_are_correctly_rounded(terms: list[Literal]) -> None:
    dictionary = Dictionary()
    found = numbers(dictionary, encode(dictionary, terms))
    for row, term in enumerate(terms):
        double = term.datatype == Iri(XSD + "double")
        assert found.kinds[row] == (kinds.DOUBLE if double else kinds.FLOAT)
        number = float(term.lexical)
        with np.errstate(over="ignore"):
            assert np.array_equal(found.reals[row], number if double else np.float32(number), equal_nan=True)


@PROPERTY
@given(st.lists(st.tuples(st.integers(1, 2**64 + 10), st.integers(-30, 30)), min_size=1, max_size=20))
def test_long_mantissas_are_correctly_rounded(numbers_written: list[tuple[int, int]]) -> None:
    # One in the middle between two doubles, and its neighbours, beside each.
    halves = [(int(float(2**54 + mantissa)) + 1, 0) for mantissa, _ in numbers_written]
    around = [(half + more, exponent) for half, exponent in halves for more in (-1, 0, 1)]
    terms = [typed("double", f"{mantissa}e{exponent}") for mantissa, exponent in (*numbers_written, *around)]
    dictionary = Dictionary()
    found = values(dictionary, encode(dictionary, terms))
    assert found.reals.tolist() == [float(term.lexical) for term in terms]


@pytest.mark.parametrize(
    ("term", "kind"),
    [
        (Literal("a"), kinds.STRING),
        (Literal("a", RDF_LANG_STRING, "en"), kinds.LANGUAGE_STRING),
        (Literal('"^^<http://www.w3.org/2001/XMLSchema#integer>'), kinds.STRING),
        (Iri("urn:a"), kinds.IRI),
        (BlankNode("a"), kinds.BLANK_NODE),
        (typed("boolean", "true"), kinds.BOOLEAN),
        (typed("boolean", "0"), kinds.BOOLEAN),
        (typed("boolean", "yes"), kinds.ILL_TYPED),
        (typed("integer", "five"), kinds.ILL_TYPED),
        (typed("integer", "9223372036854775808"), kinds.OTHER),
        (typed("decimal", "1.1234567890123456789"), kinds.OTHER),
        (typed("decimal", "1.12345678901234567800"), kinds.DECIMAL),
        (typed("decimal", "0.0000000000000000001"), kinds.OTHER),
        (typed("dateTime", "2020-01-01T00:00:00Z"), kinds.DATE_TIME),
        (typed("dateTime", "2020-01-01T00:00:00"), kinds.DATE_TIME_LOCAL),
        (typed("dateTime", "2020-01-01T00:00:00.25+01:00"), kinds.DATE_TIME),
        (typed("dateTime", "2020-01-32T00:00:00Z"), kinds.OTHER),
        (typed("date", "2020-01-01"), kinds.DATE_LOCAL),
        (typed("time", "10:00:00Z"), kinds.TIME),
        (typed("unsignedByte", "5"), kinds.INTEGER),
        (typed("gYear", "2020"), kinds.OTHER),
        (Literal("5", Iri("http://www.w3.org/2001/XMLSchema")), kinds.OTHER),
        (Literal("5", Iri("urn:integer")), kinds.OTHER),
    ],
)
def test_kinds(term: Term, kind: int) -> None:
    dictionary = Dictionary()
    assert values(dictionary, encode(dictionary, [term])).kinds.tolist() == [kind]


def test_moments_count_seconds_since_1970() -> None:
    dictionary = Dictionary()
    texts = ("1970-01-01T00:00:01Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000000000000000001Z",
             "1970-01-01T01:00:00+01:00", "1970-01-01T24:00:00Z")  # fmt: skip
    found = values(dictionary, encode(dictionary, [typed("dateTime", text) for text in texts]))
    seconds = [exact(found, row) for row in range(len(texts))]
    assert seconds == [1, Fraction(-1, 1000), Fraction(1, UNIT), 0, 86400]


def test_inline_ids_never_touch_the_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = Dictionary()
    names = ("integer", "5"), ("decimal", "1.50"), ("double", "1.5E3"), ("double", "2.5")
    terms: list[Term] = [typed(*name) for name in names]
    ids = encode(dictionary, terms)
    assert (ids < 0).all()
    for method in ("keys", "decode", "decode_many", "intern_keys", "encode", "lookup"):
        monkeypatch.setattr(dictionary, method, None)
    assert numbers(dictionary, ids).reals.tolist() == [5, 1.5, 1500, 2.5]
    assert number_ids(dictionary, numbers(dictionary, ids)).tolist() != [0] * 4


def test_a_term_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = Dictionary()
    long = "0" * 20  # the kernel does not read numbers this long
    ids = encode(dictionary, [typed("integer", f"+{number}") for number in range(5000)])
    others = encode(dictionary, [typed("double", f"{number}{long}.0") for number in range(1, 4)])
    asked: list[int] = []
    keys = dictionary.keys

    def counted(wanted: Ids) -> pa.Array:
        asked.append(len(wanted))
        return keys(wanted)

    monkeypatch.setattr(dictionary, "keys", counted)
    expected = [*range(5000), *(float(f"{number}{long}") for number in range(1, 4))]
    for _ in range(3):
        assert numbers(dictionary, np.concatenate([ids, others, ids, others])).reals.tolist() == 2 * expected
    assert asked == [3]
    assert len(value_table(dictionary)) == len(dictionary)


def test_unbound_is_nothing() -> None:
    found = values(Dictionary(), np.zeros(3, np.int64))
    assert found.kinds.tolist() == [kinds.NOTHING] * 3
    assert number_ids(Dictionary(), found).tolist() == [0, 0, 0]


def doubles(*reals: float) -> Values:
    count = len(reals)
    return Values(
        np.full(count, kinds.DOUBLE, np.uint8), np.zeros(count, np.int64), np.zeros(count, np.uint64), np.array(reals)
    )


@PROPERTY
@given(st.lists(st.floats() | st.floats(-1000, 1000).map(lambda x: round(x, 3)), min_size=1, max_size=30))
def test_doubles_are_written_in_canonical_form(reals: list[float]) -> None:
    dictionary = Dictionary()
    ids = number_ids(dictionary, doubles(*reals))
    for term, real in zip(dictionary.decode_many(ids), reals, strict=True):
        assert isinstance(term, Literal)
        assert term.datatype == Iri(XSD + "double")
        if np.isfinite(real):
            digits, exponent = np.format_float_scientific(real, trim="0").split("e")
            assert term.lexical == f"{digits}E{int(exponent)}"
        else:
            assert term.lexical == {"nan": "NaN", "inf": "INF", "-inf": "-INF"}[str(real)]
    assert np.array_equal(values(dictionary, ids).reals, reals, equal_nan=True)


@PROPERTY
@given(st.lists(st.tuples(INTEGERS | DECIMALS), min_size=1, max_size=30))
def test_exact_numbers_are_written_as_oxigraph_writes_them(rows: list[tuple[Literal]]) -> None:
    dictionary = Dictionary()
    found = numbers(dictionary, encode(dictionary, [term for (term,) in rows]))
    expected = oxigraph_rows(["?a + 0"], "a", rows)
    assert dictionary.decode_many(number_ids(dictionary, found)) == [said for (said,) in expected]


@PROPERTY
@given(st.lists(FLOATS, min_size=1, max_size=10))
def test_floats_come_back(terms: list[Literal]) -> None:
    dictionary = Dictionary()
    found = numbers(dictionary, encode(dictionary, list(terms)))
    back = numbers(dictionary, number_ids(dictionary, found))
    assert back.kinds.tolist() == [kinds.FLOAT] * len(terms)
    assert np.array_equal(back.reals, found.reals, equal_nan=True)


@PROPERTY
@given(st.lists(TERMS, min_size=1, max_size=30))
def test_ids_of_numbers_stay_the_same(terms: list[Term]) -> None:
    """Canonical forms are their own canonical form."""
    dictionary = Dictionary()
    once = number_ids(dictionary, numbers(dictionary, encode(dictionary, terms)))
    assert number_ids(dictionary, numbers(dictionary, once)).tolist() == once.tolist()


def test_very_long_numbers() -> None:
    dictionary = Dictionary()
    terms: list[Term] = [typed("double", "1" * 400), typed("double", "0." + "0" * 300 + "1"), typed("double", "1" * 30)]
    assert numbers(dictionary, encode(dictionary, terms)).reals.tolist() == [np.inf, 1e-301, float("1" * 30)]
