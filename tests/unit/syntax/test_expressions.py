"""Expressions: precedence, numbers with signs, calls."""

from __future__ import annotations

import pytest

from freshet.algebra.expressions import (
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expression,
    In,
    Negate,
    Not,
    Or,
    Variable,
)
from freshet.algebra.nodes import Filter
from freshet.rdf.terms import XSD, Iri, Literal
from freshet.syntax.functions import ARGUMENT_COUNTS, SYNONYMS
from freshet.syntax.parser import parse_query

A, B, C = (Variable(name) for name in "abc")


def number(text: str, datatype: str = "integer") -> Constant:
    return Constant(Literal(text, Iri(XSD + datatype)))


def expression(text: str) -> Expression:
    root = parse_query(f"PREFIX : <http://ex/> ASK {{ FILTER({text}) }}").root
    assert isinstance(root, Filter)
    return root.condition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?a || ?b && ?c", Or(A, And(B, C))),
        ("(?a || ?b) && ?c", And(Or(A, B), C)),
        ("?a || ?b || ?c", Or(Or(A, B), C)),
        ("!?a = ?b", Compare("=", Not(A), B)),
        ("?a + ?b * ?c", Arithmetic("+", A, Arithmetic("*", B, C))),
        ("(?a + ?b) * ?c", Arithmetic("*", Arithmetic("+", A, B), C)),
        ("?a - ?b - ?c", Arithmetic("-", Arithmetic("-", A, B), C)),
        ("?a / ?b * ?c", Arithmetic("*", Arithmetic("/", A, B), C)),
        ("?a < ?b + 1", Compare("<", A, Arithmetic("+", B, number("1")))),
        ("-?a", Negate(A)),
        ("+?a", Negate(Negate(A))),
        ("?a IN (1, ?b)", In(A, (number("1"), B))),
        ("?a NOT IN ()", In(A, (), negated=True)),
        ("?a != ?b", Compare("!=", A, B)),
        ("?a >= ?b && ?a <= ?c", And(Compare(">=", A, B), Compare("<=", A, C))),
    ],
)
def test_operators(text, expected):
    assert expression(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-1", number("-1")),
        ("+1.5", number("+1.5", "decimal")),
        ("?a -1", Arithmetic("-", A, number("1"))),
        ("?a+1", Arithmetic("+", A, number("1"))),
        ("1-1", Arithmetic("-", number("1"), number("1"))),
        ("?a -2 * ?b", Arithmetic("-", A, Arithmetic("*", number("2"), B))),
        ("?a -2 / 3 + ?b", Arithmetic("+", Arithmetic("-", A, Arithmetic("/", number("2"), number("3"))), B)),
        ("?a - -1", Arithmetic("-", A, number("-1"))),
    ],
)
def test_a_sign_that_sticks_to_a_number(text, expected):
    assert expression(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("strlen(?a)", Call("STRLEN", (A,))),
        ("Regex(?a, 'x', 'i')", Call("REGEX", (A, Constant(Literal("x")), Constant(Literal("i"))))),
        ("BNODE()", Call("BNODE", ())),
        ("isURI(?a)", Call("ISIRI", (A,))),
        ("URI(?a)", Call("IRI", (A,))),
        ("sameTerm(?a, ?b)", Call("SAMETERM", (A, B))),
        ("IF(?a, ?b, ?c)", Call("IF", (A, B, C))),
        ("COALESCE(?a)", Call("COALESCE", (A,))),
        (":f(?a, 1)", Call("http://ex/f", (A, number("1")))),
        (":f()", Call("http://ex/f", ())),
        (f"<{XSD}integer>(?a)", Call(XSD + "integer", (A,))),
        (":f = ?a", Compare("=", Constant(Iri("http://ex/f")), A)),
    ],
)
def test_calls(text, expected):
    assert expression(text) == expected


@pytest.mark.parametrize("function", sorted({*ARGUMENT_COUNTS, *SYNONYMS}))
def test_every_function_is_in_the_grammar(function):
    name = SYNONYMS.get(function, function)
    least, _ = ARGUMENT_COUNTS[name]
    assert expression(f"{function}({', '.join(['?a'] * least)})") == Call(name, (A,) * least)


def test_a_thousand_alternatives_are_no_deep_tree():
    node = expression(" || ".join(f"?a = {index}" for index in range(1000)))
    depth = 0
    while isinstance(node, Or):
        node, depth = node.left, depth + 1
    assert depth < 30
    assert node == Compare("=", A, number("0"))
