"""Whatever the text, the parser gives a query or an error that a person can read."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.algebra.printing import explain_json, explain_text
from freshet.algebra.rewrite.rules import rewrite
from freshet.rdf.errors import FreshetError
from freshet.syntax.parser import parse_query
from query_corpus import EDITS, PIECES, QUERIES, corpus, edited


def check(text: str) -> None:
    refused = None
    try:
        query = parse_query(text)
    except FreshetError as error:
        refused = error
    if refused is None:
        assert explain_text(query, rewrite(query))
        assert json.dumps(explain_json(query))
        return
    assert min(refused.line or 0, refused.column or 0) >= 1
    assert "\n" not in str(refused)
    assert f"{refused} {getattr(refused, 'excerpt', '')}".encode()


@given(st.sampled_from(QUERIES), EDITS)
@settings(max_examples=300, deadline=None)
def test_edited_queries(text, edits):
    check(edited(text, edits))


@given(st.integers(0, 2**16), EDITS)
@settings(max_examples=300, deadline=None)
def test_edited_queries_of_others(number, edits):
    check(edited(corpus()[number % len(corpus())], edits))


@given(st.integers(0, 2**16), st.integers(0, 2**16), st.integers(0, 2**16), st.integers(0, 2**16))
@settings(max_examples=200, deadline=None)
def test_halves_of_two_queries(first, second, end, start):
    """The beginning of one query with the end of another: dialects that are mixed, brackets that do not match."""
    one, other = (corpus()[number % len(corpus())] for number in (first, second))
    check(one[: end % (len(one) + 1)] + other[start % (len(other) + 1) :])


@given(st.lists(st.sampled_from(PIECES), max_size=30))
@settings(max_examples=200, deadline=None)
def test_pieces_in_a_row(pieces):
    check(" ".join(pieces))


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text(text):
    check(text)


def test_the_queries_that_are_edited_are_right():
    forms = ["select", "construct", "select", "select", "ask"]
    assert [parse_query(query).form for query in QUERIES[: len(forms)]] == forms


HOSTILE = {
    "blanks before a bad character": "ASK" + " \n" * 20_000 + "\u00a0",
    "comments before a bad character": "ASK" + "# # #\n" * 5_000 + "\u00a0",
    "hashes": "ASK" + "#" * 50_000,
    "an open IRI": "ASK { <" + "a" * 50_000,
    "many open IRIs": "ASK { " + "<a" * 5_000,
    "an open string": 'ASK { ?s ?p "' + "a" * 50_000,
    "an open long string": 'ASK { ?s ?p """' + '"a' * 20_000,
    "dots in a name": "ASK { ex:" + "a." * 20_000 + " ?p ?o }",
    "dots in a prefix": "ASK { " + "a." * 20_000 + " ?p ?o }",
    "percent signs": "ASK { ex:" + "%41" * 10_000 + "% ?p ?o }",
    "digits": "ASK { ?s ?p " + "9" * 50_000 + "x }",
    "durations": "ASK FROM STREAM <s> [RANGE " + "1m" * 20_000 + "x] {}",
    "a word": "ASK { " + "w" * 50_000 + " }",
    "backslashes": 'ASK { ?s ?p "' + "\\" * 50_000,
    "braces": "ASK " + "{" * 30_000 + "}" * 30_000,
    "brackets": "ASK { ?s ?p " + "(" * 30_000 + "1" + ")" * 30_000 + "}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_no_time(name):
    started = time.thread_time()
    check(HOSTILE[name])
    assert time.thread_time() - started < 10  # half a second, but for what else the machine does
