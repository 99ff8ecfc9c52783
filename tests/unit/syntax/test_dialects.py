"""C-SPARQL and CQELS-QL, the rest of RSP-QL, and how a dialect is recognised."""

from __future__ import annotations

import pytest

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, Join, Project, Query, StreamOperator, TriplePattern, Window
from freshet.algebra.scope import variables_in_scope
from freshet.algebra.windows import (
    AllWindow,
    CountWindow,
    EventTimeWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    TriplesWindow,
    WindowDeclaration,
    WindowOperator,
)
from freshet.rdf.errors import InputError, QuerySyntaxError
from freshet.rdf.terms import Iri
from freshet.syntax.parser import parse_query

STREAM = Iri("s")
S, P, OBJ = (Variable(name) for name in "spo")
BODY = BGP((TriplePattern(S, P, OBJ),))


def only_window(query: Query) -> WindowOperator:
    [declared] = query.windows
    return declared.window


# ---- RSP-QL


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("[COUNT 1000]", CountWindow(STREAM, 1000)),
        ("[COUNT 1000 STEP 10]", CountWindow(STREAM, 1000, 10)),
        ("[count 5 slide 5]", CountWindow(STREAM, 5, 5)),
        ("[RANGE PT2H @<at>]", EventTimeWindow(STREAM, Iri("at"), 7_200_000)),
        ("[RANGE PT2H @:at]", EventTimeWindow(STREAM, Iri("http://ex/at"), 7_200_000)),
        ("[RANGE PT2H @ex:at STEP PT1H]", EventTimeWindow(STREAM, Iri("http://ex/at"), 7_200_000, 3_600_000)),
        ("[RANGE PT2H STEP PT1H @ex:at]", EventTimeWindow(STREAM, Iri("http://ex/at"), 7_200_000, 3_600_000)),
        ("[RANGE PT2H @my-ex_2:at]", EventTimeWindow(STREAM, Iri("http://ex/at"), 7_200_000)),
    ],
)
def test_windows_of_rspql(operator, expected):
    prologue = "PREFIX : <http://ex/> PREFIX ex: <http://ex/> PREFIX my-ex_2: <http://ex/>"
    query = parse_query(f"{prologue} ASK FROM NAMED WINDOW <w> ON <s> {operator} {{ WINDOW <w> {{ ?s ?p ?o }} }}")
    assert only_window(query) == expected


@pytest.mark.parametrize(
    "declaration",
    [
        "<w> ON <s> [RANGE PT10S STEP PT5S]",
        "<w> OVER <s> [RANGE PT10S STEP PT5S]",
        "<w> ON STREAM <s> [RANGE PT10S SLIDE PT5S]",
        "<w> over stream <s> [range PT10S step PT5S]",
        "<w> [RANGE PT10S STEP PT5S] ON STREAM <s>",
        "<w> [RANGE PT10S STEP PT5S] OVER <s>",
    ],
)
def test_older_spellings_of_a_declaration(declaration):
    query = parse_query(f"ASK FROM NAMED WINDOW {declaration} {{ WINDOW <w> {{ }} }}")
    assert query.windows == (WindowDeclaration(Iri("w"), SlidingWindow(STREAM, 10_000, 5_000)),)


@pytest.mark.parametrize("how", ["REGISTER STREAM <q> AS", "register query <q> as"])
def test_older_spellings_of_a_registration(how):
    query = parse_query(f"{how} ASK FROM NAMED WINDOW <w> ON <s> [RANGE PT10S] {{ WINDOW <w> {{ }} }}")
    assert (query.name, query.output, query.merged) == ("q", StreamOperator.RSTREAM, False)


# ---- C-SPARQL


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("[RANGE 10s STEP 1s]", SlidingWindow(STREAM, 10_000, 1_000)),
        ("[range 1m step 500ms]", SlidingWindow(STREAM, 60_000, 500)),
        ("[RANGE 10s TUMBLING]", SlidingWindow(STREAM, 10_000, 10_000)),
        ("[RANGE 10s]", SlidingWindow(STREAM, 10_000, 10_000)),
        ("[RANGE 30 m STEP 5 m]", SlidingWindow(STREAM, 1_800_000, 300_000)),
        ("[RANGE 1h30m STEP 1d]", SlidingWindow(STREAM, 5_400_000, 86_400_000)),
        ("[RANGE PT10S STEP PT1S]", SlidingWindow(STREAM, 10_000, 1_000)),
        ("[RANGE TRIPLES 10]", CountWindow(STREAM, 10)),
        ("[RANGE TRIPLES 10 STEP 2]", CountWindow(STREAM, 10, 2)),
        ("[RANGE TRIPLES 10 TUMBLING]", CountWindow(STREAM, 10, 10)),
    ],
)
def test_windows_of_csparql(operator, expected):
    query = parse_query(f"SELECT ?s FROM STREAM <s> {operator} WHERE {{ ?s ?p ?o }}")
    assert only_window(query) == expected
    assert query.merged
    assert query.output is StreamOperator.RSTREAM
    assert query.root == Project(BODY, (S,))


