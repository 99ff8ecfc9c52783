"""Queries with threads of their own: who waits for them, and what becomes of those that are no more or go wrong."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from freshet.native.scheduled_query import without_limits
from freshet.rdf.deadline import Deadline, QueryLimits
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri
from freshet.results.report import Report
from freshet.runtime.query_failure import QueryFailure
from freshet.runtime.session import Session
from service_thread_world import EX, QUICK, STREAM, mention, query_text, thread_of
from sparql_endpoint import EndpointProcess
from waiting import wait_until

# ---- who waits


def test_push_waits_for_a_query_that_is_far_behind(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(endpoint))
    mention(session, 1, 1)
    session.engine.drain()
    with thread_of(session).pause() as held:
        assert held
        mention(session, 2, *range(10))  # so many may wait
        pusher = threading.Thread(target=mention, args=(session, 3, 1, 2), daemon=True)
        pusher.start()
        wait_until(lambda: session.engine.service_threads.held_back)  # it may have to wait for the machine first
        pusher.join(0.3)
        assert pusher.is_alive()
    pusher.join(120)
    assert not pusher.is_alive()
    assert session.engine.service_threads.held_back == 1
    session.finish()
    [report] = query.take()
    assert len(report.rows) == 10  # p1 and p2 of the second push came before


def test_callbacks_may_push(endpoint: EndpointProcess) -> None:
    """That of the query itself, from its thread, and that of another, which the pusher's thread calls."""
    with Session(services=replace(QUICK, most_behind=5)) as session:
        session.stream(STREAM)
        session.stream(EX + "more")
        seen: list[int] = []

        def push_more(report: Report) -> None:
            seen.append(report.time_ms)
            for at in range(20):
                session.push(EX + "more", f"{report.time_ms}\t<{EX}u{at}> <{EX}isMentionedIn> <{EX}x{at}> .")

        session.register(query_text(endpoint), on_report=push_more)
        slow = session.register(query_text(endpoint, "slow").replace(STREAM, EX + "more"))
        plain = query_text(endpoint, "plain").split("SERVICE")[0] + "}"
        session.register(plain.replace("?n ", ""), on_report=push_more)
        for second in range(1, 60, 5):
            mention(session, second, *range(4), post=f"p{second}-")
        session.finish()
        assert not session.failures
        assert sorted(set(seen)) == [10_000, 20_000, 30_000, 40_000, 50_000, 60_000]
        assert len(seen) == 12
        assert slow.take()


def test_another_querys_callback_does_not_wait(endpoint: EndpointProcess) -> None:
    """It runs within a push, which waits itself when all is done that nobody else can do."""
    with Session(services=replace(QUICK, most_behind=5)) as session:
        session.stream(STREAM)
        session.stream(EX + "more")
        pushed = threading.Event()

        def push_more(report: Report) -> None:
            session.push(EX + "more", f"1\t<{EX}a> <{EX}b> <{EX}c> .")
            pushed.set()

        session.register(query_text(endpoint))
        plain = query_text(endpoint, "plain").split("SERVICE")[0] + "}"
        session.register(plain.replace("?n ", ""), on_report=push_more)
        mention(session, 1, 1)
        session.engine.drain()
        with thread_of(session).pause() as held:
            assert held
            pusher = threading.Thread(target=mention, args=(session, 11, *range(10)), daemon=True)
            pusher.start()
            assert pushed.wait(120)
            pusher.join(0.2)
            assert pusher.is_alive()  # ten wait, five may
        pusher.join(120)
        assert not pusher.is_alive()


def test_callbacks_may_end_the_streams(session: Session, endpoint: EndpointProcess) -> None:
    seen: list[int] = []

    def end(report: Report) -> None:
        seen.append(report.time_ms)
        session.finish()

    session.register(query_text(endpoint), on_report=end)
    mention(session, 1, 1)
    mention(session, 11, 1, post="x")
    session.engine.drain()
    assert seen == [10_000, 20_000]


def test_limits_do_not_hold_for_what_is_done_again(session: Session, endpoint: EndpointProcess) -> None:
    """As after a restart; what the thread is asked to do is done as if it were done here."""
    query = session.register(query_text(endpoint), limit_seconds=1e-9)
    with without_limits():
        mention(session, 1, 1)
        session.advance(STREAM, 10_000)
        session.engine.drain()
    assert not session.failures
    assert len(query.take()) == 1
    mention(session, 11, 1)
    session.advance(STREAM, 20_000)
    session.engine.drain()
    [failure] = session.failures
    assert "limit" in failure.reason


