"""The order of ORDER BY: by ranks of distinct terms, against one that compares pairs."""

from __future__ import annotations

from functools import cmp_to_key
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.algebra.expressions import Compare, Variable
from freshet.expressions import order as module
from freshet.expressions.evaluate import evaluate
from freshet.expressions.order import order, term_ranks
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF_LANG_STRING, BlankNode, Iri, Literal, Term
from oxigraph_expressions import MOMENTS, NUMBERS, STRINGS, TERMS, typed

PROPERTY = settings(max_examples=60, deadline=None)
TRUE = typed("boolean", "true")


def ids_of(terms: list[Term | None], dictionary: Dictionary) -> np.ndarray:
    return np.array([dictionary.encode(term) if term else 0 for term in terms], np.int64)


def ordered(terms: list[Term | None], descending: bool = False) -> list[Term | None]:
    dictionary = Dictionary()
    return [terms[row] for row in order([(ids_of(terms, dictionary), descending)], dictionary)]


def less(left: Term, right: Term) -> bool:
    """`left < right` by the operator itself."""
    dictionary = Dictionary()
    columns = {name: ids_of([term], dictionary) for name, term in (("a", left), ("b", right))}
    return dictionary.decode_many(evaluate(Compare("<", Variable("a"), Variable("b")), columns, 1, dictionary)) == [
        TRUE
    ]


@PROPERTY
@given(st.lists(NUMBERS, max_size=12) | st.lists(STRINGS, max_size=12) | st.lists(MOMENTS, max_size=12))
def test_agrees_with_the_operator(terms: list[Term]) -> None:
    """What is less by `<` comes first, whatever else stands between."""
    found = ordered(terms)
    for at, left in enumerate(found):
        for right in found[at + 1 :]:
            assert left.datatype != right.datatype or not less(right, left), f"{left}, {right}"


@PROPERTY
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30), st.booleans())
def test_is_stable(numbers: list[int], descending: bool) -> None:
    """Numbers of one value and several types stay in the order in which they came."""
    types = ("integer", "decimal", "double", "float")
    terms = [typed(types[at % 4], f"{number}.0" if at % 4 else str(number)) for at, number in enumerate(numbers)]
    dictionary = Dictionary()
    found = order([(ids_of(terms, dictionary), descending)], dictionary).tolist()
    assert found == sorted(range(len(numbers)), key=lambda row: -numbers[row] if descending else numbers[row])


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), min_size=1, max_size=30), st.booleans())
def test_several_conditions(pairs: list[tuple[int, str]], descending: bool) -> None:
    dictionary = Dictionary()
    numbers = ids_of([typed("integer", str(number)) for number, _ in pairs], dictionary)
    texts = ids_of([Literal(text) for _, text in pairs], dictionary)
    found = order([(numbers, descending), (texts, not descending)], dictionary).tolist()

    def compare(one: int, other: int) -> int:
        (first, text), (second, word) = pairs[one], pairs[other]
        sign = (first > second) - (first < second)
        last = (text > word) - (text < word)
        return (-sign if descending else sign) or (last if descending else -last)

    assert found == sorted(range(len(pairs)), key=cmp_to_key(compare))


@PROPERTY
@given(st.lists(TERMS | st.none(), min_size=1, max_size=30, unique=True), st.randoms())
def test_ranks_do_not_depend_on_the_order_of_rows(terms: list[Term | None], random: Random) -> None:
    dictionary = Dictionary()
    ranks = dict(zip(terms, term_ranks(ids_of(terms, dictionary), dictionary), strict=True))
    shuffled = list(terms)
    random.shuffle(shuffled)
    places = [ranks[term] for term in ordered(shuffled)]
    assert places == sorted(places)


def test_kinds_of_terms() -> None:
    terms = [
        None,
        BlankNode("a"),
        Iri("http://a"),
        Iri("http://a#"),
        Iri("http://a/b"),
        typed("double", "-INF"),
        typed("integer", "-5"),
        typed("decimal", "0.5"),
        typed("integer", "9007199254740992"),
        typed("integer", "9007199254740993"),
        typed("double", "INF"),
        typed("double", "NaN"),
        typed("dateTime", "1969-12-31T23:59:59Z"),
        typed("dateTime", "2020-01-01T00:00:00+01:00"),
        typed("dateTime", "2020-01-01T00:00:00Z"),
        typed("boolean", "false"),
        typed("boolean", "true"),
        Literal(""),
        Literal("Z"),
        Literal("a"),
        Literal("a", RDF_LANG_STRING, "de"),
        Literal("a", RDF_LANG_STRING, "en"),
        Literal("a", Iri("urn:d")),
        Literal("a\x01"),
        Literal("ab"),
        Literal("\uffff"),
        Literal("\U0001f600"),
    ]
    assert ordered(terms[::-1]) == terms
    assert ordered(terms, descending=True) == terms[::-1]


def test_no_rows_and_no_conditions() -> None:
    assert order([(np.empty(0, np.int64), False)], Dictionary()).tolist() == []
    with pytest.raises(ValueError, match="condition"):
        order([], Dictionary())


def test_many_rows_are_ordered_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(7)
    dictionary = Dictionary()
    terms = dictionary.encode_many([Literal(str(number)) for number in range(70_000)])
    columns = [(random.choice(terms[:300], 200_000), True), (random.choice(terms, 200_000), False)]
    assert np.array_equal(order(columns, dictionary), _few(columns, dictionary, monkeypatch))
    assert np.array_equal(order(columns[1:], dictionary), _few(columns[1:], dictionary, monkeypatch))


def _few(columns: list[tuple[np.ndarray, bool]], dictionary: Dictionary, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    with monkeypatch.context() as patched:
        patched.setattr(module, "_FEW_ROWS", 1 << 30)
        return order(columns, dictionary)
