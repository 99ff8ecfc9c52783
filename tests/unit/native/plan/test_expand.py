"""Variables in place of windows and streams become unions; what has none of them stays the query that it was."""

from __future__ import annotations

import pytest

from freshet.algebra.nodes import Query, Values
from freshet.native.plan.expand import expand_windows
from freshet.syntax.parser import parse_query

STREAMS = ("http://ex/a", "http://ex/b")
RSPQL = "PREFIX : <http://ex/> REGISTER RSTREAM :q AS SELECT * FROM NAMED WINDOW :v ON :a [RANGE PT1S] "
RSPQL += "FROM NAMED WINDOW :w ON :b [RANGE PT1S] "

PLAIN = [
    "{ WINDOW :v { ?s ?p ?o } WINDOW :w { ?o ?p ?s } }",
    "{ WINDOW :v { ?s ?p ?o } OPTIONAL { WINDOW :w { ?s :q ?o FILTER(?o > 1) } } } ORDER BY ?s",
    "{ ?s ?p ?o FILTER EXISTS { WINDOW :w { ?s :q ?o } } { SELECT ?s { WINDOW :v { ?s a :T } } LIMIT 3 } }",
]


@pytest.mark.parametrize("pattern", PLAIN)
def test_a_query_without_such_variables_is_the_same(pattern: str) -> None:
    query = parse_query(RSPQL + "WHERE " + pattern)
    assert expand_windows(query, STREAMS) is query


def named(query: Query) -> list[str]:
    return [str(declaration.name) for declaration in query.windows]


@pytest.mark.parametrize(
    "pattern",
    [
        "{ WINDOW ?w { ?s ?p ?o } }",
        "{ ?s ?p ?o FILTER NOT EXISTS { WINDOW ?w { ?s :q ?o } } }",
        "{ { SELECT ?s { WINDOW ?w { ?s ?p ?o } } } WINDOW :v { ?s :q ?r } }",
    ],
)
def test_a_window_that_is_a_variable_is_a_union_wherever_it_stands(pattern: str) -> None:
    query = parse_query(RSPQL + "WHERE " + pattern)
    expanded = expand_windows(query, STREAMS)
    assert named(expanded) == named(query)
    shown = repr(expanded.root)
    assert "Window(name=Variable" in repr(query.root)
    assert "Window(name=Variable" not in shown
    assert shown.count("Union(") == 1
    assert expand_windows(expanded, STREAMS) is expanded


def test_a_stream_that_is_a_variable_is_a_window_on_each() -> None:
    query = parse_query("SELECT * { STREAM ?x [NOW] { ?s ?p ?o } STREAM <http://ex/a> [NOW] { ?s ?p ?r } }")
    expanded = expand_windows(query, STREAMS)
    assert len(expanded.windows) == 3
    assert sum(name.endswith(" on http://ex/b>") for name in named(expanded)) == 1
    assert {str(declaration.window.stream) for declaration in expanded.windows} == {f"<{name}>" for name in STREAMS}


def test_without_streams_a_variable_stands_for_none() -> None:
    query = parse_query("SELECT * { STREAM ?x [NOW] { ?s ?p ?o } }")
    expanded = expand_windows(query, ())
    assert expanded.windows == ()
    assert repr(Values((), ())) in repr(expanded.root)
