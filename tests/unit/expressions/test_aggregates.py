"""Aggregates over groups at once, against a fold over each group's terms."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.algebra.expressions import Aggregate, Variable
from freshet.expressions.aggregates import aggregate
from freshet.expressions.order import order
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF_LANG_STRING, BlankNode, Iri, Literal, Term
from oxigraph_expressions import TERMS, typed

PROPERTY = settings(max_examples=80, deadline=None)
A = Variable("a")
GROUPS = 4
SMALL = st.integers(-50, 50)
NUMBERS = st.one_of(
    SMALL.map(lambda number: typed("integer", str(number))),
    SMALL.map(lambda number: typed("decimal", f"{number}.5")),
)
OPERANDS = st.one_of(TERMS, NUMBERS, st.none(), st.just(BlankNode("b")))
Rows = list[tuple[int, Term | None]]


def rows_of(terms: st.SearchStrategy[Term | None]) -> st.SearchStrategy[Rows]:
    return st.lists(st.tuples(st.integers(0, GROUPS - 2), terms), max_size=30)  # the last group has no rows


def results(function: Aggregate, rows: Rows, count: int = GROUPS) -> list[Term | None]:
    dictionary = Dictionary()
    ids = np.array([dictionary.encode(term) if term else 0 for _, term in rows], np.int64)
    groups = np.array([group for group, _ in rows], np.int64)
    return dictionary.decode_many(aggregate(function, ids, groups, count, dictionary))


def members(rows: Rows, group: int, distinct: bool) -> list[Term | None]:
    terms = [term for number, term in rows if number == group]
    return list(dict.fromkeys(terms)) if distinct else terms


@PROPERTY
@given(rows_of(OPERANDS), st.booleans())
def test_count_and_sample(rows: Rows, distinct: bool) -> None:
    counts, samples = (results(Aggregate(name, A, distinct), rows) for name in ("COUNT", "SAMPLE"))
    for group in range(GROUPS):
        bound = [term for term in members(rows, group, distinct) if term is not None]
        assert counts[group] == typed("integer", str(len(bound)))
        assert (samples[group] in bound) if bound else samples[group] is None


@PROPERTY
@given(rows_of(NUMBERS), st.booleans())
def test_sum_and_average_of_exact_numbers(rows: Rows, distinct: bool) -> None:
    sums, means = (results(Aggregate(name, A, distinct), rows) for name in ("SUM", "AVG"))
    for group in range(GROUPS):
        terms = [term for term in members(rows, group, distinct) if isinstance(term, Literal)]
        total = sum((Decimal(term.lexical) for term in terms), Decimal(0))
        kind = "decimal" if any(term.datatype.value.endswith("decimal") for term in terms) else "integer"
        assert value_of(sums[group]) == (kind, total)
        mean_kind, mean = value_of(means[group])
        assert mean_kind == ("decimal" if terms else "integer")
        assert abs(mean - total / max(len(terms), 1)) < Decimal("1e-15")


def value_of(term: Term | None) -> tuple[str, Decimal]:
    assert isinstance(term, Literal)
    return term.datatype.value.rpartition("#")[2], Decimal(term.lexical)


@PROPERTY
@given(rows_of(OPERANDS), st.booleans())
def test_least_and_greatest(rows: Rows, distinct: bool) -> None:
    """MIN and MAX follow ORDER BY; a row without a term makes them errors."""
    least, greatest = (results(Aggregate(name, A, distinct), rows) for name in ("MIN", "MAX"))
    for group in range(GROUPS):
        terms = members(rows, group, distinct)
        if None in terms or not terms:
            assert least[group] is None
            assert greatest[group] is None
            continue
        assert least[group] in terms
        assert greatest[group] in terms
        assert first_in_order([least[group], *terms]) == 0
        assert first_in_order([greatest[group], *terms], descending=True) == 0


def first_in_order(terms: Sequence[Term | None], descending: bool = False) -> int:
    dictionary = Dictionary()
    ids = np.array([dictionary.encode(term) if term else 0 for term in terms], np.int64)
    return int(order([(ids, descending)], dictionary)[0])


@PROPERTY
@given(rows_of(OPERANDS), st.booleans(), st.sampled_from([" ", "", ", ", '"']))
def test_concatenation(rows: Rows, distinct: bool, separator: str) -> None:
    found = results(Aggregate("GROUP_CONCAT", A, distinct, separator), rows)
    for group in range(GROUPS):
        terms = members(rows, group, distinct)
        if all(isinstance(term, Iri | Literal) for term in terms):
            texts = [term.value if isinstance(term, Iri) else term.lexical for term in terms]
            assert found[group] == Literal(separator.join(texts))
        else:
            assert found[group] is None


@PROPERTY
@given(st.lists(st.integers(0, GROUPS - 2), max_size=20))
def test_count_of_rows(groups: list[int]) -> None:
    dictionary = Dictionary()
    ids = aggregate(Aggregate("COUNT", None), None, np.array(groups, np.int64), GROUPS, dictionary)
    assert dictionary.decode_many(ids) == [typed("integer", str(groups.count(group))) for group in range(GROUPS)]


def test_errors_reach_sums() -> None:
    one, text = typed("integer", "1"), Literal("1")
    rows: Rows = [(0, one), (0, None), (1, one), (1, text), (2, one), (2, one)]
    for name, whole in (("SUM", "2"), ("AVG", "1")):
        found = results(Aggregate(name, A), rows)
        assert found[:2] == [None, None]
        assert value_of(found[2])[1] == Decimal(whole)
        assert found[3] == typed("integer", "0")
    assert results(Aggregate("SUM", A, distinct=True), rows)[2] == one


def test_types_of_sums() -> None:
    rows: Rows = [
        *((0, typed(name, "1")) for name in ("integer", "byte")),
        *((1, typed(name, "1")) for name in ("integer", "decimal")),
        *((2, typed(name, "1")) for name in ("decimal", "float")),
        *((3, typed(name, "1")) for name in ("float", "double")),
    ]
    assert [value_of(term) for term in results(Aggregate("SUM", A), rows)] == [
        (kind, Decimal(2)) for kind in ("integer", "decimal", "float", "double")
    ]


def test_distinct_tells_terms_apart_not_values() -> None:
    rows: Rows = [(0, typed("decimal", "1.0")), (0, typed("decimal", "1.00")), (0, typed("decimal", "1.0"))]
    assert results(Aggregate("COUNT", A, distinct=True), rows, 1) == [typed("integer", "2")]
    assert results(Aggregate("GROUP_CONCAT", A, True, "|"), rows, 1) == [Literal("1.0|1.00")]
    tagged = Literal("x", RDF_LANG_STRING, "en")
    assert results(Aggregate("GROUP_CONCAT", A, True), [(0, tagged), (0, Literal("x"))], 1) == [Literal("x x")]


def test_whole_rows_and_unknown_functions_are_refused() -> None:
    nothing = np.empty(0, np.int64)
    for function in (Aggregate("COUNT", None, distinct=True), Aggregate("SUM", None)):
        with pytest.raises(ValueError, match="whole rows"):
            aggregate(function, None, nothing, 1, Dictionary())
    with pytest.raises(ValueError, match="MEDIAN"):
        aggregate(Aggregate("MEDIAN", A), nothing, nothing, 1, Dictionary())
