"""The driver gives the trees that Lark's own gives, and refuses what that refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.exceptions import UnexpectedInput

import freshet
from freshet.syntax.driver import Driver, driver
from freshet.syntax.tables import build, parser
from freshet.syntax.tree import Token, Tree
from query_corpus import EDITS, QUERIES, corpus, edited


def shape(part: object) -> object:
    """A part of either tree in terms of neither."""
    if isinstance(part, Token):
        return part.type, str(part), part.start
    if isinstance(part, lark.Token):
        return part.type, str(part), part.start_pos
    if isinstance(part, Tree | lark.Tree):
        return str(part.data), [shape(child) for child in part.children]
    assert part is None
    return None


def by_lark(text: str) -> object:
    try:
        return shape(parser().parse(text))
    except UnexpectedInput:
        return None


def agree(text: str) -> None:
    assert shape(driver().parse(text)) == by_lark(text)


def test_the_queries_of_others():
    for text in corpus()[::5]:
        agree(text)


@given(st.integers(0, 2**16), EDITS)
@settings(max_examples=200, deadline=None)
def test_edited_queries(number, edits):
    agree(edited(corpus()[number % len(corpus())], edits))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "# nothing",
        "ASK{}",
        "ASK {} # end",
        "ASK {}\n#",
        "ASK { ?s A ?o }",
        "ASK { ?s a ?o }",
        "aSk { ?s a:b ?o }",
    ],
)
def test_ends_and_keywords(text):
    agree(text)


@pytest.mark.parametrize(
    "text", ["AS\u212a {}", "a\u017fk {}", "ASK {} L\u0130MIT 1", "ASK {} l\u0131mit 1", "\u017felect * {}"]
)
def test_a_letter_that_is_like_one_of_a_keyword_is_none(text):
    assert driver().parse(text) is None
    agree(text)


def test_tables_that_have_not_been_on_disk_serve_as_well():
    fresh = Driver(build())
    for text in QUERIES:
        assert shape(fresh.parse(text)) == shape(driver().parse(text))


def test_a_short_text_compiles_one_pattern(monkeypatch):
    compiled, compile_pattern = [], re.compile

    def counting(pattern, flags=0):
        compiled.append(pattern)
        return compile_pattern(pattern, flags)

    tables = parser()
    monkeypatch.setattr(re, "compile", counting)
    assert Driver(tables).parse("SELECT * { VALUES ?x { 1 2 } ?x ?y 'z' }") is not None
    assert len(compiled) == 1


def starts(tree: Tree) -> Iterator[tuple[str, int]]:
    yield tree.data, tree.start
    for child in tree.children:
        if isinstance(child, Tree):
            yield from starts(child)


def test_a_tree_starts_where_its_first_word_does():
    text = "  ASK FROM STREAM <s> [RANGE 1s] { VALUES (?x) { (1) } }"
    tree = driver().parse(text)
    assert tree is not None
    found = dict(starts(tree))
    assert text[found["stream_declaration"] :].startswith("FROM STREAM")
    assert text[found["range_of_time"] :].startswith("1s")
    assert text[found["group"] :].startswith("{ VALUES")
    assert text[found["row"] :].startswith("(1)")


def test_every_query_of_our_own_is_parsed():
    assert all(driver().parse(text) for text in QUERIES)


def test_lark_has_what_is_used_of_it_and_does_not_document():
    """A version that changes it fails here, by name."""
    made = build()
    table = made.parser.parser._parse_table
    (start,) = made.options.start
    assert {table.start_states[start], table.end_states[start]} <= table.states.keys()
    row = table.states[table.start_states[start]]
    assert all(isinstance(symbol, str) and len(action) == 2 for symbol, action in row.items())
    rule = made.rules[0]
    assert {"empty_indices", "expand1", "keep_all_tokens"} <= set(vars(rule.options))
    assert {"alias", "expansion", "origin"} <= set(rule.__slots__)
    assert all(hasattr(symbol, "is_term") for symbol in rule.expansion)
    assert all(hasattr(each, "priority") and each.pattern.to_regexp() for each in made.terminals)


def test_one_module_alone_uses_what_lark_does_not_document():
    package = Path(freshet.__file__).parent
    inner = re.compile(r"from lark\.(?!exceptions\b)|\b_parse_table\b")
    assert [path.name for path in package.rglob("*.py") if inner.search(path.read_text())] == ["driver.py"]
