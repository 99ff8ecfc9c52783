"""`freshet.Session`: when reports come. What is in them is the business of the cases."""

from __future__ import annotations

from pathlib import Path

import pytest

import freshet
from declaring import register
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.terms import Iri
from freshet.rdf.triples import ANY, DEFAULT_GRAPH

S, T = "http://example.org/s", "http://example.org/t"
PREFIX = "PREFIX : <http://example.org/>\n"
ONE_STREAM = (
    PREFIX
    + """REGISTER RSTREAM :one AS SELECT ?v FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S]
WHERE { WINDOW :w { ?s :p ?v } }"""
)
TWO_STREAMS = (
    PREFIX
    + """REGISTER RSTREAM :two AS SELECT ?v ?u
FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S]
FROM NAMED WINDOW :x ON :t [RANGE PT5S STEP PT5S]
WHERE { WINDOW :w { ?s :p ?v } WINDOW :x { ?s :p ?u } }"""
)


def line(time_ms: int, value: str = "x", subject: str = "a") -> str:
    return f'{time_ms}\t<http://example.org/{subject}> <http://example.org/p> "{value}" .\n'


def times(registered) -> list[int]:
    return [report.time_ms for report in registered.take()]


def test_report_as_soon_as_the_watermark_reaches_the_close() -> None:
    session = freshet.Session()
    registered = register(session, ONE_STREAM)
    session.push(S, line(1000) + line(4999))
    assert times(registered) == []
    session.push(S, line(5000))
    assert times(registered) == [5000]
    session.push(S, line(20_000))
    assert times(registered) == [10_000]
    session.finish()
    assert times(registered) == [25_000]


def test_lateness_holds_reports_back() -> None:
    session = freshet.Session()
    session.stream(S, lateness_ms=2000)
    registered = register(session, ONE_STREAM)
    session.push(S, line(1000) + line(6999))
    assert times(registered) == []
    session.push(S, line(7000))
    assert times(registered) == [5000]


def test_all_streams_must_have_passed() -> None:
    session = freshet.Session()
    registered = register(session, TWO_STREAMS)
    session.push(S, line(1000) + line(30_000))
    assert times(registered) == []
    session.push(T, line(2000) + line(4000, "y"))
    assert times(registered) == []
    session.push(T, line(9000))
    assert times(registered) == [5000]


def test_advance() -> None:
    session = freshet.Session()
    registered = register(session, ONE_STREAM)
    session.push(S, line(1000))
    session.advance(S, 4999)
    assert times(registered) == []
    session.advance(S, 5000)
    assert times(registered) == [5000]


def test_what_comes_behind_an_advance_is_dropped() -> None:
    session = freshet.Session()
    session.stream(S, lateness_ms=60_000)
    registered = register(session, ONE_STREAM)
    session.advance(S, 5000)
    session.advance(S, 1000)
    session.push(S, line(4999, "late") + line(5000, "in time"))
    session.finish()
    assert [(report.time_ms, len(report.rows)) for report in registered.take()] == [(10_000, 1)]


def test_callback_instead_of_taking() -> None:
    seen = []
    session = freshet.Session()
    registered = register(session, ONE_STREAM, on_report=seen.append)
    session.push(S, line(1000) + line(5000))
    assert [report.time_ms for report in seen] == [5000]
    assert times(registered) == []


def test_taken_reports_do_not_come_again() -> None:
    session = freshet.Session()
    registered = register(session, ONE_STREAM)
    session.push(S, line(1000) + line(5000))
    assert times(registered) == [5000]
    assert times(registered) == []


def test_names() -> None:
    session = freshet.Session()
    assert register(session, ONE_STREAM, name="given").name == "http://example.org/one"
    assert register(session, ONE_STREAM.replace("REGISTER RSTREAM :one AS ", ""), name="given").name == "given"


def test_bytes_and_text_are_one() -> None:
    session = freshet.Session()
    registered = register(session, ONE_STREAM)
    session.push(S, line(1000).encode())
    session.push(S, line(1000, "ü"))
    session.push(S, "")
    session.finish()
    assert [len(report.rows) for report in registered.take()] == [2]


def test_unknown_stream() -> None:
    with pytest.raises(FreshetError, match=r"http://example\.org/nowhere"):
        freshet.Session().push("http://example.org/nowhere", line(1))


def test_malformed_line_names_its_place() -> None:
    session = freshet.Session()
    session.stream(S)
    with pytest.raises(FreshetError) as problem:
        session.push(S, line(1) + "2\t<http://example.org/a> nonsense .\n", file="recorded.tnt")
    assert str(problem.value).startswith("recorded.tnt:2:")


def test_one_shot_query_beside_a_continuous_one(tmp_path: Path) -> None:
    data = tmp_path / "data.ttl"
    data.write_text(PREFIX + ':a :p "stored" .', encoding="utf-8")
    session = freshet.Session()
    session.load(data)
    session.stream(S, absorb=True)
    registered = register(session, ONE_STREAM)
    question = PREFIX + "SELECT ?v WHERE { :a :p ?v }"
    assert [row["v"].lexical for row in session.bindings(session.query(question))] == ["stored"]
    session.push(S, line(1000, "streamed") + line(5000, "streamed"))
    session.finish()
    assert sorted(row["v"].lexical for row in session.bindings(session.query(question))) == ["stored", "streamed"]
    assert times(registered) == [5000, 10_000]