@pytest.mark.parametrize(
    ("how", "name", "period_ms"),
    [
        ("REGISTER QUERY HelloWorld AS", "HelloWorld", None),
        ("REGISTER STREAM q COMPUTED EVERY 10s AS", "q", 10_000),
        ("register query <q> computed every 5m as", "q", 300_000),
        ("REGISTER QUERY P1 COMPUTED EVERY PT1S AS", "P1", 1_000),
        ("REGISTER QUERY :q AS PREFIX : <http://ex/>", "http://ex/q", None),
    ],
)
def test_registration_in_csparql(how, name, period_ms):
    query = parse_query(f"{how} SELECT * FROM STREAM <s> [RANGE 1s] {{ ?s ?p ?o }}")
    assert (query.name, query.period_ms) == (name, period_ms)


def test_streams_and_graphs_in_any_order():
    query = parse_query("ASK FROM <g> FROM STREAM <s> [RANGE 1s] FROM NAMED <n> FROM STREAM <t> [RANGE 2s] { }")
    assert query.default_graphs == (Iri("g"),)
    assert query.named_graphs == (Iri("n"),)
    assert [declared.window.stream for declared in query.windows] == [STREAM, Iri("t")]


def test_the_timestamp_function_is_a_call():
    parse_query("PREFIX f: <f#> ASK FROM STREAM <s> [RANGE 1s] { ?s ?p ?o FILTER(f:timestamp(?s, ?p, ?o) > 1) }")


# ---- CQELS-QL


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("[RANGE 3s]", RangeWindow(STREAM, 3_000)),
        ("[RANGE 3s SLIDE 1s]", RangeWindow(STREAM, 3_000)),
        ("[range 3000ms slide 1s ]", RangeWindow(STREAM, 3_000)),
        ("[RANGE 3s TUMBLING]", RangeWindow(STREAM, 3_000, tumbling=True)),
        ("[RANGE 2000000ns]", RangeWindow(STREAM, 2)),
        ("[NOW]", NowWindow(STREAM)),
        ("[TRIPLES 3]", TriplesWindow(STREAM, 3)),
        ("[all]", AllWindow(STREAM)),
    ],
)
@pytest.mark.parametrize("pattern", ["STREAM <s> {} {{ ?s ?p ?o }}", "stream {} <s> {{ ?s ?p ?o }}"])
def test_windows_of_cqels(pattern, operator, expected):
    query = parse_query(f"SELECT ?s WHERE {{ {pattern.format(operator)} }}")
    [declared] = query.windows
    assert declared.window == expected
    assert query.root == Project(Window(declared.name, BODY), (S,))
    assert query.output is StreamOperator.ISTREAM
    assert not query.merged


def test_each_stream_pattern_has_a_window_of_its_own():
    query = parse_query("ASK { STREAM <s> [NOW] { ?s ?p ?o } ?s ?p ?o STREAM <s> [NOW] { ?s ?p ?o } }")
    first, second = (declared.name for declared in query.windows)
    assert first != second
    assert query.root == Join(Join(Window(first, BODY), BODY), Window(second, BODY))


def test_a_variable_as_stream():
    query = parse_query("SELECT * { STREAM ?x [RANGE 1s] { ?s ?p ?o } }")
    assert only_window(query) == RangeWindow(Variable("x"), 1_000)
    assert isinstance(query.root, Project)
    assert isinstance(query.root.child, Window)
    assert query.root.child.stream == Variable("x")
    assert variables_in_scope(query.root) == (Variable("x"), S, P, OBJ)


def test_streams_in_sub_selects_and_optionals():
    query = parse_query(
        "ASK { { SELECT ?s { STREAM <s> [NOW] { ?s ?p ?o } } } OPTIONAL { STREAM <t> [ALL] { ?s ?p ?o } } }"
    )
    assert [declared.window for declared in query.windows] == [NowWindow(STREAM), AllWindow(Iri("t"))]


def test_now_is_a_function_still():
    assert parse_query("ASK { BIND(NOW() AS ?now) STREAM <s> [NOW] { } }")


# ---- forms of other engines, and the same in one of ours

