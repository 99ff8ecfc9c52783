"""SERVICE in continuous queries: windows joined with local views of a real endpoint in a second process."""

from __future__ import annotations

import json
import threading
import time

import pytest

from followed_mentions import EX, QUICK, STREAM, USERS, closed, counts, followers, mention, query_text
from freshet.federation.errors import ServiceError
from freshet.native.memory.term_collector import TermCollector
from freshet.rdf.errors import InputError
from freshet.results.report import Report
from freshet.runtime.query_failure import QueryFailure
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess
from waiting import wait_until


def test_a_window_is_joined_with_remote_data(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(followers(endpoint)))
    mention(session, 1, 1, 2, 2, 99)
    [report] = closed(session, query, 10)
    assert counts(session, report) == [("u1", "10"), ("u2", "20"), ("u2", "20")]
    [seen] = endpoint.seen
    assert "VALUES" in seen["query"]
    assert report.freshness is not None
    assert report.freshness.accuracy > 0.5  # the more the less time has gone by
    assert report.freshness.refreshes == 3
    assert report.freshness.missed == ()


def test_one_key_can_have_several_solutions(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(followers(endpoint)))
    mention(session, 1, 3)
    [report] = closed(session, query, 10)
    assert counts(session, report) == [("u3", "30"), ("u3", "33")]


def test_optional_minus_and_filters(session: Session, endpoint: EndpointProcess) -> None:
    remote = followers(endpoint)
    optional = session.register(query_text(f"OPTIONAL {{ {remote} }}").replace("<q>", "<a>"))
    minus = session.register(query_text(f"MINUS {{ {remote} }}", select="?user ?post").replace("<q>", "<b>"))
    large = session.register(query_text(f"{remote} FILTER (?n > 15)").replace("<q>", "<c>"))
    grouped = session.register(
        query_text(remote, select="(SUM(?n) AS ?all)")
        .replace("<q>", "<d>")
        .replace("?all", "?n")
        .replace("SELECT (SUM(?n) AS ?n)", "SELECT (SUM(?n) AS ?all)")
    )
    mention(session, 1, 1, 2, 99)
    session.advance(STREAM, 10_000)
    session.engine.drain()
    assert counts(session, optional.take()[0]) == [("u1", "10"), ("u2", "20"), ("u99", "-")]
    assert counts(session, minus.take()[0]) == [("u99", "-")]
    assert counts(session, large.take()[0]) == [("u2", "20")]
    [row] = list(session.bindings(grouped.take()[0]))
    assert str(row["all"]).startswith('"30"')


def test_patterns_are_joined_one_after_another(session: Session, endpoint: EndpointProcess) -> None:
    """What the first endpoint says is what the second is asked for, and so on."""
    friends = " ".join(f"<{EX}u{n}> <{EX}friend> <{EX}f{n}> . <{EX}f{n}> <{EX}city> <{EX}c{n}> ." for n in range(USERS))
    endpoint.update(f"INSERT DATA {{ {friends} <{EX}c2> <{EX}people> 200 . <{EX}c7> <{EX}people> 700 }}")
    parts = ["?user :friend ?friend", "?friend :city ?city", "?city :people ?n"]
    far_first = " ".join(f"SERVICE <{endpoint.url}> {{ {part} }}" for part in reversed(parts))
    query = session.register(query_text(f"{far_first} FILTER (?n > 100)"))
    mention(session, 1, 1, 2, 7, 7)
    [report] = closed(session, query, 10)
    assert counts(session, report) == [("u2", "200"), ("u7", "700"), ("u7", "700")]
    asked = [each["query"] for each in endpoint.seen]
    assert len(asked) == 3
    assert all("VALUES" in each for each in asked)
    endpoint.update(f"DELETE WHERE {{ <{EX}u2> <{EX}friend> ?f }}; INSERT DATA {{ <{EX}u2> <{EX}friend> <{EX}f7> }}")
    time.sleep(0.3)
    mention(session, 11, 2)
    assert counts(session, closed(session, query, 20)[0]) == [("u2", "700")]


def test_stored_data_and_remote_data(session: Session, endpoint: EndpointProcess, tmp_path: object) -> None:
    file = f"{tmp_path}/stored.ttl"
    with open(file, "w", encoding="utf-8") as out:
        out.write(f"<{EX}u1> a <{EX}Famous> .")
    session.load(file)
    query = session.register(query_text(f"?user a :Famous . {followers(endpoint)}"))
    mention(session, 1, 1, 2)
    assert counts(session, closed(session, query, 10)[0]) == [("u1", "10")]
    assert "u2" not in endpoint.seen[0]["query"]  # what is joined here first is not asked for


def test_a_session_that_is_closed_asks_nothing_and_has_no_threads(endpoint: EndpointProcess) -> None:
    others = set(threading.enumerate())
    with Session(services=QUICK) as session:
        session.stream(STREAM)
        query = session.register(query_text(followers(endpoint)))
        mention(session, 1, 1)
        assert len(closed(session, query, 10)) == 1
        assert set(threading.enumerate()) - others
    for thread in set(threading.enumerate()) - others:
        thread.join(60)
    assert not set(threading.enumerate()) - others
    mention(session, 11, 1)
    assert closed(session, query, 20) == []
    assert len(endpoint.seen) == 1
    with pytest.raises(ServiceError, match="closed"):
        session.query(f"SELECT * {{ SERVICE <{endpoint.url}> {{ ?s ?p ?o }} }}")


