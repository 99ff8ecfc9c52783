"""The oracle of expressions: pyoxigraph evaluates them over rows given in VALUES. Also terms to try them on."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox
from hypothesis import strategies as st

from freshet.rdf.terms import RDF_LANG_STRING, XSD, BlankNode, Iri, Literal, Term

PREFIX = f"PREFIX xsd: <{XSD}>\n"
_STORE = ox.Store()


def typed(name: str, lexical: str) -> Literal:
    """A literal of one of XML Schema's datatypes."""
    return Literal(lexical, Iri(XSD + name))


def in_query(term: Term | None) -> str:
    return "UNDEF" if term is None else str(term)


def from_oxigraph(term: ox.NamedNode | ox.BlankNode | ox.Literal | None) -> Term | None:
    if term is None:
        return None
    if isinstance(term, ox.NamedNode):
        return Iri(term.value)
    if isinstance(term, ox.BlankNode):
        return BlankNode(term.value)
    if term.language:
        return Literal(term.value, RDF_LANG_STRING, term.language)
    return Literal(term.value, Iri(term.datatype.value))


def oxigraph_rows(
    expressions: Sequence[str], variables: Sequence[str], rows: Sequence[Sequence[Term | None]]
) -> list[list[Term | None]]:
    """The value of each expression for each row, None where it is an error or unbound."""
    table = " ".join(f"({number} {' '.join(map(in_query, row))})" for number, row in enumerate(rows))
    heads = " ".join(f"({expression} AS ?x{number})" for number, expression in enumerate(expressions))
    names = " ".join(f"?{name}" for name in variables)
    query = f"{PREFIX}SELECT ?row {heads} {{ VALUES (?row {names}) {{ {table} }} }}"
    results: list[list[Term | None]] = [[] for _ in rows]
    for solution in _STORE.query(query):
        number = int(solution["row"].value)
        results[number] = [from_oxigraph(solution[f"x{at}"]) for at in range(len(expressions))]
    return results


INTEGERS = st.one_of(
    st.integers(-20, 20),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, 1, -1, 2**57 - 1, 2**57, -(2**57), -(2**57) - 1, 2**63 - 1, -(2**63), 10**18, 2**53 + 1]),
).map(lambda number: typed("integer", str(number)))


def _decimal(digits: int, scale: int) -> Literal:
    text = str(abs(digits)).rjust(scale + 1, "0")
    text = f"{text[:-scale]}.{text[-scale:]}" if scale else text
    return typed("decimal", f"-{text}" if digits < 0 else text)


DECIMALS = st.one_of(
    st.builds(_decimal, st.integers(-5000, 5000), st.integers(0, 3)),
    st.builds(_decimal, st.integers(-(10**16), 10**16), st.integers(0, 20)),
    st.builds(_decimal, st.integers(1 - 2**127, 2**127), st.integers(14, 18)),
)


def _double(number: float) -> Literal:
    if number != number or number in (float("inf"), float("-inf")):
        return typed("double", {"nan": "NaN", "inf": "INF", "-inf": "-INF"}[str(number)])
    return typed("double", repr(number))


DOUBLES = st.one_of(
    st.floats(),
    st.floats(-1000, 1000).map(lambda number: round(number, 2)),
    st.integers(-(10**6), 10**6).map(float),
).map(_double)

SCIENTIFIC = st.builds(
    lambda lead, rest, exponent: typed("double", f"{lead}.{rest}E{exponent}"),
    st.integers(1, 9),
    st.integers(0, 10**12),
    st.integers(-30, 30),
)

FLOATS = st.floats(width=32).map(lambda number: typed("float", _double(number).lexical))

NUMBERS = st.one_of(INTEGERS, DECIMALS, DOUBLES, SCIENTIFIC, FLOATS)

ODD_NUMBERS = st.sampled_from(
    [
        *(typed("integer", text) for text in ("+5", "007", "-0", "", "-", "x", " 5", "5 ", "5.0", "9" * 25)),
        *(typed("decimal", text) for text in ("+1.50", "1.", ".5", ".", "-.5", "1e3", "", "1.1234567890123456789")),
        *(typed("decimal", text) for text in ("0.1000000000000000000000", "000.5", "-0.0", "5", "5.00")),
        *(typed("double", text) for text in ("1e3", "1E+5", "+1", ".5", "5.", ".", "", "1e", "e5", "1_0", "0x1")),
        *(typed("double", text) for text in ("inf", "+INF", "-Infinity", "nan", "1e400", "-0.0", "-0", "1e-400")),
        *(typed("float", text) for text in ("1e40", "0.1", "16777217", "1E-50", "1.5E1")),
        *(typed(name, "5") for name in ("int", "long", "short", "byte", "unsignedInt", "nonNegativeInteger")),
        *(typed(name, "-5") for name in ("negativeInteger", "unsignedByte", "nonPositiveInteger")),
        typed("byte", "500"),
        typed("int", "x"),
    ]
)

TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6),
    st.sampled_from(["", "a", "ab", "a ", "a!", "b", "Z", "é", "\U0001f600", "\uffff"]),
)
STRINGS = TEXTS.map(Literal)
LANGUAGE_STRINGS = st.builds(
    lambda text, tag: Literal(text, RDF_LANG_STRING, tag), TEXTS, st.sampled_from(["en", "de", "en-gb"])
)

_CLOCKS = ("00:00:00", "23:59:59", "12:30:00.5", "12:30:00.500", "12:30:00.123456789", "24:00:00", "10:00:00.0")
_ZONES = ("", "", "Z", "Z", "+01:00", "-05:30", "+14:00", "-14:00", "+00:00")
_DAYS = ("2020-01-01", "2020-01-02", "2019-12-31", "2020-02-29", "1969-12-31", "0001-01-01", "-0044-03-15")
INLINE_MOMENTS = st.builds(
    lambda day, hour, zone: typed("dateTime", f"2020-01-0{day}T{hour:02}:00:00{zone}"),
    st.integers(1, 3),
    st.integers(0, 23),
    st.sampled_from(["", "Z", ".000", ".000Z", ".999Z"]),
)
MOMENTS = st.one_of(
    INLINE_MOMENTS,
    st.builds(lambda d, t, z: typed("dateTime", f"{d}T{t}{z}"), *map(st.sampled_from, (_DAYS, _CLOCKS, _ZONES))),
    st.builds(lambda d, z: typed("date", d + z), *map(st.sampled_from, (_DAYS, _ZONES))),
    st.builds(lambda t, z: typed("time", t + z), *map(st.sampled_from, (_CLOCKS, _ZONES))),
    st.sampled_from(
        [
            typed("dateTime", text)
            for text in (
                "2020-02-30T00:00:00Z",
                "2020-01-01T24:00:01Z",
                "2020-01-01T00:00:60Z",
                "2020-01-01T00:00:00+14:01",
                "2020-01-01T00:00Z",
                "02020-01-01T00:00:00Z",
                "2020-01-01T00:00:00.Z",
                "2020-01-01T00:00:00z",
                "2020-01-01T00:00:00.1234567890123456789Z",
                "2020-01-01T00:00:00.10000000000000000000Z",
                "",
                "x",
                "0000-01-01T00:00:00Z",
                "+2020-01-01T00:00:00Z",
                "2020-13-01T00:00:00Z",
                "2020-01-01T00:00:00+1:00",
            )
        ]
        + [typed("date", "2020-13-01"), typed("time", "25:00:00"), typed("dateTimeStamp", "2020-01-01T00:00:00Z")]
    ),
)

BOOLEANS = st.sampled_from([typed("boolean", text) for text in ("true", "false", "1", "0")])
ILL_TYPED_BOOLEANS = st.sampled_from([typed("boolean", text) for text in ("TRUE", "", "yes")])
IRIS = st.sampled_from([Iri("http://example.org/a"), Iri("http://example.org/b"), Iri("urn:x")])
OTHERS = st.sampled_from([Literal(text, Iri(f"urn:{name}")) for text in ("a", "b", "1") for name in ("d", "e")])

# Terms whose ids are inline, so that a column of them never sees the dictionary.
INLINE_TERMS = st.one_of(
    st.integers(-3, 3).map(lambda number: typed("integer", str(number))),
    st.integers(2**53 - 2, 2**53 + 2).map(lambda number: typed("integer", str(number))),
    st.builds(_decimal, st.integers(-30, 30).filter(bool), st.integers(0, 2)),
    st.builds(_decimal, st.integers(2**52 - 9, 2**52 - 1), st.integers(0, 20)),
    st.builds(
        lambda number, name: typed(name, f"{number / 10}"), st.integers(1, 30), st.sampled_from(["double", "float"])
    ),
    st.builds(lambda lead, exponent: typed("double", f"{lead}.0E{exponent}"), st.integers(1, 9), st.integers(-2, 2)),
    st.sampled_from([typed("boolean", "true"), typed("boolean", "false")]),
    INLINE_MOMENTS,
)

TERMS = st.one_of(NUMBERS, ODD_NUMBERS, STRINGS, LANGUAGE_STRINGS, MOMENTS, BOOLEANS, ILL_TYPED_BOOLEANS, IRIS, OTHERS)
