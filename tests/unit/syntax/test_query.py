"""Whole queries: their forms, datasets, registration and windows."""

from __future__ import annotations

import pytest

from freshet.algebra.expressions import Aggregate, Variable
from freshet.algebra.nodes import (
    BGP,
    Filter,
    Group,
    Join,
    OrderBy,
    Project,
    QueryForm,
    Slice,
    StreamOperator,
    TriplePattern,
    Window,
)
from freshet.algebra.windows import SlidingWindow, WindowDeclaration
from freshet.rdf.terms import BlankNode, Iri
from freshet.syntax.parser import parse_query

S, P, OBJ = (Variable(name) for name in "spo")
BODY = BGP((TriplePattern(S, P, OBJ),))


def test_ask():
    query = parse_query("ASK { ?s ?p ?o }")
    assert (query.form, query.root) == (QueryForm.ASK, BODY)


def test_construct_has_a_template_and_no_projection():
    query = parse_query("CONSTRUCT { ?o ?p _:b . _:b ?p [] } WHERE { ?s ?p ?o } ORDER BY ?s LIMIT 3")
    assert query.form is QueryForm.CONSTRUCT
    assert query.template == (
        TriplePattern(OBJ, P, BlankNode("b")),
        TriplePattern(BlankNode("b"), P, BlankNode(".b0")),
    )
    assert isinstance(query.root, Slice)
    assert isinstance(query.root.child, OrderBy)
    assert query.root.child.child == BODY


def test_construct_where_is_template_and_pattern_in_one():
    query = parse_query("CONSTRUCT FROM <g> WHERE { ?s ?p _:b }")
    assert query.template == (TriplePattern(S, P, BlankNode("b")),)
    assert query.root == BGP((TriplePattern(S, P, Variable("._b")),))
    assert query.default_graphs == (Iri("g"),)


def test_a_label_may_stand_in_a_template_and_in_the_pattern():
    query = parse_query("CONSTRUCT { _:b ?p ?o } { _:b ?p ?o }")
    assert query.template[0].subject == BlankNode("b")


@pytest.mark.parametrize(
    ("text", "resources"),
    [
        ("DESCRIBE <a>", (Iri("a"),)),
        ("DESCRIBE ?s <a> { ?s ?p ?o }", (S, Iri("a"))),
        ("DESCRIBE * WHERE { ?s ?p ?o }", (S, P, OBJ)),
    ],
)
def test_describe(text, resources):
    query = parse_query(text)
    assert query.form is QueryForm.DESCRIBE
    assert query.resources == resources


def test_a_query_that_is_no_select_groups_too():
    root = parse_query("ASK { ?s ?p ?o } HAVING (COUNT(*) > 1)").root
    assert isinstance(root, Filter)
    assert root.child == Group(BODY, (), ((Variable(".agg0"), Aggregate("COUNT", None)),))


def test_datasets_and_windows_in_any_order():
    query = parse_query(
        """SELECT * FROM NAMED <n1> FROM NAMED WINDOW <w1> ON <s1> [RANGE PT10S STEP PT5S] FROM <g>
           FROM NAMED WINDOW <w2> ON <s2> [RANGE PT1M] FROM NAMED <n2> { ?s ?p ?o }"""
    )
    assert query.default_graphs == (Iri("g"),)
    assert query.named_graphs == (Iri("n1"), Iri("n2"))
    assert query.windows == (
        WindowDeclaration(Iri("w1"), SlidingWindow(Iri("s1"), width_ms=10_000, slide_ms=5_000)),
        WindowDeclaration(Iri("w2"), SlidingWindow(Iri("s2"), width_ms=60_000, slide_ms=60_000)),
    )


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("[RANGE PT10S STEP PT5S]", (10_000, 5_000)),
        ("[range pt10s step pt5s]", (10_000, 5_000)),
        ("[RANGE PT10S SLIDE PT5S]", (10_000, 5_000)),
        ("[RANGE PT0.5S]", (500, 500)),
        ("[RANGE P1D STEP PT2H]", (86_400_000, 7_200_000)),
        ("[RANGE PT1S STEP PT1M30S]", (1_000, 90_000)),
    ],
)
def test_sliding_windows(operator, expected):
    query = parse_query(f"PREFIX : <http://ex/> ASK FROM NAMED WINDOW :w ON :s {operator} {{ WINDOW :w {{}} }}")
    [declared] = query.windows
    assert declared.name == Iri("http://ex/w")
    assert declared.window == SlidingWindow(Iri("http://ex/s"), *expected)


def test_windows_in_patterns():
    declared = "FROM NAMED WINDOW <w> ON <s> [RANGE PT10S]"
    query = parse_query(f"SELECT ?s {declared} {{ WINDOW <w> {{ ?s ?p ?o }} window ?x {{ ?s ?p ?o }} }}")
    assert query.root == Project(Join(Window(Iri("w"), BODY), Window(Variable("x"), BODY)), (S,))


@pytest.mark.parametrize("operator", list(StreamOperator))
@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_registration(operator, case):
    query = parse_query(f"{case('REGISTER')} {case(operator.value)} <q1> {case('AS')} ASK {{}}")
    assert (query.name, query.output) == ("q1", operator)


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX : <http://ex/> REGISTER RSTREAM :q AS ASK {}",
        "REGISTER RSTREAM :q AS PREFIX : <http://ex/> ASK {}",
        "BASE <http://ex/> REGISTER RSTREAM <q> AS PREFIX : <> ASK {}",
    ],
)
def test_the_prologue_may_come_before_or_after_registration(text):
    assert parse_query(text).name == "http://ex/q"


def test_a_query_that_is_not_registered_has_no_name():
    assert parse_query("ASK {}").name is None


def test_the_base_is_kept_for_the_function_iri():
    assert parse_query("BASE <http://a/b/> BASE <c/> ASK {}").base == "http://a/b/c/"
    assert parse_query("ASK {}").base is None