OTHER_FORMS = [
    (
        "SELECT * FROM NAMED WINDOW ON STREAM <s> [RANGE PT10S SLIDE PT5S] AS <w> { WINDOW <w> { ?s ?p ?o } }",
        "SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE PT10S STEP PT5S] { WINDOW <w> { ?s ?p ?o } }",
    ),
    (
        "SELECT * FROM NAMED WINDOW <w> ON s [RANGE 10s, SLIDE 5s] { WINDOW <w> { ?s ?p ?o } }",
        "SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE PT10S STEP PT5S] { WINDOW <w> { ?s ?p ?o } }",
    ),
    (
        "SELECT * FROM NAMED WINDOW <w> ON <s> [TRIPLES 10 STEP 5] { WINDOW <w> { ?s ?p ?o } }",
        "SELECT * FROM NAMED WINDOW <w> ON <s> [COUNT 10 STEP 5] { WINDOW <w> { ?s ?p ?o } }",
    ),
    (
        "SELECT * FROM NAMED WINDOW <w> ON LOG <s> [OFFSET 60000 RANGE 20000 STEP 10000] { WINDOW <w> { ?s ?p ?o } }",
        "SELECT * FROM NAMED WINDOW <w> ON <s> [FROM NOW-PT60S TO NOW-PT40S STEP PT10S] { WINDOW <w> { ?s ?p ?o } }",
    ),
    (
        "SELECT * FROM GRAPH <g> FROM NAMED GRAPH <n> FROM NAMED WINDOW <w> ON <s> [RANGE 10s] { ?s ?p ?o }",
        "SELECT * FROM <g> FROM NAMED <n> FROM NAMED WINDOW <w> ON <s> [RANGE 10s] { ?s ?p ?o }",
    ),
    (
        "SELECT * FROM STREAM s [NOW] { ?s ?p ?o FILTER (?o > 1) }",
        "SELECT * FROM STREAM s [NOW] { STREAM s { ?s ?p ?o FILTER (?o > 1) } }",
    ),
    ("ASK FROM STREAM s [TRIPLES 4] { ?s ?p ?o }", "ASK FROM STREAM s [TRIPLES 4] { STREAM s { ?s ?p ?o } }"),
    (
        "CONSTRUCT { ?s ?p 1 } FROM STREAM s [ALL] { ?s ?p ?o }",
        "CONSTRUCT { ?s ?p 1 } FROM STREAM s [ALL] { STREAM s { ?s ?p ?o } }",
    ),
    (
        "CONSTRUCT FROM STREAM s [NOW] WHERE { ?s ?p ?o }",
        "CONSTRUCT { ?s ?p ?o } FROM STREAM s [NOW] { STREAM s { ?s ?p ?o } }",
    ),
    (
        "SELECT * FROM STREAM s [SLIDE 30s STEP 10s] { STREAM s { ?s ?p ?o } }",
        "SELECT * FROM STREAM s [RANGE 30s STEP 10s] { STREAM s { ?s ?p ?o } }",
    ),
    (
        "SELECT * FROM STREAM s [PAST 30s] { STREAM s { ?s ?p ?o } }",
        "SELECT * FROM STREAM s [RANGE 30s] { STREAM s { ?s ?p ?o } }",
    ),
    (
        "SELECT * FROM STREAM s [NOW] FROM STATIC <g> WITH DEPTH 2 CACHE 5m { STREAM s { ?s ?p ?o } ?o ?p ?s }",
        "SELECT * FROM STREAM s [NOW] FROM <g> { STREAM s { ?s ?p ?o } ?o ?p ?s }",
    ),
    (
        "SELECT * FROM NAMED STREAM <s> [NOW - 2 WEEKS SLIDE 1 WEEK] { ?s ?p ?o }",
        "SELECT * FROM NAMED STREAM <s> [NOW - 14 DAYS SLIDE 7 DAYS] { ?s ?p ?o }",
    ),
]


@pytest.mark.parametrize(("text", "same"), OTHER_FORMS)
def test_forms_of_other_engines(text, same):
    assert parse_query(text) == parse_query(same)


@pytest.mark.parametrize("rest", ["FROM STREAM <s> [RANGE 1s] { ?s ?p ?o }", "{ STREAM <s> [RANGE 1s] { ?s ?p ?o } }"])
def test_what_is_reported_is_said_with_the_name_in_every_dialect(rest):
    for operator in StreamOperator:
        query = parse_query(f"REGISTER {operator.upper()} <q> AS SELECT * {rest}")
        assert (query.name, query.output) == ("q", operator)


