"""Which elements of a stream are shipped to the engine: those that some query asks for."""

from __future__ import annotations

import pytest

import freshet

E = "http://example.org/"
TIMESTAMP = "<http://larkc.eu/csparql/sparql/jena/ext#timestamp>"


@pytest.mark.parametrize(
    ("bind", "wanted"),
    [
        ("", frozenset({f"{E}a"})),
        (f"BIND ({TIMESTAMP}(?s, :b, ?o) AS ?t)", None),
        (f"FILTER ({TIMESTAMP}(?o) > 5)", None),
    ],
)
def test_wanted_predicates_where_times_are_asked_for(bind: str, wanted: frozenset[str] | None) -> None:
    session = freshet.Session()
    for name in "st":
        session.stream(E + name)
    window = "FROM NAMED WINDOW <w> ON :s [RANGE PT10S STEP PT10S]"
    session.register(f"PREFIX : <{E}> SELECT * {window} WHERE {{ WINDOW <w> {{ ?s :a ?o {bind} }} }}", name="q")
    assert session.engine.wanted_predicates(E + "s") == wanted
    assert session.engine.wanted_predicates(E + "t") == frozenset()
