"""Functions of terms, and those that make new ones each time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings

from expression_rows import CONTEXT, NOW, Row, agree, expression_of, freshet_values, rows, value
from freshet.algebra.expressions import Exists
from freshet.algebra.nodes import BGP
from freshet.expressions.context import Context
from freshet.expressions.evaluate import evaluate, unsupported_reason
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF_LANG_STRING, BlankNode, Iri, Literal, Term
from oxigraph_expressions import IRIS, STRINGS, TERMS, typed

TRUE, FALSE = typed("boolean", "true"), typed("boolean", "false")
LABELS: list[Row] = [(Literal("x"), Literal("x")), (Literal("x"), Literal("y")), (Literal("y"), Literal("x"))]


@settings(max_examples=60, deadline=None)
@given(rows(TERMS, IRIS))
def test_terms_out_of_parts(terms: list[Row]) -> None:
    agree(["STRDT(?a, ?b)", 'STRLANG(?a, "en")'], terms)


@settings(max_examples=60, deadline=None)
@given(rows(STRINGS))
def test_numbers_out_of_strings(terms: list[Row]) -> None:
    """What STRDT makes may be inline, or ill-typed."""
    found = freshet_values("STRDT(?a, xsd:integer)", terms)
    assert found == [typed("integer", text.lexical) for (text,) in terms]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('IRI("http://example.org/a")', Iri("http://example.org/a")),
        ('URI("../c")', Iri("http://example.org/c")),
        ('IRI("c#d")', Iri("http://example.org/base/c#d")),
        ("IRI(<urn:x>)", Iri("urn:x")),
        ('IRI("a b")', None),
        ('IRI("<urn:x>")', None),
        ("IRI(5)", None),
        ('IRI("urn:x"@en)', None),
        ('STRLANG("chat", "en")', Literal("chat", RDF_LANG_STRING, "en")),
        ('STRLANG("chat", "en us")', None),
        ('STRLANG("chat"@en, "en")', None),
        ('STRLANG(1, "en")', None),
        ('STRDT("123", xsd:integer)', typed("integer", "123")),
        ('STRDT("iiii", <http://example/romanNumeral>)', Literal("iiii", Iri("http://example/romanNumeral"))),
        ('STRDT("x", "xsd:integer")', None),
        ('STRDT("x", <http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>)', None),
        ('sameTerm(STRDT("x", xsd:string), "x")', TRUE),
        ('DATATYPE("x"@en)', RDF_LANG_STRING),
        ("DATATYPE(1.0e0 + 1)", Iri("http://www.w3.org/2001/XMLSchema#double")),
        ("STR(1 + 1)", Literal("2")),
        ("STR(1 < 2)", Literal("true")),
        ('LANG("x"@en-GB)', Literal("en-gb")),
        ("isBlank(BNODE())", TRUE),
        ("isIRI(UUID())", TRUE),
        ("STRLEN(STRUUID())", typed("integer", "36")),
        ("BNODE(5)", None),
        ("BNODE('x'@en)", None),
        ("NOW() = NOW()", TRUE),
        ("COALESCE(1 / 0, BNODE(5), 'last')", Literal("last")),
        ("IF(1 / 0, 1, 2)", None),
        ("IF(true, 1, 1 / 0)", typed("integer", "1")),
        ("IF('', 1, 2)", typed("integer", "2")),
        ("2 IN (1 / 0, 2)", TRUE),
        ("2 IN (1 / 0, 3)", None),
        ("2 NOT IN (1 / 0, 2)", FALSE),
        ("2 NOT IN ()", TRUE),
        ("STR(?nowhere) IN ('x')", None),
    ],
)
def test_examples(text: str, expected: Term | None) -> None:
    assert value(text) == expected


def test_without_a_base_only_absolute_iris() -> None:
    context = Context(now=NOW)
    found = freshet_values("IRI(?a)", [(Literal("urn:x"),), (Literal("x"),)], context)
    assert found == [Iri("urn:x"), None]


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (datetime(2024, 2, 29, 12, 30, 15, 250_999, UTC), "2024-02-29T12:30:15.250Z"),
        (datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), "2023-12-31T23:30:00.000Z"),
    ],
)
def test_now_is_one_moment(now: datetime, text: str) -> None:
    found = freshet_values("NOW()", [(TRUE,), (FALSE,)], Context(now=now))
    assert found == [typed("dateTime", text)] * 2


def test_every_row_has_its_own_random_terms() -> None:
    many: list[Row] = [(TRUE,)] * 50
    for text in ("UUID()", "STRUUID()", "BNODE()", "RAND()"):
        assert len(set(freshet_values(text, many))) == 50
    uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(f"<urn:uuid:{uuid}>", str(term)) for term in freshet_values("UUID()", many))
    assert freshet_values("RAND() < 1 && RAND() >= 0", many) == [TRUE] * 50
    assert freshet_values("UUID() = UUID()", many) == [FALSE] * 50
    assert freshet_values("BNODE() = BNODE()", many) == [FALSE] * 50


def test_a_label_is_one_node_within_a_solution() -> None:
    assert freshet_values("BNODE(?a) = BNODE(?b)", LABELS) == [TRUE, FALSE, FALSE]
    nodes = freshet_values("BNODE(?a)", [*LABELS, (None, None)])
    assert all(isinstance(node, BlankNode) for node in nodes[:3])
    assert len(set(nodes)) == 4
    assert nodes[3] is None


def test_a_label_is_one_node_across_the_expressions_of_a_solution() -> None:
    """`SELECT (BNODE(?a) AS ?x) (BNODE(?b) AS ?y)`: the second evaluation gets the column of the first."""
    dictionary, context = Dictionary(), Context(now=NOW)
    columns = {
        name: np.array([dictionary.encode(term) for term in column], np.int64)
        for name, column in zip("ab", zip(*LABELS, strict=True), strict=True)
    }
    first = evaluate(expression_of("BNODE(?a)"), columns, 3, dictionary, context)
    between = evaluate(expression_of("STR(?a)"), {**columns, "x": first}, 3, dictionary, context)
    second = evaluate(expression_of("BNODE(?b)"), {**columns, "x": first, "z": between}, 3, dictionary, context)
    assert (first == second).tolist() == [True, False, False]
    assert len({*first.tolist(), *second.tolist()}) == 5
    # the same rows again, but not after the others: another branch of a UNION
    other = evaluate(expression_of("BNODE(?a)"), columns, 3, dictionary, context)
    assert not np.isin(other, first).any()
    assert not np.isin(evaluate(expression_of("BNODE(?a)"), columns, 3, dictionary, Context(now=NOW)), other).any()


def test_exists_asks_the_context() -> None:
    asked = []

    def exists(expression: Exists, columns: object, count: int) -> np.ndarray:
        asked.append((expression.negated, sorted(columns), count))
        return np.array([True, False])

    context = Context(now=NOW, exists=exists)
    two: list[Row] = [(TRUE,), (None,)]
    assert freshet_values(Exists(BGP(())), two, context) == [TRUE, FALSE]
    assert freshet_values(Exists(BGP(()), negated=True), two, context) == [FALSE, TRUE]
    assert asked == [(False, ["a"], 2), (True, ["a"], 2)]
    assert unsupported_reason(Exists(BGP(())), context) is None
    assert unsupported_reason(Exists(BGP(())), CONTEXT) == "EXISTS"
    with pytest.raises(NotImplementedError):
        freshet_values(Exists(BGP(())), two)


def test_what_changes_each_time_needs_a_context() -> None:
    for text in ("NOW()", "RAND()", "UUID()", "STRUUID()", "BNODE()", "BNODE('x')"):
        name = text.partition("(")[0]
        assert unsupported_reason(expression_of(f"STR({text})")) == f"the function {name}"
        assert unsupported_reason(expression_of(f"STR({text})"), CONTEXT) is None
        with pytest.raises(NotImplementedError):
            freshet_values(text, context=None)
