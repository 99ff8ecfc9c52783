"""Streams that retract: how elements say that they delete, and what is there then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freshet import InputError, Iri, Literal, Session, UnsupportedError
from freshet.rdf.elements import Elements
from freshet.results.live_change import LiveChange

S = "http://e/s"
A, P = Iri("http://e/a"), Iri("http://e/p")
QUERY = f"SELECT ?s ?o FROM NAMED WINDOW <w> ON <{S}> [RANGE PT10S STEP PT1S] WHERE {{ WINDOW <w> {{ ?s ?p ?o }} }}"


def line(time_ms: int, value: str, *, deletes: bool = False, subject: str = "a") -> str:
    return f'{time_ms}\t{"- " if deletes else ""}<http://e/{subject}> <http://e/p> "{value}" .\n'


def answers(query: Any) -> list[tuple[int, list[str]]]:
    return [(report.time_ms, sorted(text(row["o"]) for row in report.bindings())) for report in query.take()]


def text(term: Any) -> str:
    found: str = term.lexical if isinstance(term, Literal) else term.value
    return found


def stored(session: Session, **asked: Any) -> set[str]:
    return {row["o"].lexical for row in session.query("SELECT ?o { ?s <http://e/p> ?o }", **asked).bindings()}


def push_text(session: Session) -> None:
    session.push(S, line(100, "1") + line(100, "2") + line(1100, "1", deletes=True))


def push_apart(session: Session) -> None:
    session.push(S, [(100, A, P, Literal("1")), (100, A, P, Literal("2"))])
    session.push(S, (1100, A, P, Literal("1")), retract=True)


def push_ids(session: Session) -> None:
    one, two, a, p = session.dictionary.encode_many([Literal("1"), Literal("2"), A, P]).tolist()
    columns = ([100, 100], [a, a], [p, p], [one, two])
    session.push(S, Elements(*(np.array(column, np.int64) for column in columns)))
    session.push(S, Elements(*(np.array([value], np.int64) for value in (1100, a, p, one))), retract=True)


def push_patch(session: Session) -> None:
    session.push(
        S,
        'TX .\nA <http://e/a> <http://e/p> "1" .\nA <http://e/a> <http://e/p> "2" .\nTC .\n',
        time_ms=100,
        format="patch",
    )
    patch = 'TX .\nD <http://e/a> <http://e/p> "2" .\nTA .\nTX .\nD <http://e/a> <http://e/p> "1" .\nTC .\n'
    session.push(S, patch, time_ms=1100, format="patch")


@pytest.mark.parametrize("push", [push_text, push_apart, push_ids, push_patch])
@pytest.mark.parametrize("absorb", [False, True])
def test_ways_to_delete(push: Any, absorb: bool) -> None:
    session = Session()
    session.stream(S, retracts=True, absorb=absorb)
    query = session.register(QUERY, name="q")
    push(session)
    session.advance(S, 2000)
    assert answers(query) == [(1000, ["1", "2"]), (2000, ["2"])]
    assert stored(session) == ({"2"} if absorb else set())


def test_a_transaction_with_a_time_of_its_own() -> None:
    session = Session()
    session.stream(S, retracts=True)
    query = session.register(QUERY, name="q")
    at = '<http://e/m> <http://e/at> "{}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    first = "TX .\nA " + at.format(100) + 'A <http://e/a> <http://e/p> "1" .\nTC .\n'
    second = "TX .\nD " + at.format(100) + "A " + at.format(1100) + 'D <http://e/a> <http://e/p> "1" .\nTC .\n'
    session.push(S, first + second, format="patch", time_predicate="http://e/at")
    session.advance(S, 2000)
    assert answers(query) == [(1000, ["1", "100"]), (2000, ["1100"])]


@pytest.mark.parametrize(
    ("elements", "options", "message"),
    [
        (line(1, "1") + line(2, "1", deletes=True), {"file": "s.tnt"}, r"s\.tnt:2:3: a line that begins with -"),
        ((1, A, P, Literal("1")), {"retract": True}, "retracts=True takes deletions"),
        ('D <http://e/a> <http://e/p> "1" .\n', {"time_ms": 1, "format": "patch"}, "not declared to retract"),
        ("1\t- - <http://e/a> <http://e/p> 1 .", {}, "1:5"),
    ],
)
def test_what_is_refused(elements: Any, options: dict[str, Any], message: str) -> None:
    session = Session()
    session.stream(S, retracts="- -" in str(elements))
    with pytest.raises(InputError, match=message):
        session.push(S, elements, **options)


def test_times_of_elements_cannot_be_asked_for() -> None:
    session = Session()
    session.stream(S, retracts=True)
    with pytest.raises(UnsupportedError, match="which retracts"):
        session.register(
            "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> "
            "REGISTER QUERY q AS SELECT ?s (f:timestamp(?s, ?p, ?o) AS ?t) "
            f"FROM STREAM <{S}> [RANGE 10s STEP 1s] WHERE {{ ?s ?p ?o }}"
        )


def test_istream_and_dstream_follow() -> None:
    session = Session()
    session.stream(S, retracts=True)
    came = session.register(f"REGISTER ISTREAM <i> AS {QUERY}")
    went = session.register(f"REGISTER DSTREAM <d> AS {QUERY}")
    session.push(S, line(100, "1") + line(1100, "1", deletes=True) + line(1100, "1") + line(2100, "1", deletes=True))
    session.push(S, line(3100, "1"))
    session.advance(S, 4000)
    assert answers(came) == [(1000, ["1"]), (4000, ["1"])]
    assert answers(went) == [(3000, ["1"])]


def test_one_shot_windows_and_live_queries() -> None:
    session, changes = Session(), list[LiveChange]()
    session.stream(S, retracts=True, keep_ms=60_000, absorb=True, lateness_ms=500)
    session.follow("SELECT ?o { ?s <http://e/p> ?o }", changes.append, name="live")
    session.push(S, line(100, "1") + line(1100, "2") + line(1000, "1", deletes=True) + line(1000, "3"))
    session.advance(S, 2000)
    assert sorted(row["o"].lexical for row in session.query(QUERY).bindings()) == ["2", "3"]
    session.push(S, line(2100, "3", deletes=True) + line(2200, "1"))
    session.advance(S, 3000)
    assert sorted(row["o"].lexical for row in session.query(QUERY).bindings()) == ["1", "2"]
    counted = [(len(change.added), len(change.removed)) for change in changes]
    assert sum(added - removed for added, removed in counted) == 2
    assert stored(session) == {"1", "2"}


def test_the_graph_of_the_past() -> None:
    session = Session(history="1h")
    session.stream(S, retracts=True, absorb=True)
    session.push(S, line(1000, "1") + line(2000, "1", deletes=True) + line(3000, "1") + line(3000, "2"))
    assert [stored(session, at=at) for at in (1000, 1001, 2001, 3001)] == [set(), {"1"}, set(), {"1", "2"}]


def test_the_latest_value_goes_when_it_is_deleted() -> None:
    session = Session()
    session.stream(S, retracts=True, absorb="latest")
    session.push(S, line(1, "1") + line(2, "2") + line(3, "1", deletes=True))
    assert stored(session) == {"2"}
    session.push(S, line(4, "3") + line(4, "3", deletes=True))
    assert stored(session) == set()


def test_what_another_stream_leaves_later_is_not_deleted() -> None:
    other = "http://e/other"
    session = Session()
    session.stream(S, retracts=True, absorb=True)
    session.stream(other, absorb=True)
    session.register(
        f"SELECT ?o FROM NAMED WINDOW <w> ON <{S}> [RANGE PT1S STEP PT1S] FROM NAMED WINDOW <v> ON <{other}> "
        "[RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s ?p ?o } WINDOW <v> { ?s ?p ?o } }",
        name="both",
    )
    session.push(other, line(1000, "1"))
    session.push(S, line(500, "1", deletes=True))
    session.advance(S, 2000)
    assert stored(session) == {"1"}


def test_why_leaves_out_what_was_deleted() -> None:
    session = Session()
    session.stream(S, retracts=True)
    query = session.register(QUERY, name="q")
    session.push(S, line(100, "1") + line(200, "1", deletes=True) + line(300, "1") + line(400, "2"))
    session.advance(S, 1000)
    [report] = query.take()
    row = report.to_arrow().column("o").to_pylist().index("1")
    [derivation] = query.why(report, row).derivations
    assert [element.time_ms for element in derivation.elements] == [300]


def test_terms_of_what_was_deleted_stay() -> None:
    """A predicate that only a waiting deletion has."""
    session = Session()
    session.stream(S, retracts=True, lateness_ms=1000)
    query = session.register(QUERY, name="q")
    session.push(S, "100\t- <http://e/a> <http://e/gone> <http://e/b> .\n")
    engine = session.engine
    engine.collector.sweep(engine.streams, session.stored, engine._groups(), engine.log)
    session.push(S, "100\t<http://e/a> <http://e/gone> <http://e/b> .\n" + line(200, "1"))
    session.finish()
    assert answers(query)[0] == (1000, ["1", "http://e/b"])


def test_a_checkpoint_has_deletions(tmp_path: Path) -> None:
    with Session(checkpoint=tmp_path, sync=False) as session:
        session.stream(S, retracts=True, absorb=True)
        session.register(QUERY, name="q")
        session.push(S, line(100, "1") + line(150, "2") + line(200, "1", deletes=True))
    with Session(checkpoint=tmp_path, sync=False) as session:  # from the journal
        assert stored(session) == {"2"}
        session.checkpoint()
        session.push(S, line(300, "2", deletes=True) + line(300, "3"))
    with Session(checkpoint=tmp_path, sync=False) as session:  # from the checkpoint, and the journal
        session.stream(S, retracts=True, absorb=True)
        assert stored(session) == {"3"}
        query = session.register(QUERY, name="q")
        session.advance(S, 1000)
        assert answers(query) == [(1000, ["3"])]
