"""The order of joins follows the statistics, where there are any."""

from __future__ import annotations

import pytest

from freshet.algebra.nodes import BGP, Join, Project, Query, TriplePattern
from freshet.algebra.rewrite.rules import rewrite
from freshet.algebra.text import term_text
from freshet.rdf.terms import Iri
from freshet.syntax.parser import parse_query


class Counts:
    """How many triples each predicate has, and in how many of them each subject and object is."""

    def __init__(self, **counts: float) -> None:
        self.counts = counts

    def count(self, pattern: TriplePattern) -> float:
        assert isinstance(pattern.predicate, Iri)
        constants = [isinstance(term, Iri) for term in (pattern.subject, pattern.object)]
        return self.counts[pattern.predicate.value] / 10 ** sum(constants)

    def distinct(self, predicate: object, place: str) -> float:
        return 10.0


def predicates(query: Query) -> list[str]:
    assert isinstance(query.root, Project)
    node = query.root.child
    parts = []
    while isinstance(node, Join):
        parts.append(node.right)
        node = node.left
    patterns = [pattern for part in [node, *parts[::-1]] if isinstance(part, BGP) for pattern in part.patterns]
    return [term_text(pattern.predicate).strip("<>") for pattern in patterns]


@pytest.mark.parametrize(
    ("counts", "order"),
    [({"p": 1, "q": 100, "r": 100}, "pqr"), ({"p": 100, "q": 100, "r": 1}, "rqp"), ({"p": 50, "q": 1, "r": 9}, "qrp")],
)
def test_rare_predicates_first(counts: dict[str, float], order: str) -> None:
    query = parse_query("SELECT ?a { ?a <p> ?b . ?b <q> ?c . ?c <r> ?d }")
    assert predicates(rewrite(query, Counts(**counts))) == list(order)


def test_what_is_not_connected_comes_last() -> None:
    query = parse_query("SELECT ?a { ?a <p> ?b . ?x <q> ?y . ?b <r> ?c }")
    assert predicates(rewrite(query, Counts(p=10, q=20, r=1000))) == ["p", "r", "q"]


def test_a_service_waits_for_its_endpoint() -> None:
    query = parse_query("SELECT ?a { SERVICE ?e { ?a <p> <x> } { ?a <q> ?e OPTIONAL { ?a <r> ?b } } }")
    root = rewrite(query).root
    assert isinstance(root, Project)
    assert isinstance(root.child, Join)
    assert type(root.child.right).__name__ == "Service"
