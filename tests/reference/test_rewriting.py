"""The reference reads the three dialects by its own small rewriting: that has to be right, too."""

from __future__ import annotations

import pytest

from reference.group_scope import kept_apart
from reference.negated_paths import spelled_out
from reference.query_text import duration_ms
from reference.rewriting import rewrite
from reference.windows import All, Count, EventTime, Now, Range, Sliding, Triples, Window

WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S]"


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT5S", 5000),
        ("PT1M30S", 90_000),
        ("PT0.25S", 250),
        ("P1DT1H", 90_000_000),
        ("10s", 10_000),
        ("7ms", 7),
        ("2m", 120_000),
        ("1h30m", 5_400_000),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


def test_what_is_taken_out() -> None:
    asked = rewrite(f"""PREFIX : <http://e/>
REGISTER ISTREAM :q AS SELECT ?s {WINDOW}
FROM NAMED WINDOW <http://e/x> ON <http://e/t> [RANGE PT2S]
WHERE {{ WINDOW :w {{ ?s :p "WINDOW :w {{"@en }} # WINDOW :w {{
  window <http://e/x> {{ ?s :q ?v FILTER(?v <= 3 && ?v>=1 || ?v = "1"^^:t) }} }}""")
    assert (asked.name, asked.output) == ("http://e/q", "istream")
    assert [(clause.name, clause.window) for clause in asked.windows] == [
        ("http://e/w", Sliding("http://e/s", 5000, 5000)),
        ("http://e/x", Sliding("http://e/t", 2000, 2000)),
    ]
    first, second = (window.graph for window in asked.windows)
    assert f'{{ GRAPH <{first}> {{ ?s :p "WINDOW :w {{"@en }} # WINDOW :w {{\n' in asked.sparql
    assert f'GRAPH <{second}> {{ SELECT * {{ ?s :q ?v FILTER(?v <= 3 && ?v>=1 || ?v = "1"^^:t) }} }}' in asked.sparql
    assert "REGISTER" not in asked.sparql
    assert "FROM" not in asked.sparql


@pytest.mark.parametrize(
    ("prologue", "name", "expected"),
    [
        ("PREFIX : <http://e/>", ":q", "http://e/q"),
        ("PREFIX : <http://e/>", "<q>", "q"),
        ("BASE <http://b/> PREFIX : <http://e/>", "<q>", "http://b/q"),
    ],
)
def test_names(prologue: str, name: str, expected: str) -> None:
    asked = rewrite(f"{prologue} REGISTER RSTREAM {name} AS SELECT ?s {WINDOW} WHERE {{ WINDOW :w {{ ?s ?p ?o }} }}")
    assert asked.name == expected


def test_no_name() -> None:
    asked = rewrite(f"PREFIX : <http://e/> SELECT ?s {WINDOW} WHERE {{ WINDOW :w {{ ?s ?p ?o }} }}")
    assert (asked.name, asked.output) == (None, "rstream")


S, AT = "http://e/s", "http://e/at"


@pytest.mark.parametrize(
    ("clause", "window"),
    [
        ("FROM NAMED WINDOW :w ON :s [RANGE PT3S STEP PT1S]", Sliding(S, 3000, 1000)),
        ("FROM NAMED WINDOW :w OVER STREAM :s [RANGE PT3S]", Sliding(S, 3000, 3000)),
        ("FROM NAMED WINDOW :w [RANGE PT3S SLIDE PT1S] ON STREAM :s", Sliding(S, 3000, 1000)),
        ("FROM NAMED WINDOW :w ON :s [COUNT 4]", Count(S, 4, 1)),
        ("FROM NAMED WINDOW :w ON :s [COUNT 4 STEP 2]", Count(S, 4, 2)),
        ("FROM NAMED WINDOW :w ON :s [RANGE PT3S @:at]", EventTime(S, 3000, AT)),
        ("FROM NAMED WINDOW :w ON :s [RANGE PT3S @<http://e/at> STEP PT1S]", Sliding(S, 3000, 1000, AT)),
        ("FROM NAMED WINDOW :w ON :s [RANGE PT3S STEP PT1S @e:at]", Sliding(S, 3000, 1000, AT)),
        ("FROM STREAM :s [RANGE 3s STEP 500ms]", Sliding(S, 3000, 500)),
        ("FROM STREAM :s [RANGE 3 s TUMBLING]", Sliding(S, 3000, 3000)),
        ("FROM STREAM :s [RANGE 3s]", Sliding(S, 3000, 3000)),
        ("FROM STREAM :s [RANGE TRIPLES 4]", Count(S, 4, 1)),
        ("FROM STREAM :s [RANGE TRIPLES 4 STEP 2]", Count(S, 4, 2)),
        ("FROM STREAM :s [RANGE TRIPLES 4 TUMBLING]", Count(S, 4, 4)),
    ],
)
def test_declared_windows(clause: str, window: Window) -> None:
    asked = rewrite(f"PREFIX : <http://e/> PREFIX e: <http://e/> SELECT ?s {clause} WHERE {{ ?s ?p ?o }}")
    assert [declared.window for declared in asked.windows] == [window]
    assert asked.merged == ("FROM STREAM" in clause)
    assert "FROM" not in asked.sparql


