"""Functions of Jena by their IRIs."""

from __future__ import annotations

import math

import pytest

import freshet
from freshet.expressions.jena import SPACES
from freshet.rdf.errors import QuerySyntaxError, UnsupportedError


@pytest.mark.parametrize("space", SPACES)
def test_parts_of_iris_and_numbers(space: str) -> None:
    answer = freshet.Session().query(f"""PREFIX afn: <{space}>
        SELECT ?x (afn:localname(?x) AS ?l) (afn:namespace(?x) AS ?n) (afn:sqrt(9) AS ?r) (afn:pi() AS ?p)
               (BOUND(?l) AS ?b) (afn:now() = NOW() AS ?same)
        {{ VALUES ?x {{ <http://e/a#b-1> <http://e/7up> <http://e/> "no IRI" }} }}""")
    rows = answer.to_arrow().to_pylist()
    assert [(row["n"], row["l"]) for row in rows] == [
        ("http://e/a#", "b-1"),
        ("http://e/7", "up"),
        ("http://e/", ""),
        (None, None),
    ]
    assert {(row["r"], row["p"], row["same"]) for row in rows} == {(3.0, math.pi, True)}


def test_in_continuous_queries() -> None:
    session = freshet.Session()
    session.stream("http://e/s")
    query = session.register(f"""PREFIX afn: <{SPACES[0]}>
        REGISTER QUERY q AS SELECT (afn:localname(?s) AS ?l) FROM STREAM <http://e/s> [RANGE 1s STEP 1s]
        WHERE {{ ?s ?p ?o }}""")
    session.push("http://e/s", "1\t<http://e/sensors/s12> <http://e/p> <http://e/o> .")
    session.finish()
    assert query.take_arrow().column("l").to_pylist() == ["s12"]


def test_others_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="function#max> is not supported"):
        freshet.Session().query(f"SELECT (<{SPACES[0]}max>(1, 2) AS ?x) {{}}")


def test_the_number_of_arguments() -> None:
    with pytest.raises(QuerySyntaxError, match="localname takes 1 argument, not 2"):
        freshet.Session().query(f"SELECT (<{SPACES[0]}localname>(1, 2) AS ?x) {{}}")
