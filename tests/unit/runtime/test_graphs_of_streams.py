"""Streams that keep the graphs of their elements: what comes in, and what is refused."""

import pytest

import freshet
from freshet import Iri, Session
from freshet.rdf.errors import InputError, UnsupportedError

S = "http://e/s"
PREFIX = "PREFIX : <http://e/> "
ASKED = PREFIX + (
    "SELECT ?g ?a ?b FROM NAMED WINDOW <w> ON :s [RANGE PT10S STEP PT10S]"
    " WHERE { WINDOW <w> { GRAPH ?g { ?a :p ?b } } }"
)
TRIG = "PREFIX : <http://e/> :a :p :b . :g { :a :p :b , :c } _:x { :d :p _:x }"
LOG = """VERSION "1.2-messages"
PREFIX : <http://e/>
:g { :a :p :b } :g :at 2000 .
MESSAGE
:h { :c :p :d } :h :at 1000 .
"""


def session_with(query: str = ASKED, **options: bool) -> tuple[Session, freshet.RegisteredQuery]:
    session = Session()
    session.stream(S, lateness_ms=5000, **options)
    return session, session.register(query, name="q")


def rows(session: Session, query: freshet.RegisteredQuery) -> list[tuple[str, ...]]:
    session.finish()
    found = [tuple(str(row[name]) for name in ("g", "a", "b")) for report in query.take() for row in report.bindings()]
    return sorted(found)


def test_trig_at_one_time() -> None:
    session, query = session_with(graphs=True)
    session.push(S, TRIG, time_ms=100, format="trig")
    found = rows(session, query)
    assert [row[:2] for row in found[:2]] == [("<http://e/g>", "<http://e/a>")] * 2
    assert len(found) == 3
    (blank,) = found[2:]
    assert blank[0].startswith("_:")
    assert blank[0] == blank[2]  # equal labels are one node


def test_a_log_of_messages_in_the_order_of_time() -> None:
    session, query = session_with(graphs=True)
    session.push_text(S, LOG, format="trig", time_predicate="http://e/at")
    assert rows(session, query) == [
        ("<http://e/g>", "<http://e/a>", "<http://e/b>"),
        ("<http://e/h>", "<http://e/c>", "<http://e/d>"),
    ]


def test_statements_of_one_document_stay_in_their_graphs_when_they_are_sorted() -> None:
    session, query = session_with(graphs=True)
    text = "PREFIX : <http://e/> :g :at 3000 . :h :at 1000 . :g { :a :p :b } :h { :c :p :d }"
    session.push_text(S, text, format="trig", time_predicate="http://e/at")
    assert [row[0] for row in rows(session, query)] == ["<http://e/g>", "<http://e/h>"]


def test_late_elements_take_their_graphs_with_them() -> None:
    session, query = session_with(graphs=True)
    lines = [(9000, "a", "g"), (1000, "late", "h"), (9001, "b", "h"), (2000, "late", "g"), (8000, "c", "i")]
    statements = (f"{time}\t<http://e/{a}> <http://e/p> <http://e/x> <http://e/{g}> .\n" for time, a, g in lines)
    session.push(S, "".join(statements))
    assert [row[:2] for row in rows(session, query)] == [
        (f"<http://e/{g}>", f"<http://e/{a}>") for g, a in [("g", "a"), ("h", "b"), ("i", "c")]
    ]


def test_tuples_are_in_no_graph() -> None:
    session, query = session_with(graphs=True)
    session.push(S, (100, Iri("http://e/a"), Iri("http://e/p"), Iri("http://e/b")))
    session.push(S, "200\t<http://e/a> <http://e/p> <http://e/c> <http://e/g> .")
    assert rows(session, query) == [("<http://e/g>", "<http://e/a>", "<http://e/c>")]


def test_a_query_that_comes_later_sees_what_comes_then() -> None:
    session, query = session_with(graphs=True)
    session.push(S, "200\t<http://e/a> <http://e/p> <http://e/c> <http://e/g> .")
    later = session.register(ASKED, name="later")
    session.push(S, "300\t<http://e/b> <http://e/p> <http://e/c> <http://e/g> .")
    session.finish()
    assert [len(list(report.bindings())) for report in query.take()] == [2]
    assert [len(list(report.bindings())) for report in later.take()] == [1]


def test_refusals() -> None:
    with pytest.raises(InputError, match="retracts: it cannot keep the graphs"):
        Session().stream(S, graphs=True, retracts=True)
    with pytest.raises(UnsupportedError, match="does not keep the graphs of its elements: declare it with graphs=True"):
        session_with()
    session = Session()
    session.stream(S, graphs=True, keep_ms=60_000)
    with pytest.raises(UnsupportedError, match="a one-shot query with GRAPH in a window"):
        session.query(ASKED)
    with pytest.raises(UnsupportedError, match="cannot begin in the past"):
        session.register(ASKED, name="past", since=0)
    query = session.register(ASKED, name="q")
    session.push(S, "200\t<http://e/a> <http://e/p> <http://e/c> <http://e/g> .")
    session.finish()
    with pytest.raises(UnsupportedError, match="answers of GRAPH in a window are not explained"):
        query.why(next(iter(query.take())))
