"""Queries that nest too deeply are refused, wherever the depth comes from."""

from __future__ import annotations

import sys

import pytest

from freshet.algebra.printing import explain_json, explain_text
from freshet.algebra.rewrite.rules import rewrite
from freshet.rdf.errors import QuerySyntaxError
from freshet.syntax.nesting import DEEPEST_ALGEBRA
from freshet.syntax.parser import parse_query

DEEP = 4_000


def deep_queries() -> dict[str, str]:
    return {
        "groups": "ASK " + "{" * DEEP + "}" * DEEP,
        "optionals": "ASK {" + "OPTIONAL {" * DEEP + "}" * DEEP + "}",
        "calls": "ASK { FILTER(" + "STR(" * DEEP + "?x" + ")" * DEEP + ") }",
        "negations": "ASK { FILTER(" + "!(" * DEEP + "?x" + ")" * DEEP + ") }",
        "sums": "ASK { FILTER(" + "1 + (" * DEEP + "?x" + ")" * DEEP + ") }",
        "collections": "ASK { ?s ?p " + "(" * DEEP + "1" + ")" * DEEP + " }",
        "blank nodes": "ASK { ?s ?p " + "[ ?p " * DEEP + "1" + "]" * DEEP + " }",
        "paths": "ASK { ?s " + "(" * DEEP + "<p>" + ")*" * DEEP + " ?o }",
        "selects": "SELECT * {" * DEEP + "}" * DEEP,
        "exists": "ASK {" + "FILTER EXISTS {" * DEEP + "}" * DEEP + "}",
        "many binds": "ASK {" + "".join(f"BIND (1 AS ?v{index})" for index in range(1500)) + "}",
        "many optionals": "ASK {" + "OPTIONAL { ?s ?p ?o }" * 1500 + "}",
        "a long sum": "ASK { FILTER(" + "1 + " * DEEP + "1) }",
        "a long sum in an aggregate": "SELECT (SUM(" + "1 + " * DEEP + "1) AS ?x) {}",
    }


@pytest.mark.parametrize("name", deep_queries())
def test_too_deep(name):
    with pytest.raises(QuerySyntaxError, match=r"nested too deeply|operators deep"):
        parse_query(deep_queries()[name])


def test_the_place_where_brackets_go_too_deep():
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query("ASK {\n" + "{\n" * 500 + "}" * 501)
    assert caught.value.line is not None
    assert 50 < caught.value.line < 300


def test_unclosed_brackets_are_only_unclosed():
    with pytest.raises(QuerySyntaxError, match="the query ends here"):
        parse_query("ASK " + "{" * 20_000)


@pytest.mark.parametrize(
    "text",
    [
        "ASK " + "{" * 100 + "}" * 100,
        "ASK { FILTER(" + "(" * 10_000 + "?x" + ")" * 10_000 + ") }",
        "ASK { FILTER(" + " || ".join(["?x"] * 5_000) + ") }",
        "ASK { ?s " + "/".join(["<p>"] * 5_000) + " ?o }",
        "ASK {" + "?s ?p ?o . " * 5_000 + "}",
        "ASK { VALUES ?x {" + " 1" * 5_000 + "} }",
    ],
    ids=["groups", "needless brackets", "alternatives", "steps", "triples", "values"],
)
def test_long_is_not_deep(text):
    assert rewrite(parse_query(text))


def test_what_the_parser_lets_through_can_be_walked():
    """The deepest query is compared, hashed, printed and explained with room to spare on Python's stack."""
    text = "ASK {" + "OPTIONAL { ?s ?p ?o }" * (DEEPEST_ALGEBRA - 10) + "}"
    query = parse_query(text)
    assert sys.getrecursionlimit() <= 1000
    assert query == parse_query(text)
    assert hash(query) == hash(parse_query(text))
    assert repr(query)
    assert explain_text(query)
    assert explain_json(query)
    assert explain_text(query, rewrite(query))
