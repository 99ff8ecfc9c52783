"""Parts of dates and times, inline or not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from expression_rows import Row, agree, freshet_values, rows, value
from freshet.rdf.terms import Iri, Literal, Term
from oxigraph_expressions import INLINE_MOMENTS, MOMENTS, TERMS, typed

PARTS = [f"{name}(?a)" for name in ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE")]


@settings(max_examples=100, deadline=None)
@given(rows(MOMENTS) | rows(INLINE_MOMENTS) | rows(TERMS))
def test_parts_as_oxigraph(terms: list[Row]) -> None:
    agree(PARTS, terms)


@settings(max_examples=50, deadline=None)
@given(rows(MOMENTS))
def test_zones_as_oxigraph(terms: list[Row]) -> None:
    """But a zone is shown as it is written."""
    written = [row for row in terms if "+00:00" not in str(row[0])]
    if written:
        agree(["TZ(?a)"], written)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the examples of section 17.4.5
        ("YEAR", typed("integer", "2011")),
        ("MONTH", typed("integer", "1")),
        ("DAY", typed("integer", "10")),
        ("HOURS", typed("integer", "14")),
        ("MINUTES", typed("integer", "45")),
        ("SECONDS", typed("decimal", "13.815")),
        ("TIMEZONE", typed("dayTimeDuration", "-PT5H")),
        ("TZ", Literal("-05:00")),
    ],
)
def test_examples(text: str, expected: Term) -> None:
    assert value(f'{text}("2011-01-10T14:45:13.815-05:00"^^xsd:dateTime)') == expected


def test_zones() -> None:
    moments = ("2011-01-10T14:45:13.815Z", "2011-01-10T14:45:13.815", "2011-01-10T14:45:13.8155+00:00", "x")
    terms: list[Row] = [(typed("dateTime", moment),) for moment in moments]
    assert freshet_values("TZ(?a)", terms) == [Literal("Z"), Literal(""), Literal("+00:00"), None]
    zero = typed("dayTimeDuration", "PT0S")
    assert freshet_values("TIMEZONE(?a)", terms) == [zero, None, zero, None]


def test_seconds_of_inline_moments() -> None:
    moments = (
        "2020-01-01T00:00:07Z",
        "2020-01-01T00:00:10.500",
        "1969-12-31T23:59:59.999Z",
        "2020-01-01T00:00:00.000Z",
    )
    found = freshet_values("SECONDS(?a)", [(typed("dateTime", moment),) for moment in moments])
    assert found == [typed("decimal", text) for text in ("7", "10.5", "59.999", "0")]


def test_other_terms_have_no_parts() -> None:
    terms: list[Row] = [(Literal("2011-01-10T14:45:13Z"),), (Iri("urn:x"),), (typed("integer", "2011"),), (None,)]
    for text in (*PARTS, "TZ(?a)"):
        assert freshet_values(text, terms) == [None] * 4
