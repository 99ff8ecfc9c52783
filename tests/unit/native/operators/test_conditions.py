"""Conditions that are tested in a short way give what the expression gives, whatever the terms and how many rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.algebra.expressions import And, Call, Compare, Constant, Expression, Not, Variable
from freshet.expressions import evaluate as expressions
from freshet.native.operators.conditions import FEW_ROWS, Condition
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import BlankNode, Iri, Term
from oxigraph_expressions import INLINE_TERMS, TERMS

A, B = Variable("a"), Variable("b")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
TERM = st.one_of(
    TERMS,
    INLINE_TERMS,
    st.sampled_from([Iri("http://example.org/a"), Iri("http://example.org/b"), BlankNode("a"), BlankNode("b")]),
)
SIDES = ("a b", "a constant", "constant b", "both", "not", "same", "not same", "constants", "c")
ROWS = st.lists(st.tuples(st.one_of(st.none(), TERM), st.one_of(st.none(), TERM)), min_size=1, max_size=FEW_ROWS + 4)


def ids_of(dictionary: Dictionary, terms: list[Term | None]) -> np.ndarray:
    return np.array([0 if term is None else dictionary.encode(term) for term in terms], np.int64)


@settings(max_examples=300, deadline=None)
@given(ROWS, st.sampled_from(COMPARISONS), TERM, st.sampled_from(SIDES))
def test_a_comparison_gives_what_the_expression_gives(
    rows: list[tuple[Term | None, Term | None]], operator: str, term: Term, sides: str
) -> None:
    constant = Constant(term)
    expression: Expression = {
        "a b": Compare(operator, A, B),
        "a constant": Compare(operator, A, constant),
        "constant b": Compare(operator, constant, B),
        "both": And(Compare(operator, A, B), Compare("!=", A, constant)),
        "not": Not(Compare(operator, A, B)),
        "same": Call("SAMETERM", (A, B)),
        "not same": Not(Call("SAMETERM", (A, constant))),
        "constants": Compare(operator, constant, constant),
        "c": Compare(operator, A, Variable("c")),  # which nobody binds
    }[sides]
    dictionary, other = Dictionary(), Dictionary()
    condition = Condition(expression, dictionary)
    for part in (rows[:1], rows, rows[:1]):  # what is not known yet is known after
        table = np.stack([ids_of(dictionary, list(column)) for column in zip(*part, strict=True)], axis=1)
        columns = {"a": table[:, 0], "b": table[:, 1]}  # as they stand in rows
        expected = expressions.test(
            expression,
            {name: ids_of(other, [row[at] for row in part]) for at, name in enumerate("ab")},
            len(part),
            other,
        )
        assert condition.test(columns, len(part)).tolist() == expected.tolist()


@pytest.mark.parametrize("operator", COMPARISONS)
def test_ids_are_looked_up_anew_after_a_sweep(operator: str) -> None:
    dictionary = Dictionary()
    first, second = Iri("http://example.org/first"), Iri("http://example.org/second")
    conditions = [
        Condition(Compare(operator, A, Constant(first)), dictionary),
        Condition(Compare(operator, A, B), dictionary),
    ]
    for _ in range(2):
        columns = {"a": ids_of(dictionary, [first, second]), "b": ids_of(dictionary, [first, first])}
        for condition in conditions:
            expected = {"=": [True, False], "!=": [False, True], "<=": [True, False], ">=": [True, False]}
            found = condition.test(columns, 2).tolist()
            assert found == expected.get(operator, [False, False])
        dictionary.sweep([])  # nobody holds the terms
        ids_of(dictionary, [Iri("http://example.org/other")])