def test_a_stream_pattern_of_sparqlstream():
    query = parse_query("SELECT * { STREAM <s> [NOW - 1 HOURS SLIDE 10 MINUTES] { ?s ?p ?o } ?o ?p ?s }")
    [declared] = query.windows
    assert declared.window == SlidingWindow(STREAM, 3_600_000, 600_000)
    assert (query.merged, query.output) == (False, StreamOperator.RSTREAM)
    assert isinstance(query.root, Project)
    assert query.root.child == Join(Window(declared.name, BODY), BGP((TriplePattern(OBJ, P, S),)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM STREAM s [NOW] FROM STREAM t [NOW] { ?s ?p ?o }", r"goes with STREAM s \{"),
        ("SELECT * FROM STREAM s [NOW] FROM <g> { ?s ?p ?o }", r"goes with STREAM s \{"),
        ("SELECT * FROM NAMED STREAM <s> [NOW - 1s] { STREAM <s> [NOW - 1s] { ?s ?p ?o } }", "do not go together"),
        ("SELECT * FROM NAMED WINDOW <w> ON <s> [OFFSET 1 RANGE 2 STEP 1] { }", "RANGE must not be longer than OFFSET"),
        ("SELECT * FROM NAMED WINDOW <w> ON <s> [FROM <g>] { }", "expected NOW"),
        (
            "SELECT * FROM NAMED WINDOW <w> ON <s> [RAGE 1s] { }",
            "expected ADAPTIVE, COUNT, FROM, NOW or RANGE, but found 'RAGE'",
        ),
        ("SELECT * FROM <g> FORM <h> { }", "expected FROM, WHERE or '{', but found 'FORM'"),
        ("CONSTRUCT WHERE { GRAPH <g> { ?s ?p ?o } }", "CONSTRUCT WHERE has no GRAPH"),
    ],
)
def test_forms_that_make_no_sense(text, message):
    with pytest.raises(QuerySyntaxError, match=message):
        parse_query(text)


# ---- which dialect it is

CQELS_PATTERN = "{ STREAM <s> [NOW] { } }"
MIXED = [
    (
        f"ASK FROM STREAM <s> [RANGE 1s] {CQELS_PATTERN}",
        (34, "STREAM is CQELS-QL, but FROM STREAM before it is C-SPARQL"),
    ),
    (
        "ASK FROM STREAM <s> [RANGE 1s] FROM NAMED WINDOW <w> ON <s> [RANGE PT1S] { }",
        (32, "FROM NAMED WINDOW is RSP-QL, but FROM STREAM before it is C-SPARQL"),
    ),
    (
        "ASK { STREAM <s> [NOW] { } WINDOW <w> { } }",
        (28, "WINDOW is RSP-QL, but STREAM before it is CQELS-QL"),
    ),
    (
        f"REGISTER QUERY q COMPUTED EVERY 1s AS ASK {CQELS_PATTERN}",
        (18, "COMPUTED EVERY is for windows that close, and those of CQELS-QL move with every element"),
    ),
]


@pytest.mark.parametrize(("text", "problem"), MIXED)
def test_dialects_are_not_mixed(text, problem):
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text)
    assert (caught.value.column, caught.value.message) == problem


@pytest.mark.parametrize(
    ("text", "dialects"),
    [
        ("ASK { }", {"sparql", "rspql", "csparql", "sparqlstream", "cqels"}),
        ("REGISTER QUERY q AS ASK { }", {"rspql", "csparql", "sparqlstream", "cqels"}),
        ("REGISTER RSTREAM <q> AS ASK { }", {"rspql", "csparql", "sparqlstream", "cqels"}),
        ("ASK FROM NAMED WINDOW <w> ON <s> [RANGE PT1S] { }", {"rspql"}),
        ("ASK FROM STREAM <s> [RANGE 1s] { }", {"csparql"}),
        ("ASK FROM NAMED STREAM <s> [NOW - 1s] { }", {"sparqlstream"}),
        ("ASK { STREAM <s> [NOW] { } }", {"cqels"}),
        ("ASK FROM STREAM s [NOW] { STREAM s { } }", {"cqels"}),
    ],
)
def test_a_named_dialect_refuses_what_is_not_its_own(text, dialects):
    for dialect in ("sparql", "rspql", "csparql", "sparqlstream", "cqels"):
        if dialect in dialects:
            assert parse_query(text, dialect=dialect)
        else:
            with pytest.raises(QuerySyntaxError, match="is to be read"):
                parse_query(text, dialect=dialect)


@pytest.mark.parametrize("name", ["C-SPARQL", "csparql", "c-sparql", "CSPARQL"])
def test_a_dialect_may_be_named_as_its_authors_do(name):
    assert parse_query("ASK FROM STREAM <s> [RANGE 1s] { }", dialect=name).merged


def test_an_unknown_dialect():
    with pytest.raises(InputError, match="there is no query language 'sql'"):
        parse_query("ASK { }", dialect="sql")


@pytest.mark.parametrize(
    "text",
    ["ASK { ?s ?p (1m:x 2s:x) }", "ASK { ?s ?p 1, 2.5, 1e3 . ?s :p 1.}", "ASK { VALUES ?x { 1 2 } ?s :stream all:x }"],
)
def test_what_looks_like_a_duration_in_sparql_is_none(text):
    prologue = " ".join(f"PREFIX {prefix}: <http://ex/>" for prefix in ("", "m", "s", "all"))
    assert parse_query(f"{prologue} {text}")
