"""Whole queries over a small dataset: forms, datasets and graphs."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from freshet.federation.errors import RefusedError
from freshet.oneshot.answer import answer
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.results.report import BooleanAnswer, GraphAnswer, Solutions
from freshet.syntax.parser import parse_query
from plain_dataset import dataset_of

PREFIX = "PREFIX : <http://example.org/>\n"
DATA = """
@prefix : <http://example.org/> .
:a :p :b, :c ; :q 1, 2 ; :name "A" .
:b :p :c ; :q 2 . :c :p :a .
:d :r _:x . _:x :p :d ; :r _:y . _:y :q 5 ; :r _:x .
:g1 { :a :p :d . :d :q 7 . :b :p :d }
:g2 { :b :p :d }
"""
QUADS = list(ox.parse(DATA, ox.RdfFormat.TRIG))
DICTIONARY = Dictionary()
DATASET = dataset_of(QUADS, DICTIONARY)


def ask(text: str) -> bool:
    found = answer(parse_query(PREFIX + text), DATASET, DICTIONARY)
    assert isinstance(found, BooleanAnswer)
    return found.value


def select(text: str) -> list[str]:
    """The rows of an answer, sorted, with short names."""
    found = answer(parse_query(PREFIX + text), DATASET, DICTIONARY)
    assert isinstance(found, Solutions)
    return sorted(" ".join(map(_short, row)) for row in found.rows.tolist())


def construct(text: str) -> list[str]:
    found = answer(parse_query(PREFIX + text), DATASET, DICTIONARY)
    assert isinstance(found, GraphAnswer)
    rows = zip(found.subjects.tolist(), found.predicates.tolist(), found.objects.tolist(), strict=True)
    return sorted(" ".join(map(_short, row)) for row in rows)


def _short(term_id: int) -> str:
    if term_id == 0:
        return "-"
    text = str(DICTIONARY.decode(term_id))
    if text.startswith("_:"):
        return "_:"
    return text.replace("http://example.org/", "").split("^^")[0].strip('<>"')


def test_ask() -> None:
    assert ask("ASK { :a :p :b }")
    assert not ask("ASK { :b :p :b }")
    assert not ask("ASK { :unknown :p ?x }")
    assert ask("ASK {}")


def test_select_in_the_order_of_the_clause_with_unbound_columns() -> None:
    found = answer(parse_query(PREFIX + "SELECT ?z ?o ?s { ?s :name ?o }"), DATASET, DICTIONARY)
    assert isinstance(found, Solutions)
    assert found.variables == ("z", "o", "s")
    assert select("SELECT ?z ?o ?s { ?s :name ?o }") == ["- A a"]


def test_limit_stops_early_and_counts_right() -> None:
    assert len(select("SELECT * { ?s :p ?o . ?o :p ?z } LIMIT 2")) == 2
    assert len(select("SELECT * { { ?s :p ?o } UNION { ?s :q ?o } } LIMIT 7")) == 7
    assert len(select("SELECT (?o AS ?x) { ?s :p ?o } OFFSET 4 LIMIT 7")) == 1


def test_construct_leaves_out_what_is_no_triple() -> None:
    assert construct("CONSTRUCT { ?o :of ?s } { ?s :p|:q ?o }") == [
        "a of c",
        "b of a",
        "c of a",
        "c of b",
        "d of _:",
    ]
    assert construct("CONSTRUCT { ?s ?o :x . ?s :y ?z } { ?s :name ?o }") == []


def test_construct_makes_blank_nodes_for_each_solution() -> None:
    made = construct("CONSTRUCT { ?s :has [ :value ?o ] } { ?s :q ?o }")
    values = ["_: value 1", "_: value 2", "_: value 2", "_: value 5"]
    assert made == ["_: has _:", *values, "a has _:", "a has _:", "b has _:"]
    again = construct("CONSTRUCT { _:x :from ?s . _:x :to ?o } { ?s :name ?o }")
    assert again == ["_: from a", "_: to A"]


def test_construct_is_a_set() -> None:
    assert construct("CONSTRUCT { ?s :is :Here } { ?s :p ?o }").count("a is Here") == 1
    assert construct("CONSTRUCT {} { ?s :p ?o }") == []


def test_describe_follows_blank_nodes() -> None:
    assert construct("DESCRIBE :d") == ["_: p d", "_: q 5", "_: r _:", "_: r _:", "d r _:"]
    assert construct("DESCRIBE ?s { ?s :name ?n }") == ["a name A", "a p b", "a p c", "a q 1", "a q 2"]
    assert construct("DESCRIBE :unknown") == []


def test_graph() -> None:
    assert select("SELECT * { GRAPH :g1 { ?s :p ?o } }") == ["a d", "b d"]
    assert select("SELECT ?g ?s { GRAPH ?g { ?s :p ?o } }") == ["g1 a", "g1 b", "g2 b"]
    assert select("SELECT ?g { GRAPH ?g {} }") == ["g1", "g2"]
    assert select("SELECT * { GRAPH :unknown {} }") == []
    assert ask("ASK { GRAPH :g1 {} }")
    assert select("SELECT ?g { VALUES ?g { :g2 :g3 } GRAPH ?g { ?s :p ?o } }") == ["g2"]
    # a variable of GRAPH is joined from outside: a filter inside does not see it
    assert select("SELECT ?g { GRAPH ?g { ?s :p ?o FILTER BOUND(?g) } }") == []


def test_from_merges_graphs() -> None:
    assert select("SELECT * FROM :g1 FROM :g2 { ?s :p ?o }") == ["a d", "b d"]
    assert select("SELECT ?z FROM :g1 FROM :g2 { ?s :p ?o . ?o :q ?z }") == ["7", "7"]
    assert select("SELECT * FROM :g1 { GRAPH ?g { ?s :p ?o } }") == []
    assert select("SELECT * FROM NAMED :g2 { ?s :p ?o }") == []
    assert select("SELECT ?g FROM NAMED :g2 FROM NAMED :unknown { GRAPH ?g { ?s :p ?o } }") == ["g2"]


def test_exists_in_the_active_graph() -> None:
    assert select("SELECT ?g { GRAPH ?g { ?s :p ?o FILTER EXISTS { ?o :q ?z } } }") == ["g1", "g1"]


def test_what_is_refused_is_named() -> None:
    with pytest.raises(UnsupportedError, match=r"function <http://example\.org/f>"):
        answer(parse_query("SELECT * { ?s ?p ?o FILTER (<http://example.org/f>(?s)) }"), DATASET, DICTIONARY)
    with pytest.raises(RefusedError, match="SERVICE may not ask"):
        answer(parse_query("SELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }"), DATASET, DICTIONARY)
