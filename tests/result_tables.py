"""Solutions with terms that are hard to write down, for the tests of the result formats."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.ids import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from freshet.rdf.terms import RDF_DIR_LANG_STRING, RDF_LANG_STRING, BlankNode, Iri, Literal, Term, TripleTerm
from freshet.results.report import Solutions

Row = list[Term | None]

REIFIED = TripleTerm(
    Iri("http://example.org/s"),
    Iri("http://example.org/p"),
    Literal('a )>> "b"\r\n\t\\ <&>', RDF_DIR_LANG_STRING, "en", "ltr"),
)
TERMS: list[Term] = [
    Iri("http://example.org/é?a&b"),
    BlankNode("s0.b1"),
    Literal(""),
    Literal('a,"b"\r\n\t\\ <&> ]]>'),
    Literal("x", RDF_LANG_STRING, "en-gb"),
    Literal("5", XSD_INTEGER),
    Literal("+05", XSD_INTEGER),
    Literal("2.50", XSD_DECIMAL),
    Literal("5", XSD_DECIMAL),
    Literal("1.0E6", XSD_DOUBLE),
    Literal("1.5", XSD_DOUBLE),
    Literal("true", XSD_BOOLEAN),
    Literal("five", XSD_INTEGER),
    Literal("x", Iri("http://example.org/type")),
    Literal(' \u2028😀 "quoted" '),
    Literal("_:b0"),
    Literal("'single' \\u0041 \x0b\x1f"),
    Literal("true"),
    Literal("𝒳", RDF_LANG_STRING, "zh-hant-tw"),
    Literal("\t"),
    Literal("x", RDF_DIR_LANG_STRING, "ar-eg", "rtl"),
    REIFIED,
    TripleTerm(
        BlankNode("s0.b1"), Iri("http://example.org/p"), TripleTerm(REIFIED.subject, REIFIED.predicate, REIFIED)
    ),
    TripleTerm(Iri("http://example.org/s"), Iri("http://example.org/p"), Literal("2.50", XSD_DECIMAL)),
]
XML_TERMS = [term for term in TERMS if "\x1f" not in str(term)]  # XML has no way to write some control characters


def tables(terms: list[Term] = TERMS, least: int = 1) -> st.SearchStrategy[tuple[tuple[str, ...], list[Row]]]:
    """Variables, and rows of terms or None."""

    def rows(width: int) -> st.SearchStrategy[list[Row]]:
        row = st.lists(st.none() | st.sampled_from(terms), min_size=width, max_size=width)
        return st.lists(row, max_size=6)

    return st.integers(least, 4).flatmap(
        lambda width: rows(width).map(lambda found: (tuple(f"v{number}" for number in range(width)), found))
    )


def solutions_of(variables: tuple[str, ...], rows: list[Row], dictionary: Dictionary) -> Solutions:
    ids = [[0 if term is None else dictionary.encode(term) for term in row] for row in rows]
    return Solutions(variables, np.array(ids, np.int64).reshape(len(rows), len(variables)))


def terms_of(solutions: Solutions, dictionary: Dictionary) -> list[Row]:
    """The rows as terms."""
    return [dictionary.decode_many(row) for row in solutions.rows]
