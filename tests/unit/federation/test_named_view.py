"""Patterns that differ only in the names of their variables are one, and others are not."""

from __future__ import annotations

import pytest

from freshet.algebra.nodes import Node, Service
from freshet.federation.named_view import number_endpoints
from freshet.syntax.parser import parse_query


def pattern(text: str) -> Node:
    node: Node = parse_query(f"SELECT * {{ SERVICE <http://e/> {{ {text} }} }}").root
    while not isinstance(node, Service):
        node = node.child  # type: ignore[attr-defined]
    return node.child


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("?a <p:> ?b", "?x <p:> ?y", True),
        ("?a <p:> ?b", "?b <p:> ?a", True),
        ("?a <p:> ?a", "?x <p:> ?y", False),
        ("?a <p:> ?b . ?b <p:> ?c", "?x <p:> ?y . ?x <p:> ?z", False),
        ("?a <p:> ?b FILTER (?b > 1)", "?x <p:> ?y FILTER (?y > 1)", True),
        ("?a <p:> ?b FILTER (?b > 1)", "?x <p:> ?y FILTER (?x > 1)", False),
        ("?a <p:> ?b FILTER (?b > 1)", "?x <p:> ?y FILTER (?y > 2)", False),
        ("?a <p:> ?b FILTER EXISTS { ?a <q:> ?c }", "?x <p:> ?y FILTER EXISTS { ?x <q:> ?z }", True),
        ("?a <p:> ?b FILTER EXISTS { ?a <q:> ?c }", "?x <p:> ?y FILTER EXISTS { ?y <q:> ?z }", False),
        (
            "{ SELECT ?a (COUNT(?b) AS ?n) { ?a <p:> ?b } GROUP BY ?a }",
            "{ SELECT ?x (COUNT(?y) AS ?z) { ?x <p:> ?y } GROUP BY ?x }",
            True,
        ),
        ("?a <p:> ?b BIND (?b + 1 AS ?c)", "?x <p:> ?y BIND (?y + 1 AS ?z)", True),
        ("VALUES ?a { 1 2 } ?a <p:> ?b", "VALUES ?x { 1 2 } ?x <p:> ?y", True),
    ],
)
def test_which_patterns_are_one(one: str, other: str, same: bool) -> None:
    assert (number_endpoints(pattern(one))[0] == number_endpoints(pattern(other))[0]) is same


def test_names_are_in_the_order_of_the_numbers() -> None:
    found, names = number_endpoints(pattern("?user <p:> ?n OPTIONAL { ?n <q:> ?user . ?n <r:> ?other }"))
    assert names == ("user", "n", "other")
    assert number_endpoints(found) == (found, ("v0", "v1", "v2"))
