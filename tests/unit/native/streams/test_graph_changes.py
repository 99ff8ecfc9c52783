"""Streams whose elements replace what is stored: which values stand, and since when."""

from __future__ import annotations

import pytest
from numpy import array

from freshet import InputError, Session, UnsupportedError
from freshet.rdf.elements import Elements
from freshet.results.live_change import LiveChange
from freshet.results.report import Report
from freshet.store.timed_change import change_of

S, T = "http://e/s", "http://e/t"
PREFIX = "PREFIX : <http://e/> "


def line(time_ms: int, subject: str, value: str, predicate: str = "p") -> str:
    return f'{time_ms}\t<http://e/{subject}> <http://e/{predicate}> "{value}" .\n'


def values(session: Session) -> set[str]:
    rows = session.query("SELECT ?s ?o { ?s <http://e/p> ?o }").bindings()
    return {f"{row['s'].value[-1]}{row['o'].lexical}" for row in rows}


def test_the_newest_value_stands_alone() -> None:
    session = Session()
    session.stream(S, absorb="latest")
    session.update(PREFIX + "INSERT DATA { :a :p '0' . :b :p '0' }")
    session.push(S, line(1, "a", "1") + line(2, "b", "1") + line(2, "a", "2"))
    assert values(session) == {"a2", "b1"}
    session.push(S, line(3, "b", "1") + line(3, "a", "1"))
    assert values(session) == {"a1", "b1"}
    session.push(S, line(3, "a", "4"))
    assert values(session) == {"a4", "b1"}


def test_an_older_value_that_comes_later_does_not_replace() -> None:
    session = Session()
    session.stream(S, absorb="latest", lateness_ms=1000)
    session.push(S, line(2000, "a", "2") + line(1500, "a", "1"))
    assert values(session) == set()
    session.push(S, line(2500, "a", "3"))
    assert values(session) == {"a1"}
    session.advance(S, 2000)
    assert values(session) == {"a2"}
    session.finish()
    assert values(session) == {"a3"}


def test_only_some_predicates() -> None:
    session = Session()
    session.stream(S, absorb={"latest": ["http://e/p"]})
    session.push(S, line(1, "a", "1") + line(1, "a", "1", "q") + line(2, "a", "2"))
    assert len(list(session.query("SELECT * { ?s ?p ?o }").bindings())) == 1
    assert values(session) == {"a2"}


def test_live_queries_are_told_once_it_is_replaced() -> None:
    session, changes = Session(), list[LiveChange]()
    session.stream(S, absorb="latest")
    session.follow(PREFIX + "SELECT ?o { :a :p ?o }", changes.append, name="live")
    session.push(S, line(1, "a", "1"))
    session.push(S, line(2, "a", "2"))
    assert [(len(change.added), len(change.removed)) for change in changes] == [(0, 0), (1, 0), (1, 1)]
    assert changes[-1].time_ms == 2


def test_a_value_waits_for_streams_that_are_read_together() -> None:
    """An evaluation sees what was there at its time, however far ahead the absorbed stream is."""
    session = Session()
    session.stream(S, absorb="latest")
    session.stream(T)
    query = session.register(
        f"{PREFIX} REGISTER RSTREAM :r AS SELECT ?o FROM NAMED WINDOW :w ON :t [RANGE PT1S STEP PT1S] "
        "WHERE { WINDOW :w { ?x :seen ?y } :a :p ?o }"
    )
    session.push(S, "".join(line(500 + 1000 * at, "a", str(at)) for at in range(5)))
    assert values(session) == set()
    session.push(T, "".join(f"{700 + 1000 * at}\t<http://e/x> <http://e/seen> <http://e/y> .\n" for at in range(4)))
    assert values(session) == {"a3"}
    session.finish()
    assert [(each.time_ms, [row["o"].lexical for row in each.bindings()]) for each in query.take()] == [
        (1000, ["0"]),
        (2000, ["1"]),
        (3000, ["2"]),
        (4000, ["3"]),
    ]
    assert values(session) == {"a4"}


