"""Terms, paths and expressions as text: what is printed means what was written."""

from __future__ import annotations

import pytest

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, Filter, PathPattern
from freshet.algebra.text import expression_text, path_text, term_text, triple_text
from freshet.rdf.terms import XSD, BlankNode, Iri, Literal
from freshet.syntax.parser import parse_query


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (Variable("x"), "?x"),
        (Variable("._x"), "_:x"),
        (Variable(".agg0"), ".agg0"),
        (Iri("http://ex/"), "<http://ex/>"),
        (BlankNode("b"), "_:b"),
        (Literal("1", Iri(XSD + "integer")), "1"),
        (Literal("", Iri(XSD + "integer")), f'""^^<{XSD}integer>'),
        (Literal('say "x"'), '"say \\"x\\""'),
        (Literal("x", Iri(XSD + "date")), f'"x"^^<{XSD}date>'),
    ],
)
def test_terms(term, text):
    assert term_text(term) == text


@pytest.mark.parametrize(
    "text",
    [
        "?a || ?b && ?c",
        "(?a || ?b) && ?c",
        "?a || (?b || ?c)",
        "!(?a && ?b)",
        "!?a && ?b = 1",
        "?a - ?b - ?c",
        "?a - (?b - ?c)",
        "(?a + 1) * ?b / 2",
        "-(?a + ?b)",
        "(?a = ?b) = ?c",
        "?a IN (1, ?b + 2)",
        "?a NOT IN ()",
        'REGEX(STR(?a), "x", "i")',
        "<http://ex/f>(?a, -1.5)",
        "IF(?a < 1, true, false)",
        "EXISTS {...} || NOT EXISTS {...}",
    ],
)
def test_expressions_come_back_as_written(text):
    root = parse_query(f"ASK {{ FILTER({text.replace('{...}', '{ ?x ?y ?z }')}) }}").root
    assert isinstance(root, Filter)
    assert expression_text(root.condition) == text


@pytest.mark.parametrize(
    "text",
    [
        "<a>*",
        "(<a>/<b>)+",
        "(<a>|<b>)?",
        "<a>|<b>",
        "(<a>/<b>)|<c>",
        "!(<a>|^<b>)",
        "(^<a>)*",
        "a*",
        "((<a>*)+)?",
        "(^(<a>/<b>)+)*",
    ],
)
def test_paths_come_back_as_written(text):
    root = parse_query(f"ASK {{ ?s {text} ?o }}").root
    assert isinstance(root, PathPattern)
    assert path_text(root.path) == text


def test_rdf_type_is_a():
    root = parse_query("ASK { ?s a <T> }").root
    assert isinstance(root, BGP)
    assert triple_text(root.patterns[0]) == "?s a <T>"
