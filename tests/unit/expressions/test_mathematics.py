"""Functions of XPath by their IRIs: those of mathematics, and other names of SPARQL's own."""

from __future__ import annotations

import math

import pytest

import freshet

PREFIXES = """PREFIX math: <http://www.w3.org/2005/xpath-functions/math#> PREFIX fn: <http://www.w3.org/2005/xpath-functions#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> """


def value(expression: str) -> object:
    answer = freshet.Session().query(f"{PREFIXES} SELECT ({expression} AS ?x) {{}}")
    return answer.to_arrow()["x"].to_pylist()[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("math:sqrt(16)", 4.0),
        ("math:sqrt(2.25)", 1.5),
        ("math:pow(2, 10)", 1024.0),
        ("math:pow(2e0, 0.5)", math.sqrt(2)),
        ("math:exp(1)", math.e),
        ("math:exp10(3)", 1000.0),
        ("math:log(10)", math.log(10)),
        ("math:log10(1000)", 3.0),
        ("math:log(0)", -math.inf),
        ("math:sin(1)", math.sin(1)),
        ("math:cos(1)", math.cos(1)),
        ("math:tan(1)", math.tan(1)),
        ("math:asin(1)", math.asin(1)),
        ("math:acos(1)", 0.0),
        ("math:atan(1)", math.atan(1)),
        ("math:atan2(1, -1)", math.atan2(1, -1)),
        ("math:pi()", math.pi),
        ("math:sqrt('4')", None),
        ("math:pow(2, <http://e/a>)", None),
        ("fn:string-length('abc')", 3),
        ("fn:substring('abcd', 2, 2)", "bc"),
        ("fn:upper-case('abc')", "ABC"),
        ("fn:matches('abc', '^A', 'i')", True),
        ("fn:year-from-dateTime('2026-01-02T00:00:00Z'^^xsd:dateTime)", 2026),
    ],
)
def test_values(expression: str, expected: object) -> None:
    found = value(expression)
    assert found == pytest.approx(expected) if isinstance(expected, float) else found == expected


def test_there_is_no_root_of_a_negative_number() -> None:
    assert math.isnan(value("math:sqrt(-1)"))


def test_columns() -> None:
    answer = freshet.Session().query(
        f"{PREFIXES} SELECT (math:pow(?x, ?y) AS ?z) {{ VALUES (?x ?y) {{ (2 3) (3 UNDEF) (3 2.0) }} }}"
    )
    assert answer.to_arrow()["z"].to_pylist() == [8.0, None, 9.0]


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("math:pow(2)", "pow takes 2 arguments, not 1"),
        ("math:pi(2)", "pi takes 0 arguments, not 1"),
        ("fn:substring('a')", "SUBSTR takes 2 to 3 arguments, not 1"),
        ("xsd:integer(1, 2)", "integer takes 1 argument, not 2"),
    ],
)
def test_numbers_of_arguments(expression: str, says: str) -> None:
    with pytest.raises(freshet.QuerySyntaxError, match=says):
        value(expression)


def test_what_is_not_known() -> None:
    with pytest.raises(freshet.UnsupportedError, match="math#sinh"):
        value("math:sinh(1)")