def test_reports_hold_what_they_held(tmp_path: Path) -> None:
    """A report that is read long after must not have changed with the windows."""
    session = freshet.Session()
    registered = register(session, ONE_STREAM)
    for second in range(0, 200, 5):
        session.push(S, line(second * 1000 + 1, f"v{second}"))
    session.finish()
    values = [[row["v"].lexical for row in session.bindings(report)] for report in registered.take()]
    assert values == [[f"v{second}"] for second in range(0, 200, 5)]


def test_absorbed_triples_reach_every_query() -> None:
    """Two queries that close at different times: each sees what was absorbed before its own close."""
    question = """REGISTER RSTREAM :{} AS SELECT ?x ?y FROM NAMED WINDOW :w ON :s [RANGE PT7S STEP PT{}S]
WHERE {{ WINDOW :w {{ ?a :p ?b }} ?x :p ?y }}"""
    session = freshet.Session()
    session.stream(S, absorb=True)
    registered = [register(session, PREFIX + question.format(f"every{step}", step)) for step in (2, 5)]
    session.push(S, line(1000, "x", "a") + line(4000, "y", "b"))
    session.finish()
    found = [[(report.time_ms, len(report.rows)) for report in query.take()] for query in registered]
    assert found == [[(2000, 1), (4000, 1), (6000, 4), (8000, 4), (10_000, 2)], [(5000, 4), (10_000, 2)]]


def test_named_graphs_are_kept_apart_from_the_default_graph(tmp_path: Path) -> None:
    trig, other = tmp_path / "data.trig", tmp_path / "other.ttl"
    trig.write_text(PREFIX + ":a :p 1 . :g { :a :p 2, 3 . _:x :p 4 }", encoding="utf-8")
    other.write_text(PREFIX + "_:x :p 5 .", encoding="utf-8")
    session = freshet.Session()
    assert session.load(trig) == 4
    assert session.load(other, graph="http://example.org/g") == 1
    assert session.load(other, graph="http://example.org/h") == 1
    a, p, g, h = (session.dictionary.encode(Iri(f"http://example.org/{name}")) for name in "apgh")
    dataset = session.dataset()
    assert sorted(dataset.names().tolist()) == sorted([g, h])
    assert [dataset.graph(name).count(a, p, ANY) for name in (DEFAULT_GRAPH, g, h)] == [1, 2, 0]
    assert dataset.graph(g).distinct(p, 0) == 3, "the blank nodes of two files are two"
    question = PREFIX + "SELECT ?v WHERE { :a :p ?v }"
    assert [row["v"].lexical for row in session.bindings(session.query(question))] == ["1"]


def test_a_dataset_has_what_streams_have_left(tmp_path: Path) -> None:
    session = freshet.Session()
    session.stream(S, absorb=True)
    p = session.dictionary.encode(Iri("http://example.org/p"))
    before = session.dataset()
    session.push(S, line(1000) + line(2000) + line(3000, "y"))
    assert before.graph(DEFAULT_GRAPH).count(ANY, p, ANY) == 0
    assert session.dataset().graph(DEFAULT_GRAPH).count(ANY, p, ANY) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lateness_ms": -1}, "the lateness in milliseconds is out of range: -1"),
        ({"lateness_ms": 1.5}, "the lateness in milliseconds must be a whole number"),
        ({"lateness_ms": 2**62}, "out of range"),
        ({"keep_ms": -1}, "out of range"),
        ({"absorb": "http://example.org/p"}, "a stream absorbs 'all', 'none', 'latest', a list of predicate IRIs"),
        ({"absorb": 5}, "a stream absorbs 'all', 'none', 'latest', a list of predicate IRIs"),
        ({"absorb": [5]}, "must be a string, not 5"),
    ],
)
def test_streams_that_cannot_be(options, words: str) -> None:
    session = freshet.Session()
    with pytest.raises(InputError) as caught:
        session.stream("http://example.org/s", **options)
    assert words in str(caught.value)
    assert not session.engine.streams


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every_ms": 1.5}, "a period in milliseconds must be a whole number"),
        ({"every_ms": 0}, "cannot be computed every 0 ms"),
        ({"limit_seconds": 0}, "a number of seconds above 0, not 0"),
        ({"limit_seconds": float("nan")}, "above 0"),
        ({"limit_seconds": "soon"}, "a number of seconds, not 'soon'"),
        ({"report": "never"}, "is no report condition"),
    ],
)
def test_queries_that_cannot_be(options, words: str) -> None:
    session = freshet.Session()
    window = "FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]"
    with pytest.raises(InputError) as caught:
        register(session, f"SELECT * {window} {{ WINDOW <w> {{ ?s ?p ?o }} }}", **options)
    assert words in str(caught.value)
    assert not session.engine.names
