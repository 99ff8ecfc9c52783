"""Terms: literals, escapes, prefixed names, IRIs and their base."""

from __future__ import annotations

import pytest

from freshet.algebra.nodes import Values
from freshet.rdf.terms import RDF_LANG_STRING, XSD, Iri, Literal, Term
from freshet.syntax.parser import parse_query


def term(text: str, prologue: str = "PREFIX : <http://ex/> PREFIX a.b: <http://dot/>") -> Term | None:
    root = parse_query(f"{prologue} ASK {{ VALUES ?x {{ {text} }} }}").root
    assert isinstance(root, Values)
    return root.rows[0][0]


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ('"x"', "x"),
        ("'x'", "x"),
        ('""', ""),
        ("''", ""),
        ('"""a\n"b" ""c"""', 'a\n"b" ""c'),
        ("'''it's ''fine'''", "it's ''fine"),
        ('""""x"""', '"x'),
        (r'"\t\b\n\r\f\"\'\\"', "\t\b\n\r\f\"'\\"),
        (r'"\u0041\U0001F47E"', "A\U0001f47e"),
        (r'"\\u0041"', r"\u0041"),
        (r'"\u0022\u000A"', '"\n'),
        (r'"\u005Cn"', r"\n"),
        ('"<not a comment # at all>"', "<not a comment # at all>"),
    ],
)
def test_strings(text, characters):
    assert term(text) == Literal(characters)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"x"@en-GB', Literal("x", RDF_LANG_STRING, "en-gb")),
        ('"1"^^:t', Literal("1", Iri("http://ex/t"))),
        (f'"x"^^<{XSD}string>', Literal("x")),
        ("1", Literal("1", Iri(XSD + "integer"))),
        ("-01", Literal("-01", Iri(XSD + "integer"))),
        ("+.5", Literal("+.5", Iri(XSD + "decimal"))),
        ("1.50", Literal("1.50", Iri(XSD + "decimal"))),
        ("1e3", Literal("1e3", Iri(XSD + "double"))),
        ("-1.E-3", Literal("-1.E-3", Iri(XSD + "double"))),
        (".5e0", Literal(".5e0", Iri(XSD + "double"))),
        ("TRUE", Literal("true", Iri(XSD + "boolean"))),
        ("false", Literal("false", Iri(XSD + "boolean"))),
        ("UNDEF", None),
    ],
)
def test_literals(text, expected):
    assert term(text) == expected


@pytest.mark.parametrize(
    ("text", "iri"),
    [
        (":a", "http://ex/a"),
        (":", "http://ex/"),
        (":a.b.c", "http://ex/a.b.c"),
        (":a:b", "http://ex/a:b"),
        (":1-2", "http://ex/1-2"),
        (":a%20b", "http://ex/a%20b"),
        (r":a\,b\(c\)\%", "http://ex/a,b(c)%"),
        (r":\~\-", "http://ex/~-"),
        ("a.b:c", "http://dot/c"),
        (":été", "http://ex/été"),
        (r":a\u0062c", "http://ex/abc"),
        ("<http://other/x?y#z>", "http://other/x?y#z"),
        (r"<http://other/\u00e9>", "http://other/é"),
        ("<rel>", "rel"),
        ("<>", ""),
    ],
)
def test_iris(text, iri):
    assert term(text) == Iri(iri)


@pytest.mark.parametrize(
    ("prologue", "text", "iri"),
    [
        ("BASE <http://a/b/c>", "<d>", "http://a/b/d"),
        ("BASE <http://a/b/c>", "<#d>", "http://a/b/c#d"),
        ("BASE <http://a/b/c>", "<>", "http://a/b/c"),
        ("BASE <http://a/b/c> BASE <../x/>", "<d>", "http://a/x/d"),
        ("BASE <http://a/> PREFIX p: <p#>", "p:x", "http://a/p#x"),
        ("PREFIX p: <p#> BASE <http://a/>", "p:x", "p#x"),
        ("PREFIX p: <http://one/> PREFIX p: <http://two/>", "p:x", "http://two/x"),
    ],
)
def test_base_and_prefixes(prologue, text, iri):
    assert term(text, prologue) == Iri(iri)


def test_keywords_take_any_case_and_prefixes_may_look_like_them():
    query = parse_query("prefix select: <http://s/> aSk { select:a A: select:b }".replace("A:", "a"))
    assert query == parse_query("PREFIX x: <http://s/> ASK { x:a a x:b }")


def test_a_byte_order_mark_and_any_line_ends_are_blanks():
    assert parse_query("\ufeffASK\r\n{ }\r# the end") == parse_query("ASK {}")


def test_a_dollar_is_a_question_mark():
    assert parse_query("ASK { $a ?b ?c }") == parse_query("ASK { ?a ?b ?c }")


def test_comments_may_hold_anything():
    assert parse_query("ASK # a \\u00 'b <c\n{ }") == parse_query("ASK {}")