def test_an_unregistered_query_stops_between_evaluations(session: Session, endpoint: EndpointProcess) -> None:
    reports: list[Report] = []

    def stop(report: Report) -> None:
        reports.append(report)
        session.unregister("q")

    session.register(query_text(endpoint), on_report=stop)
    session.engine.service_threads.most_behind = 1_000_000
    for second in range(1, 100, 10):
        mention(session, second, 1, 2, post=f"p{second}-")
    session.finish()
    assert len(reports) == 1
    assert not session.failures


# ---- queries that are no more


def test_a_late_failure_leaves_another_query_of_the_name_alone(
    session: Session, endpoint: EndpointProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query is unregistered while it waits for an answer, and its time is over when the answer comes at last."""
    now = [0.0]
    monkeypatch.setattr(QueryLimits, "deadline", lambda limits, _: Deadline(limits.seconds, clock=lambda: now[0]))
    endpoint.does("held")
    session.register(query_text(endpoint), limit_seconds=1)
    mention(session, 1, 1)
    session.advance(STREAM, 10_000)
    old = thread_of(session)
    wait_until(lambda: bool(endpoint.seen))
    now[0] = 2.0
    session.unregister("q")
    query = session.register(query_text(endpoint).partition("SERVICE")[0].replace("?post ?n", "?post") + "}")
    endpoint.does()
    old.drain()
    assert session.engine.names == ["q"]
    assert not session.failures
    mention(session, 11, 1)
    session.advance(STREAM, 20_000)
    assert [report.time_ms for report in query.take()] == [20_000]


def test_a_failure_of_a_thread_that_is_no_more_is_not_reported(session: Session, endpoint: EndpointProcess) -> None:
    """Also where it fails between two waits for remote data."""
    session.register(query_text(endpoint))
    old = thread_of(session)
    session.unregister("q")
    session.register(query_text(endpoint))
    old._group._on_failure("q", ValueError("too late"))
    assert session.engine.names == ["q"]
    assert not session.failures


def test_who_rests_while_it_is_closed_does_not_go_on(session: Session, endpoint: EndpointProcess) -> None:
    """Terms may have been dropped meanwhile that only it had."""
    session.register(query_text(endpoint))
    thread = thread_of(session)
    with pytest.raises(BaseException) as found, thread.resting():  # noqa: PT011
        session.unregister("q")
    thread._held.close()
    assert not isinstance(found.value, Exception)


# ---- what is absorbed and loaded


def absorbing(endpoint: EndpointProcess, stored: str) -> Session:
    session = Session(services=replace(QUICK, most_behind=10))
    session.stream(STREAM)
    session.stream(EX + "left", absorb=True)
    session.register(query_text(endpoint).replace("WHERE {", "WHERE { " + stored))
    return session


def test_a_thread_keeps_no_absorbed_elements_that_its_query_does_not_read(endpoint: EndpointProcess) -> None:
    with absorbing(endpoint, "") as session, thread_of(session).pause() as held:
        assert held
        session.engine.push(EX + "left", elements_to_leave(session, 30))
        assert not thread_of(session)._unfinished()


def elements_to_leave(session: Session, count: int) -> Elements:
    ids = [session.dictionary.encode(Iri(f"{EX}{name}")) for name in ("u1", "knows", "u2")]
    return Elements(np.arange(count), *(np.full(count, each) for each in ids))


# ---- what goes wrong outside of evaluations


def test_a_thread_that_cannot_go_on_is_reported(session: Session, endpoint: EndpointProcess) -> None:
    """Something fails in its thread that is no evaluation: the query is removed as one that fails is."""
    session.register(query_text(endpoint))
    thread = thread_of(session)

    def fail() -> None:
        raise ValueError("no sweep today")

    thread._on_rest = fail
    mention(session, 1, 1)
    session.engine.drain()
    wait_until(lambda: session.failures)
    [failure] = session.failures
    assert "no sweep today" in failure.reason
    assert session.engine.names == []
    assert thread.is_closed


@pytest.mark.parametrize("error", [KeyError("of the owner"), BrokenPipeError("of the owner")])
def test_what_the_owner_does_wrong_on_a_failure_is_reported(endpoint: EndpointProcess, error: Exception) -> None:
    """As a warning; a closed pipe, after which nobody reads anything, is raised where somebody waits."""

    def fail(failure: QueryFailure) -> None:
        raise error

    is_closed = isinstance(error, BrokenPipeError)
    expected = pytest.raises(BrokenPipeError) if is_closed else pytest.warns(UserWarning, match="of the owner")
    with Session(services=QUICK, on_failure=fail) as session:
        session.stream(STREAM)
        session.register(query_text(endpoint), limit_seconds=1e-9)
        thread = thread_of(session)
        mention(session, 1, 1)
        with expected:
            session.advance(STREAM, 10_000)
            thread.drain()
        assert len(session.failures) == 1
