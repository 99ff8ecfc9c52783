"""The judge of the other tests, judged."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.comparing import difference
from conformance.expected import TermAnswer
from conformance.isomorphism import Row, same_bag, same_sequence
from freshet.rdf.ids import XSD_DECIMAL, XSD_DOUBLE
from freshet.rdf.terms import BlankNode, Iri, Literal

A, B, C = BlankNode("a"), BlankNode("b"), BlankNode("c")
X, Y = Iri("http://example.org/x"), Iri("http://example.org/y")


def answer(*rows: Row, ordered: bool = False) -> TermAnswer:
    return TermAnswer(variables=frozenset("x"), rows=rows, ordered=ordered)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from([A, B, C, X, None])] * 2), max_size=5),
    st.lists(st.tuples(*[st.sampled_from([A, B, C, X, None])] * 2), max_size=5),
)
def test_as_trying_every_renaming(left: list[Row], right: list[Row]) -> None:
    def renamed(rows: list[Row], nodes: tuple[BlankNode, ...]) -> list[Row]:
        names = dict(zip((A, B, C), nodes, strict=True))
        return sorted((tuple(names.get(term, term) for term in row) for row in rows), key=str)

    naive = any(renamed(left, nodes) == renamed(right, (A, B, C)) for nodes in permutations((A, B, C)))
    assert same_bag(left, right) == naive


def test_a_large_result_with_many_blank_nodes_alike() -> None:
    rows: list[Row] = [(BlankNode(f"b{n}"), X, BlankNode(f"b{(n + 1) % 24}")) for n in range(24)]
    labels = list(range(24))
    random.Random(1).shuffle(labels)
    other = [(BlankNode(f"c{labels[n]}"), X, BlankNode(f"c{labels[(n + 1) % 24]}")) for n in range(24)]
    assert same_bag(rows, other)
    # two rings of twelve look the same from each node
    apart = [(BlankNode(f"b{n}"), X, BlankNode(f"b{n // 12 * 12 + (n + 1) % 12}")) for n in range(24)]
    assert not same_bag(rows, apart)


def test_order() -> None:
    assert same_sequence([(A,), (X,), (A,)], [(B,), (X,), (B,)])
    assert not same_sequence([(A,), (X,), (A,)], [(B,), (X,), (C,)])
    assert not difference(answer((X,), (Y,)), answer((Y,), (X,)))
    assert "in order" in difference(answer((X,), (Y,)), answer((Y,), (X,), ordered=True))


def test_lax_cardinality_lets_duplicates_go_but_not_solutions() -> None:
    assert not difference(answer((X,), (Y,)), answer((X,), (X,), (Y,)), lax=True)
    assert difference(answer((X,), (Y,)), answer((X,), (X,), (Y,)))
    assert difference(answer((X,), (X,)), answer((X,), (X,), (Y,)), lax=True)
    assert difference(answer((X,), (X,), (Y,)), answer((X,), (Y,)), lax=True)


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        (Literal("2", XSD_DECIMAL), Literal("2.0", XSD_DECIMAL), True),
        (Literal("0", XSD_DOUBLE), Literal("0E0", XSD_DOUBLE), True),
        (Literal("0.4", XSD_DOUBLE), Literal("4.0000000000001E-1", XSD_DOUBLE), True),
        (Literal("2", XSD_DECIMAL), Literal("2", XSD_DOUBLE), False),
        (Literal("2"), Literal("2.0"), False),
        (Literal("2.5", XSD_DECIMAL), Literal("2.4", XSD_DECIMAL), False),
    ],
)
def test_numbers_by_value(found: Literal, expected: Literal, same: bool) -> None:
    assert difference(answer((found,)), answer((expected,)))
    assert (difference(answer((found,)), answer((expected,)), by_value=True) == "") == same


def test_what_has_no_rows() -> None:
    assert difference(TermAnswer(truth=True), TermAnswer(truth=False))
    assert difference(answer(), TermAnswer(variables=frozenset("y")))
    assert difference(answer(), TermAnswer())
    assert not difference(TermAnswer(rows=((A, X, B),)), TermAnswer(rows=((B, X, C),)))