@pytest.mark.parametrize(
    ("clause", "window"),
    [
        (":s [RANGE 3s]", Range(S, 3000, False)),
        (":s [RANGE 3s SLIDE 1s]", Range(S, 3000, False)),
        (":s [RANGE 3s TUMBLING]", Range(S, 3000, True)),
        (":s [NOW]", Now(S)),
        ("[TRIPLES 3] :s", Triples(S, 3)),
        (":s [ALL]", All(S)),
    ],
)
def test_windows_of_cqels(clause: str, window: Window) -> None:
    asked = rewrite(f"PREFIX : <http://e/> SELECT ?s WHERE {{ STREAM {clause} {{ ?s ?p ?o }} }}")
    assert [declared.window for declared in asked.windows] == [window]
    assert asked.output == "istream"
    assert asked.sparql.endswith("{ GRAPH <urn:window:0> { ?s ?p ?o } }")


def test_any_stream() -> None:
    asked = rewrite("SELECT * { STREAM ?x [NOW] { ?s ?p ?o } }", ["http://e/s", "http://e/t"])
    assert [declared.window for declared in asked.windows] == [Now("http://e/s"), Now("http://e/t")]
    first, second = "VALUES ?x { <http://e/s> }", "VALUES ?x { <http://e/t> }"
    assert asked.sparql == (
        f"SELECT * {{ {{ {{ GRAPH <urn:window:0>  {{ ?s ?p ?o }} {first} }} UNION"
        f" {{ GRAPH <urn:window:1>  {{ ?s ?p ?o }} {second} }} }} }}"
    )


def test_registration_of_c_sparql() -> None:
    asked = rewrite("REGISTER QUERY warm COMPUTED EVERY 2 s AS SELECT * FROM STREAM <s> [RANGE 1s] FROM <g> {}")
    assert (asked.name, asked.period_ms, asked.default_graphs) == ("warm", 2000, ["g"])


def test_graphs_of_any_name_are_not_windows() -> None:
    asked = rewrite("SELECT * FROM NAMED <g> { STREAM <s> [NOW] { ?s ?p ?o } GRAPH ?g { ?s ?p ?o } }")
    assert asked.sparql.endswith('{ GRAPH ?g { ?s ?p ?o } FILTER(!STRSTARTS(STR(?g), "urn:window:")) } }')


def test_construct() -> None:
    asked = rewrite(f"PREFIX : <http://e/> CONSTRUCT {{ ?s :p [] }} {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }} LIMIT 1")
    assert asked.template == "PREFIX : <http://e/>\nCONSTRUCT  { ?s :p [] }"
    expected = "PREFIX : <http://e/> SELECT * { GRAPH <urn:window:0> { ?s ?p ?o } } LIMIT 1"
    assert asked.sparql.split() == expected.split()


def test_order_by_counts_outside_of_braces_only() -> None:
    assert rewrite("SELECT ?s { STREAM <s> [NOW] { ?s ?p ?o } } ORDER BY ?s").ordered is False
    assert rewrite(f"PREFIX : <http://e/> SELECT ?s {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }} ORDER BY ?s").ordered
    inner = "{ SELECT ?s { ?s ?p ?o } ORDER BY ?s LIMIT 1 }"
    assert not rewrite(f"PREFIX : <http://e/> SELECT ?s {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} {inner} }}").ordered


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{ P FILTER NOT EXISTS { Q } }", "{ P FILTER NOT EXISTS { Q } }"),
        ("{ O { P } }", "{ O { P } }"),
        ("{ O GRAPH ?g { P FILTER(?a) } }", "{ O GRAPH ?g { SELECT * { P FILTER(?a) } } }"),
        ("{ O { P FILTER EXISTS { Q } } }", "{ O { SELECT * { P FILTER EXISTS { Q } } } }"),
        ("{ O { P BIND(EXISTS { Q } AS ?x) } }", "{ O { SELECT * { P BIND(EXISTS { Q } AS ?x) } } }"),
        ("{ { P } UNION { P FILTER(!EXISTS { Q }) } }", "{ { P } UNION { SELECT * { P FILTER(!EXISTS { Q }) } } }"),
        ("{ O OPTIONAL { P FILTER EXISTS { Q } } }", "{ O OPTIONAL { P FILTER EXISTS { Q } } }"),
        (
            "{ O { N OPTIONAL { P FILTER EXISTS { Q } } } }",
            "{ O { SELECT * { N OPTIONAL { P FILTER EXISTS { Q } } } } }",
        ),
        ("{ P FILTER EXISTS { Q { R FILTER EXISTS { S } } } }", "{ P FILTER EXISTS { Q { R FILTER EXISTS { S } } } }"),
    ],
)
def test_groups_with_expressions_are_sub_selects(pattern: str, expected: str) -> None:
    assert kept_apart(f"SELECT * {pattern}") == f"SELECT * {expected}"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{ ?a !:p ?b . }", "{ { SELECT ?a ?b { ?a ?negated0 ?b FILTER(?negated0 != :p) } } . }"),
        ("{ ?a !^:p ?b }", "{ { SELECT ?b ?a { ?b ?negated0 ?a FILTER(?negated0 != :p) } } }"),
        ("{ :x !<p> ?b . ?b :q 1 }", "{ { SELECT ?b { :x ?negated0 ?b FILTER(?negated0 != <p>) } } . ?b :q 1 }"),
        ("{ ?a ?p ?b FILTER(?p != :p && !BOUND(?b)) }", None),
        ("{ ?a !:p/:q ?b }", None),
        ("{ ?a !(:p|:q) ?b }", None),
        ("{ ?a :p ?b FILTER EXISTS { ?a !:q ?b } }", None),
    ],
)
def test_negated_paths_are_spelled_out(pattern: str, expected: str | None) -> None:
    assert spelled_out(f"SELECT * {pattern}") == f"SELECT * {expected or pattern}"
