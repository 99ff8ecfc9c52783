"""Whatever the text, the parser gives a query or an error that a person can read."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.algebra.printing import explain_json, explain_text
from freshet.algebra.rewrite.rules import rewrite
from freshet.rdf.errors import FreshetError
from freshet.syntax.parser import parse_query

QUERIES = [
    """PREFIX : <http://ex/> REGISTER ISTREAM <q> AS SELECT ?s (COUNT(DISTINCT ?o) AS ?c)
       FROM <g> FROM NAMED WINDOW <w> ON :s [RANGE PT10S STEP PT5S]
       WHERE { ?s :p/:q* ?o .
       WINDOW <w> { ?s ^:a|!(:b|^:c) "x"@en, 'y'^^:t, -1.5e3 } FILTER(?o > 1 && STRLEN(?s) = -2) }
       GROUP BY ?s HAVING (COUNT(DISTINCT ?o) > 1) ORDER BY DESC(?c) LIMIT 10 OFFSET 2""",
    """BASE <http://ex/> CONSTRUCT { ?s <p> [ <q> ( 1 _:b ) ] } WHERE { { ?s ?p \"\"\"long "text" \\u0041\"\"\" } UNION
       { SELECT * { ?s ?p ?o MINUS { ?s a ?o } VALUES (?x ?y) { (1 UNDEF) (true <z>) } BIND(IF(?x, 1, 2) AS ?z) } }
       OPTIONAL { GRAPH ?g { ?s ?p ?o FILTER NOT EXISTS { ?o ?p ?s } } } SERVICE SILENT <s> { ?a ?b ?c } }""",
    "DESCRIBE ?x <y> WHERE { ?x $y 'it\\'s' ; <http://ex/%20\\u00e9> :a\\,b . FILTER(?x NOT IN (1, 2)) }",
]
PIECES = [
    "{", "}", "(", ")", "[", "]", "<", ">", '"', "'", '"""', "\\", "\\u12", "\\uD800", "\ud800", "\x00", "\u00a0", "#",
    "?", "!", "-1", "_:b", "[]", "()", "COUNT(*)", "EXISTS {", "SELECT *", "GROUP BY ?s", "AS ?s", "WINDOW <w> {}",
    "[COUNT 3]", "PT0S", "P1Y", "PT" + "9" * 50 + "S", "LIMIT " + "9" * 5000, "@en", "^^", "/", "|", "*", "a",
    "PREFIX : <x>",
]  # fmt: skip
EDITS = st.lists(
    st.tuples(
        st.integers(0, 2**16),
        st.integers(0, 12),
        st.one_of(st.just(""), st.sampled_from(PIECES), st.text(max_size=3)),
    ),
    min_size=1,
    max_size=4,
)


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
    for at, deleted, inserted in edits:
        place = at % (len(text) + 1)
        text = text[:place] + inserted + text[place + deleted :]
    check(text)


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text(text):
    check(text)


def test_the_queries_that_are_edited_are_right():
    assert [parse_query(query).form for query in QUERIES[:2]] == ["select", "construct"]
