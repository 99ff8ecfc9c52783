"""Queries to take apart: some of our own, and those of others where `../shared` is there; and how to spoil them."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from shared_data import ROOT

QUERIES = [
    """PREFIX : <http://ex/> REGISTER ISTREAM <q> AS SELECT ?s (COUNT(DISTINCT ?o) AS ?c)
       FROM <g> FROM NAMED WINDOW <w> ON :s [RANGE PT10S STEP PT5S]
       WHERE { ?s :p/:q* ?o .
       WINDOW <w> { ?s ^:a|!(:b|^:c) "x"@en, 'y'^^:t, -1.5e3 } FILTER(?o > 1 && STRLEN(?s) = -2) }
       GROUP BY ?s HAVING (COUNT(DISTINCT ?o) > 1) ORDER BY DESC(?c) LIMIT 10 OFFSET 2""",
    """BASE <http://ex/> CONSTRUCT { ?s <p> [ <q> ( 1 _:b ) ] } WHERE { { ?s ?p \"\"\"long "text" \\u0041\"\"\" } UNION
       { SELECT * { ?s ?p ?o MINUS { ?s a ?o } VALUES (?x ?y) { (1 UNDEF) (true <z>) } BIND(IF(?x, 1, 2) AS ?z) } }
       OPTIONAL { GRAPH ?g { ?s ?p ?o FILTER NOT EXISTS { ?o ?p ?s } } } SERVICE SILENT <s> { ?a ?b ?c } }""",
    """REGISTER STREAM q COMPUTED EVERY 10s AS PREFIX f: <f#> SELECT ?s (AVG(?o) AS ?a) FROM <g>
       FROM STREAM <s> [RANGE 1h30m STEP 500ms] FROM STREAM <t> [RANGE TRIPLES 10 TUMBLING]
       WHERE { ?s ?p ?o FILTER(f:timestamp(?s, ?p, ?o) > NOW()) } GROUP BY ?s""",
    """SELECT * FROM NAMED <g> { STREAM <s> [RANGE 3s SLIDE 1s] { ?s ?p ?o } STREAM ?x [NOW] { ?o ?p ?s }
       STREAM [TRIPLES 3] <s> { [] a ?t } OPTIONAL { STREAM <s> [ALL] { ?s ?p 1 } } GRAPH <g> { ?s ?p ?o } }""",
    """PREFIX ex: <http://ex/> ASK FROM NAMED WINDOW <v> OVER STREAM ex:s [COUNT 100 STEP 10]
       FROM NAMED WINDOW <w> [RANGE PT2H @ex:at STEP PT1H] ON <t> { WINDOW <v> { ?s ?p ?o } WINDOW ?w { ?o ?p ?s } }""",
    "DESCRIBE ?x <y> WHERE { ?x $y 'it\\'s' ; <http://ex/%20\\u00e9> :a\\,b . FILTER(?x NOT IN (1, 2)) }",
]
PIECES = [
    "{", "}", "(", ")", "[", "]", "<", ">", '"', "'", '"""', "\\", "\\u12", "\\uD800", "\ud800", "\x00", "\u00a0", "#",
    "?", "!", "-1", "_:b", "[]", "()", "COUNT(*)", "EXISTS {", "SELECT *", "GROUP BY ?s", "AS ?s", "WINDOW <w> {}",
    "[COUNT 3]", "PT0S", "P1Y", "PT" + "9" * 50 + "S", "LIMIT " + "9" * 5000, "@en", "^^", "/", "|", "*", "a",
    "PREFIX : <x>", "STREAM <s> [NOW] {}", "FROM STREAM <s> [RANGE 1s]", "FROM NAMED", "REGISTER QUERY", "10s", "1 m",
    "@x:y", "9" * 5000 + "s", "0s", "1.5ns", "TRIPLES 0", "TUMBLING", "COMPUTED EVERY 1s", "OVER", "] {", "a.b:c.",
    "ex:a.%zz", "1e", "\u017f", "\u212a", "\u0130", "\u0131",
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


# Files of ../shared whose text is queries; pages have to be cut up, so they stay out.
FILES = (
    "data/w3c-sparql-tests/*/*/*.rq",
    "data/citybench/*_query/*.txt",
    "data/citybench/*/*_query/*.txt",
    "data/citybench/rspql-from-rsp4j/*.rspql",
)
LONGEST = 4_000


@cache
def corpus() -> list[str]:
    """What people have written, where it is there, and the queries above, which always are."""
    paths = sorted(path for pattern in FILES for path in (ROOT.parent / "shared").glob(pattern))
    texts = (path.read_bytes().decode(errors="surrogateescape") for path in paths)
    return QUERIES + [text for text in texts if len(text) < LONGEST]


def edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    for at, deleted, inserted in edits:
        place = at % (len(text) + 1)
        text = text[:place] + inserted + text[place + deleted :]
    return text
