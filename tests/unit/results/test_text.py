"""What Python shows of answers, reports and registered queries."""

from __future__ import annotations

import numpy as np

import freshet
from declaring import register
from freshet.results.report import Solutions
from freshet.results.text import MOST_CHARACTERS

HOT = """
    REGISTER RSTREAM <{name}> AS {form} FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
    WHERE {{ WINDOW <w> {{ ?room <http://example.org/t> ?t }} }}"""


def test_the_first_rows_and_how_many_are_left_out() -> None:
    values = " ".join(map(str, range(1234)))
    lines = repr(freshet.Session().query(f"SELECT ?n {{ VALUES ?n {{ {values} }} }} ORDER BY ?n")).splitlines()
    assert lines == ["1,234 solutions", "n", *map(str, range(10)), "... 1,224 more"]


def test_columns_are_aligned_and_unbound_variables_are_empty() -> None:
    answer = freshet.Session().query("SELECT ?a ?b ?c { VALUES (?a ?b ?c) { (<http://example.org/x> UNDEF 1.50) } }")
    assert repr(answer).splitlines() == ["1 solution", "a                     b  c", "http://example.org/x     1.50"]


def test_a_term_is_one_line_of_some_length() -> None:
    answer = freshet.Session().query(
        'SELECT ?x { BIND (CONCAT("a\\n b", REPLACE("%s", "x", "yy")) AS ?x) }' % ("x" * 99)
    )
    assert repr(answer).splitlines()[2] == ("a b" + "y" * 99)[: MOST_CHARACTERS - 3] + "..."


def test_answers_of_every_form() -> None:
    session = freshet.Session()
    assert repr(session.query("ASK {}")) == "true"
    graph = session.query("CONSTRUCT { [] <http://p> 1 } {}")
    title, names, row = repr(graph).splitlines()
    assert (title, names.split()) == ("1 triple", ["subject", "predicate", "object"])
    assert row.startswith("_:")
    assert row.split()[1:] == ["http://p", "1"]
    assert repr(session.query("SELECT * {}")) == "1 solution"
    assert repr(session.query("SELECT ?x { FILTER (false) }")) == "0 solutions"
    assert repr(Solutions(("x",), np.array([[7]]))) == "1 solution"


def test_reports_and_the_queries_that_they_are_of() -> None:
    session = freshet.Session()
    select = register(session, HOT.format(name="hot", form="SELECT ?room ?t"))
    construct = session.register(HOT.format(name="made", form="CONSTRUCT { ?room <http://example.org/is> ?t }"))
    session.push("http://example.org/s", "<http://example.org/hall> <http://example.org/t> 21 .", time_ms=10)
    session.finish()
    assert repr(select) == "<RegisteredQuery hot: ?room ?t, 1 report to take>"
    [report] = select.take()
    assert repr(report).splitlines() == [
        "hot at 1000 ms, rstream: 1 solution",
        "room                     t",
        "http://example.org/hall  21",
    ]
    assert repr(select).endswith("0 reports to take>")
    [report] = construct.take()
    assert repr(report).startswith("made at 1000 ms, rstream: 1 triple\nsubject")