def test_nobody_else_waits(session: Session, endpoint: EndpointProcess) -> None:
    endpoint.does("held")
    slow = session.register(query_text(followers(endpoint)).replace("<q>", "<slow>"))
    quick = session.register(query_text("", select="?user ?post").replace("<q>", "<quick>"))
    mention(session, 1, 1)
    session.advance(STREAM, 10_000)
    assert len(quick.take()) == 1
    assert slow.take() == []
    endpoint.does()
    session.engine.drain()
    assert len(slow.take()) == 1


def test_constraints_are_kept_and_told(session: Session, endpoint: EndpointProcess) -> None:
    endpoint.does("held")
    query = session.register(query_text(f"OPTIONAL {{ {followers(endpoint)} }}"), latency_ms=100, accuracy=0.75)
    mention(session, 1, 1, 2)
    [report] = closed(session, query, 10)
    assert report.freshness is not None
    assert report.freshness.latency_ms < 30_000  # 100, but for what else this machine has to do
    assert report.freshness.missed[0] == "accuracy"
    line = json.loads(session.ndjson(report))
    assert line["service"]["missed"][0] == "accuracy"
    assert line["service"]["accuracy"] == 0
    endpoint.does()
    wait_until(lambda: len(session.local_views()) == 2)  # what came too late is there for the next evaluation
    mention(session, 11, 1, 2)
    [report] = closed(session, query, 20)
    assert counts(session, report) == [("u1", "10"), ("u2", "20")]
    assert report.freshness is not None
    assert report.freshness.accuracy > 0.75


def test_unregistering_while_a_request_is_on_its_way(session: Session, endpoint: EndpointProcess) -> None:
    endpoint.does("held")
    query = session.register(query_text(followers(endpoint)))
    mention(session, 1, 1)
    session.advance(STREAM, 10_000)
    wait_until(lambda: bool(endpoint.seen))
    session.unregister(query.name)
    endpoint.does()
    time.sleep(0.2)  # the answer comes, and nobody wants it
    mention(session, 11, 1)
    session.finish()
    assert not session.failures


def test_constraints_in_the_text(session: Session, endpoint: EndpointProcess) -> None:
    text = query_text(followers(endpoint)).replace("WHERE", "WITH LATENCY <= 5 s WITH ACCURACY >= 0.5 WHERE", 1)
    query = session.register(text)
    for second in (1, 11, 21):
        mention(session, second, 1)
        closed(session, query, second + 9)
        time.sleep(0.2)
    assert len(endpoint.seen) == 1  # an accuracy of a half needs no refresh yet


def test_constraints_are_for_remote_data(session: Session) -> None:
    with pytest.raises(InputError, match="no SERVICE"):
        session.register(query_text("", select="?user"), latency_ms=100)


def test_a_query_that_fails_goes_alone(session: Session, endpoint: EndpointProcess) -> None:
    def fail(report: Report) -> None:
        raise ValueError("nobody wants this")

    session.register(query_text(followers(endpoint)).replace("<q>", "<bad>"), on_report=fail)
    good = session.register(query_text(followers(endpoint)).replace("<q>", "<good>"))
    mention(session, 1, 1)
    session.advance(STREAM, 10_000)
    session.engine.drain()
    assert [failure.query for failure in session.failures] == ["bad"]
    mention(session, 11, 2)
    session.finish()
    assert [counts(session, report) for report in good.take()] == [[("u1", "10")], [("u2", "20")]]


def test_whoever_waits_hears_of_a_failure(endpoint: EndpointProcess) -> None:
    told: list[str] = []

    def tell(failure: QueryFailure) -> None:
        time.sleep(0.3)  # the query is gone by now
        told.append(failure.query)

    def fail(report: Report) -> None:
        raise ValueError("nobody wants this")

    with Session(services=QUICK, on_failure=tell) as session:
        session.stream(STREAM)
        session.register(query_text(followers(endpoint)), on_report=fail)
        mention(session, 1, 1)
        session.advance(STREAM, 10_000)
        session.engine.drain()
        assert told == ["q"]


def test_many_small_pushes_from_several_queries(session: Session, endpoint: EndpointProcess) -> None:
    """Batching makes no difference, and the dictionary may be swept meanwhile."""
    session.engine.collector = TermCollector(session.dictionary, least=50)
    queries = [session.register(query_text(followers(endpoint)).replace("<q>", f"<q{at}>")) for at in range(3)]
    for second in range(1, 60):
        mention(session, second, second % USERS, (second * 5) % USERS)
    session.finish()
    assert not session.failures
    answers = [[counts(session, report) for report in query.take()] for query in queries]
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) == 6
    for at, rows in enumerate(answers[0]):
        seconds = [second for second in range(1, 60) if second // 10 == at]
        users = [user for second in seconds for user in (second % USERS, (second * 5) % USERS)]
        expected = [(f"u{user}", str(n)) for user in users for n in ([30, 33] if user == 3 else [user * 10])]
        assert rows == sorted(expected)