@pytest.mark.parametrize("absorb", ["newest", {"newest": ["http://e/p"]}, {"latest": "http://e/p"}, {"latest": ["p"]}])
def test_what_is_no_choice(absorb: object) -> None:
    with pytest.raises(InputError, match="a stream absorbs"):
        Session().stream(S, absorb=absorb)  # type: ignore[arg-type]


def test_the_last_of_each_subject_and_predicate() -> None:
    elements = Elements(*(array(column) for column in ([1, 2, 3, 3], [7, 7, 8, 7], [5, 6, 5, 5], [1, 2, 3, 4])))
    change = change_of(elements, replaces=True)
    assert [column.tolist() for column in change.values] == [[2, 3, 3], [7, 8, 7], [6, 5, 5], [2, 3, 4]]
    assert change.time_ms == 3
    assert not len(change.deleted.subjects)


BY_EVENT_TIME = (
    f"{PREFIX} REGISTER RSTREAM :r AS SELECT ?o FROM NAMED WINDOW :w ON :s [RANGE PT5S @:at] WHERE {{ :a :p ?o }}"
)
HAPPENED = '{}\t<http://e/x> <http://e/at> "{}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({"absorb": True, "retracts": True}, '4000\t- <http://e/a> <http://e/p> "1" .\n'),
        ({"absorb": "latest"}, line(4000, "a", "2")),
        ({"absorb": {"keep": "3s"}}, ""),
    ],
    ids=["retracts", "latest", "age"],
)
def test_changes_wait_for_streams_by_the_time_of_a_predicate(options: dict[str, object], change: str) -> None:
    """What happened before the change is evaluated with what was there then, though the stream has passed it."""
    session = Session()
    session.stream(S, **options)  # type: ignore[arg-type]
    query = session.register(BY_EVENT_TIME)
    session.push(S, line(1000, "a", "1"))
    session.push(S, change + HAPPENED.format(4500, 2000))
    session.push(S, HAPPENED.format(6000, 3000) + HAPPENED.format(6500, 3500))
    session.advance(S, 7000)
    assert [(report.time_ms, objects(report)) for report in query.take()] == [(2000, ["1"]), (3000, ["1"])]
    session.push(S, HAPPENED.format(8000, 9000) + HAPPENED.format(8500, 9500))
    session.advance(S, 10000)
    later = [(9000, ["2"])] if options["absorb"] == "latest" else []
    assert [(report.time_ms, objects(report)) for report in query.take()] == [(3500, ["1"]), *later]


def objects(report: Report) -> list[str]:
    return [row["o"].lexical for row in report.bindings()]


OF_ANSWERS = BY_EVENT_TIME.replace("ON :s", "ON :c")
REFUSED = "over the answers of the query http://e/c, and reads the stored graph"


def session_with_answers(**options: object) -> Session:
    session = Session()
    session.stream(S, **options)  # type: ignore[arg-type]
    session.register(
        PREFIX + "REGISTER STREAM :c AS CONSTRUCT { ?x ?p ?y } FROM NAMED WINDOW :w ON :s [RANGE PT1S] "
        "WHERE { WINDOW :w { ?x ?p ?y } }"
    )
    return session


def test_such_a_stream_of_the_answers_of_a_query_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=REFUSED):
        session_with_answers(absorb="latest").register(OF_ANSWERS)


def test_a_stream_that_would_make_such_a_query_wait_is_refused() -> None:
    session = session_with_answers()
    session.register(OF_ANSWERS)
    with pytest.raises(UnsupportedError, match=REFUSED):
        session.stream("http://e/changing", absorb="latest")
    session.stream("http://e/changing", absorb=True)
    with pytest.raises(UnsupportedError, match=REFUSED):
        session.stream("http://e/too", absorb=["http://e/other"], retracts=True)
    assert [state.iri for state in session.streams()] == [S, "http://e/changing"]
