"""Queries that are put together of one before are those that parsing gives."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.errors import FreshetError
from freshet.syntax import templates
from freshet.syntax.parser import parse_query
from freshet.syntax.templates import QueryTemplates, Template
from query_corpus import QUERIES

PREFIXES = "BASE <http://b/> PREFIX ex: <http://e/> PREFIX : <http://d/> "
ASKED = [
    "SELECT * { ex:a <p> ?o ; :q ?x, <http://y> . ?o a ex:C }",
    "SELECT * { ?s ex:p ?o FILTER(?o = ex:b && EXISTS { ?s ex:q ex:c }) }",
    "SELECT * { GRAPH ex:g { ?s (ex:p/ex:q)+ ex:o } } # ex:p is <http://known>",
    'SELECT * { ?s ex:p "ex:p <http://e/p>"@en, "1"^^ex:t, "x"^^<http://t> }',
    "SELECT * { VALUES ?s { ex:a <b> ex:c } ?s ex:p ( ex:d [ ex:e :f ] ) }",
    "CONSTRUCT { ?s ex:p ex:o } { ?s ex:q ex:o }",
    "CONSTRUCT WHERE { ?s ex:q ex:o }",
    "DESCRIBE ?x { ?x ex:p ex:y }",
    "SELECT (ex:f(?x) AS ?y) { ?x ex:p 1 BIND(ex:g(?x) AS ?z) OPTIONAL { ?x ex:q ex:r MINUS { ex:s :t :u } } }",
    "SELECT * { ?a ex:p ?b . FILTER(?a < ?b && ?b > ?c) { ex:a :b ex:c.d. } UNION { ex:a ex:b ex:c.} }",
    "SELECT ?s { { SELECT ?s { ?s ex:p ex:o } LIMIT 1 } } ORDER BY ex:h(?s) LIMIT 5",
    "SELECT * { ?s ex:p ex:a.b.c , ex:a:b , _:c . _:d ex:p ex: }",
]
NAMES = """ex:a ex:zz ex: :x ex:a.b <http://y> <q> <> <../x#y> none:x _:b ex:-a ex:é ex:² 1:2 xsd:integer
ex:a\\,b <\\u0041> <x:y> ex:a%20 <{> ?v a"""
OTHERS = st.sampled_from([*NAMES.split(), "<a b>", "<\ud800>"])
NAME = re.compile(r"<[^<>\s]*>|[\w-]*:[\w.-]*")


def outcome(parse, text: str) -> object:
    try:
        return parse(text)
    except FreshetError as error:
        return type(error), str(error), error.excerpt


def renamed(text: str, chosen: list[tuple[int, str]]) -> str:
    """The text with some names after its first brace replaced."""
    start = text.index("{")
    for number, name in chosen:
        places = list(NAME.finditer(text, start))
        if places:
            place = places[number % len(places)]
            text = text[: place.start()] + name + text[place.end() :]
    return text


@given(
    st.sampled_from([PREFIXES + each for each in ASKED] + QUERIES),
    st.lists(st.lists(st.tuples(st.integers(0, 40), OTHERS), max_size=4), min_size=1, max_size=6),
)
@settings(max_examples=300, deadline=None)
def test_a_query_like_one_before_is_what_parsing_gives(text: str, renamings: list[list[tuple[int, str]]]) -> None:
    kept = QueryTemplates()
    for other in [text, text, *(renamed(text, chosen) for chosen in renamings)]:
        assert outcome(kept.parse, other) == outcome(parse_query, other)


@pytest.mark.parametrize("text", ASKED[:-1])
def test_other_names_are_not_parsed_again(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, text = QueryTemplates(), PREFIXES + text
    kept.parse(text), kept.parse(text)
    [template] = kept._known.values()
    assert isinstance(template, Template)
    names = list(template.names)
    for at in template.slots:
        names[at] = "<http://other>" if names[at][0] == "<" else "ex:other"
    pieces = templates._NAMES.split(text[text.index("{") :])
    pieces[1::2] = names
    other = text[: text.index("{")] + "".join(pieces)
    expected = parse_query(other)
    monkeypatch.setattr(templates, "parse_query", None)
    assert kept.parse(other) == expected


def test_prefixes_and_base_count(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = QueryTemplates()
    for number in range(4):
        text = f"BASE <http://b{number % 2}/> PREFIX e: <http://e{number // 2}/> ASK {{ <a> e:p e:o }}"
        assert kept.parse(text) == kept.parse(text) == kept.parse(text) == parse_query(text)


def test_the_number_of_templates_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "_MOST", 10)
    kept = QueryTemplates()
    for number in random.Random(1).choices(range(40), k=200):
        kept.parse(f"ASK {{ <s> <p> {number} }}")
    assert len(kept._known) <= 10
