"""Continuous queries with SERVICE go on with what they have, whatever their endpoint does."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count

import pytest

from followed_mentions import EX, QUICK, STREAM, closed, counts, followers, mention, query_text
from freshet.federation import endpoint as endpoints
from freshet.federation.local_view import LocalView
from freshet.federation.settings import ServiceSettings
from freshet.results.report import Report
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess
from waiting import wait_until


def test_old_endpoints(session: Session, endpoint: EndpointProcess) -> None:
    endpoint.does("no_values")
    query = session.register(query_text(followers(endpoint)))
    mention(session, 1, 1, 2)
    closed(session, query, 10)  # finds out that VALUES is not known
    mention(session, 11, 1, 2)
    assert counts(session, closed(session, query, 20)[0]) == [("u1", "10"), ("u2", "20")]


def values_seen(endpoint: EndpointProcess) -> list[bool]:
    return ["VALUES" in each["query"] for each in endpoint.seen]


@pytest.mark.parametrize("status", [401, 403, 404, 413])
def test_a_refusal_for_another_reason_says_nothing_of_values(
    session: Session, endpoint: EndpointProcess, status: int
) -> None:
    query = session.register(query_text(f"OPTIONAL {{ {followers(endpoint)} }}"))
    endpoint.does("status", status=status, only_first=1)
    mention(session, 1, 1, 2)
    [report] = closed(session, query, 10)
    assert report.freshness is not None
    assert report.freshness.failing is not None
    assert f"status {status}" in report.freshness.failing
    mention(session, 11, 1, 2)
    assert counts(session, closed(session, query, 20)[0]) == [("u1", "10"), ("u2", "20")]
    assert values_seen(endpoint) == [True, True]


def test_a_query_that_is_refused_with_single_bindings_too_says_nothing_of_values(
    session: Session, endpoint: EndpointProcess
) -> None:
    query = session.register(query_text(followers(endpoint)))
    endpoint.does("status", status=400, only_first=2)
    mention(session, 1, 1, 2)
    closed(session, query, 10)
    mention(session, 11, 1, 2)
    assert counts(session, closed(session, query, 20)[0]) == [("u1", "10"), ("u2", "20")]
    assert values_seen(endpoint) == [True, False, True]


def test_values_are_tried_again_after_a_while(endpoint: EndpointProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(services=replace(QUICK, values_again_seconds=1000))
    session.stream(STREAM)
    query = session.register(query_text(followers(endpoint)))
    endpoint.does("no_values")
    mention(session, 1, 1, 2)
    closed(session, query, 10)
    endpoint.does()
    mention(session, 11, 1, 2)
    closed(session, query, 20)
    assert values_seen(endpoint) == [False, False]
    monkeypatch.setattr(endpoints, "monotonic", lambda: time.monotonic() + 1000)
    time.sleep(0.3)  # the view has aged
    mention(session, 21, 1, 2)
    assert counts(session, closed(session, query, 30)[0]) == [("u1", "10"), ("u2", "20")]
    assert values_seen(endpoint) == [False, False, True]
    session.services.close()


@pytest.mark.parametrize("method", ["_columns", "_take"])
def test_an_answer_that_cannot_be_taken_in_is_told_and_asked_for_again(
    session: Session, endpoint: EndpointProcess, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("nobody thought of this")

    query = session.register(query_text(f"OPTIONAL {{ {followers(endpoint)} }}"))
    with monkeypatch.context() as broken:
        broken.setattr(LocalView, method, fail)
        mention(session, 1, 1, 2)
        [report] = closed(session, query, 10)
    assert report.freshness is not None
    assert str(report.freshness.failing).endswith("could not be taken in: ValueError")
    assert not session.failures
    mention(session, 11, 1, 2)
    [report] = closed(session, query, 20)
    assert counts(session, report) == [("u1", "10"), ("u2", "20")]
    assert report.freshness is not None
    assert report.freshness.failing is None


def test_hosts_need_leave_at_registration(endpoint: EndpointProcess) -> None:
    session = Session()
    session.stream(STREAM)
    with pytest.raises(Exception, match="may not ask"):
        session.register(query_text(followers(endpoint)))
    assert session.engine.names == []


# ---- bad endpoints


@pytest.mark.parametrize(
    "behaviour",
    [
        {"mode": "gone"},
        {"mode": "wrong_type"},
        {"mode": "broken_json"},
        {"mode": "drip"},
        {"mode": "status", "status": 500},
        {"mode": "redirect", "location": "http://evil.example/"},
        {"mode": "held"},
    ],
    ids=lambda value: str(value["mode"]),
)
def test_the_query_goes_on_with_what_it_has(endpoint: EndpointProcess, behaviour: dict[str, object]) -> None:
    session = Session(
        services=ServiceSettings(("127.0.0.1",), timeout_seconds=0.6, attempts=1, failures_to_open=3, open_seconds=0.2)
    )
    session.stream(STREAM)
    query = session.register(query_text(followers(endpoint)), latency_ms=400, accuracy=0.999)
    windows = count(0, 10)

    def reported(*users: int) -> Report | None:
        """What is reported of the next window; nothing where nothing is known of these users."""
        second = next(windows)
        mention(session, second, *users)
        reports = closed(session, query, second + 10)
        return reports[0] if reports else None

    def found(*users: int) -> list[tuple[str, str]]:
        report = reported(*users)
        return [] if report is None else counts(session, report)

    wait_until(lambda: found(1, 2) == [("u1", "10"), ("u2", "20")])
    endpoint.does(**behaviour)  # type: ignore[arg-type]
    asking = session.services.endpoint(endpoint.url)._threads
    wait_until(lambda: asking._idle == asking._threads)  # who asked while it was well may be answered still
    endpoint.update(f"DELETE WHERE {{ <{EX}u1> ?p ?o }}; INSERT DATA {{ <{EX}u1> <{EX}followers> 11 }}")
    time.sleep(0.7)

    def has_failed() -> bool:
        start = time.monotonic()
        report = reported(1, 2, 5)
        assert time.monotonic() - start < 30
        assert report is not None
        assert counts(session, report) == [("u1", "10"), ("u2", "20")]  # u5 is not known, u1 is stale
        assert report.freshness is not None
        assert report.freshness.oldest_ms >= 600
        assert report.freshness.accuracy < 0.99
        assert "accuracy" in report.freshness.missed
        return report.freshness.failing is not None

    for _ in range(3):
        wait_until(has_failed)
        time.sleep(0.25)
    assert not session.failures
    endpoint.does()
    wait_until(lambda: found(1, 2, 5) == [("u1", "11"), ("u2", "20"), ("u5", "50")])
    session.services.close()


def test_why_an_endpoint_is_tried_again_is_told(endpoint: EndpointProcess) -> None:
    with Session(services=replace(QUICK, attempts=3, backoff_seconds=1000, timeout_seconds=5000)) as session:
        session.stream(STREAM)
        text = query_text(f"OPTIONAL {{ {followers(endpoint)} }}", width=100_000)
        query = session.register(text, latency_ms=200)
        endpoint.does("status", status=503)
        mention(session, 1, 1)
        failing: str | None = None
        for second in range(10, 100_000, 10):  # the request does not come to an end
            [report] = closed(session, query, second)
            assert report.freshness is not None
            if (failing := report.freshness.failing) is not None:
                break
        assert failing == f"<{endpoint.url}> answers with status 503"
        assert len(endpoint.seen) == 1


def test_an_endpoint_that_is_left_alone_costs_no_refreshes(endpoint: EndpointProcess) -> None:
    settings = replace(QUICK, failures_to_open=1, open_seconds=1000, change_seconds={"*": 1.0})
    with Session(services=settings) as session:
        session.stream(STREAM)
        query = session.register(query_text(followers(endpoint), width=100))
        mention(session, 1, 1, 2)
        closed(session, query, 10)
        endpoint.does("status", status=500)
        told = []
        for second in (20, 30, 40):
            time.sleep(0.1)  # the view has aged
            [report] = closed(session, query, second)
            assert counts(session, report) == [("u1", "10"), ("u2", "20")]
            assert report.freshness is not None
            told.append((report.freshness.refreshes, "left alone" in (report.freshness.failing or "")))
        assert told == [(2, False), (0, True), (0, True)]
        assert len(endpoint.seen) == 1


def test_silent_endpoints_that_are_gone(session: Session) -> None:
    service = "SERVICE SILENT <http://127.0.0.1:9/sparql> { ?user :followers ?n }"
    query = session.register(query_text(service))
    mention(session, 1, 1)
    assert counts(session, closed(session, query, 10)[0]) == [("u1", "-")]
