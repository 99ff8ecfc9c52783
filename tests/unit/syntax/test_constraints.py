"""What the owner of a query asks of its answers: WITH ACCURACY and WITH LATENCY, in every dialect."""

from __future__ import annotations

import pytest

from freshet.algebra.nodes import Query
from freshet.rdf.errors import QuerySyntaxError
from freshet.syntax.parser import parse_query

RSPQL = """REGISTER RSTREAM <q> AS SELECT ?x FROM NAMED WINDOW <w> ON <s> [RANGE PT10S STEP PT5S] {}
WHERE {{ WINDOW <w> {{ ?x <p> ?y }} }}"""
CSPARQL = "SELECT ?x FROM STREAM <s> [RANGE 10s STEP 5s] {} WHERE {{ ?x <p> ?y }}"
CQELS = "SELECT ?x {} WHERE {{ STREAM <s> [RANGE 10s] {{ ?x <p> ?y }} }}"


def asked(query: Query) -> tuple[float | None, int | None]:
    return query.accuracy, query.latency_ms


@pytest.mark.parametrize("text", [RSPQL, CSPARQL, CQELS], ids=["rspql", "csparql", "cqels"])
@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("", (None, None)),
        ("WITH ACCURACY >= 0.75", (0.75, None)),
        ("with accuracy >= 1", (1.0, None)),
        ("WITH LATENCY <= 200ms", (None, 200)),
        ("WITH LATENCY <= 200 ms", (None, 200)),
        ("WITH LATENCY <= PT0.2S WITH ACCURACY >= .5", (0.5, 200)),
    ],
)
def test_constraints_are_read(text: str, clause: str, expected: tuple[float | None, int | None]) -> None:
    assert asked(parse_query(text.format(clause))) == expected


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("WITH ACCURACY <= 0.75", "takes >="),
        ("WITH LATENCY > 1s", "takes <="),
        ("WITH ACCURACY >= 0", "more than 0"),
        ("WITH ACCURACY >= 1.5", "at most 1"),
        ("WITH ACCURACY >= 10s", "a number"),
        ("WITH LATENCY <= 200", "a duration"),
        ("WITH SPEED >= 1", "expected ACCURACY >= or LATENCY <="),
        ("WITH ACCURACY 1", "expected ACCURACY >= or LATENCY <="),
        ("WITH ACCURACY >= 0.5 WITH ACCURACY >= 0.6", "twice"),
    ],
)
def test_wrong_constraints_are_named(clause: str, words: str) -> None:
    with pytest.raises(QuerySyntaxError, match=words):
        parse_query(RSPQL.format(clause))


def test_queries_without_windows_have_none() -> None:
    with pytest.raises(QuerySyntaxError, match="no window"):
        parse_query("SELECT * WITH ACCURACY >= 0.5 { ?s ?p ?o }")
