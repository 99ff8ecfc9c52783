"""What the latency of queries with threads of their own counts from, and what their reports say."""

from __future__ import annotations

import time

from freshet.native.moments import close_at
from freshet.native.service.watermark_log import WatermarkLog, catching_up, done_for
from freshet.results.report import Report
from freshet.runtime.session import RegisteredQuery, Session
from service_thread_world import STREAM, freshness, mention, query_text, thread_of
from sparql_endpoint import EndpointProcess


def reported_after_a_pause(session: Session, query: RegisteredQuery) -> Report:
    """A window closes while the thread of its query is held still, for 300 ms."""
    mention(session, 1, 1)
    session.engine.drain()
    with thread_of(session).pause() as held:
        assert held
        session.advance(STREAM, 10_000)
        time.sleep(0.3)
    session.engine.drain()
    [report] = query.take()
    return report


def test_latency_counts_from_when_the_window_closed(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(endpoint))
    report = reported_after_a_pause(session, query)
    assert freshness(report).latency_ms >= 300


def test_the_budget_is_what_is_left(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(endpoint, silent="SILENT"), latency_ms=200)
    endpoint.does(delay_seconds=15)
    report = reported_after_a_pause(session, query)
    assert freshness(report).missed == ("latency",)
    assert 300 <= freshness(report).latency_ms < 15_000  # nobody waited for the endpoint


def test_closes_count_from_their_own_watermarks() -> None:
    log = WatermarkLog()
    log.add(10, 1)
    time.sleep(0.01)
    log.add(20, 2)
    with catching_up():
        log.add(30, 2)
    first, second, third = (log.of(close_at(time_ms)) for time_ms in (10, 11, 25))
    assert [each.entry for each in (first, second, third)] == [1, 2, 2]
    assert first.seconds is not None
    assert second.seconds is not None
    assert second.seconds - first.seconds >= 0.01
    assert third.seconds is None
    log.done(30)
    assert log.of(close_at(30)) == third  # until another comes


def test_watermarks_that_come_at_once_take_no_room() -> None:
    log = WatermarkLog()
    with catching_up(), done_for(7):
        for time_ms in range(100_000):
            log.add(time_ms, log.entry())
    assert len(log._waiting) == 1
    assert log.of(close_at(99_999)).entry == 7


def test_nothing_is_asked_for_between_evaluations(session: Session, endpoint: EndpointProcess) -> None:
    """The window moves every ten seconds, and is evaluated every thirty."""
    query = session.register(query_text(endpoint), every_ms=30_000)
    for second, user in ((1, 1), (11, 2), (21, 3)):
        mention(session, second, user)
        session.engine.drain()
    session.advance(STREAM, 30_000)
    session.engine.drain()
    [report] = query.take()
    assert freshness(report).refreshes == 1  # the one that is in the answer


def test_refreshes_are_reported_once(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(endpoint, window="[RANGE PT100S STEP PT10S]"), accuracy=0.01)
    mention(session, 1, 1, 2)
    session.advance(STREAM, 50_000)
    session.engine.drain()
    assert [freshness(report).refreshes for report in query.take()] == [2, 0, 0, 0, 0]
