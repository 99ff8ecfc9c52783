"""Continuous queries with SERVICE go on with what they have, whatever their endpoint does."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from followed_mentions import EX, QUICK, STREAM, closed, counts, followers, mention, query_text
from freshet.federation.local_view import LocalView
from freshet.federation.settings import ServiceSettings
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess


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


def test_values_are_tried_again_after_a_while(endpoint: EndpointProcess) -> None:
    session = Session(services=replace(QUICK, values_again_seconds=2))
    session.stream(STREAM)
    query = session.register(query_text(followers(endpoint)))
    endpoint.does("no_values")
    mention(session, 1, 1, 2)
    closed(session, query, 10)
    endpoint.does()
    mention(session, 11, 1, 2)
    closed(session, query, 20)
    assert values_seen(endpoint) == [False, False]
    time.sleep(2)
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
        {"delay_seconds": 2},
    ],
    ids=lambda value: str(value.get("mode", "slow")),
)
def test_the_query_goes_on_with_what_it_has(endpoint: EndpointProcess, behaviour: dict[str, object]) -> None:
    session = Session(
        services=ServiceSettings(("127.0.0.1",), timeout_seconds=0.6, attempts=1, failures_to_open=3, open_seconds=0.2)
    )
    session.stream(STREAM)
    query = session.register(query_text(followers(endpoint)), latency_ms=400, accuracy=0.999)
    mention(session, 1, 1, 2)
    closed(session, query, 10)
    endpoint.does(**behaviour)  # type: ignore[arg-type]
    endpoint.update(f"DELETE WHERE {{ <{EX}u1> ?p ?o }}; INSERT DATA {{ <{EX}u1> <{EX}followers> 11 }}")
    time.sleep(0.7)
    for second in (11, 21, 31):
        mention(session, second, 1, 2, 5)
        start = time.monotonic()
        [report] = closed(session, query, second + 9)
        assert time.monotonic() - start < 1.5
        assert counts(session, report) == [("u1", "10"), ("u2", "20")]  # u5 is not known, u1 is stale
        assert report.freshness is not None
        assert report.freshness.oldest_ms >= 600
        assert report.freshness.accuracy < 0.99
        assert "accuracy" in report.freshness.missed
        time.sleep(0.25)
    assert report.freshness.failing
    assert not session.failures
    endpoint.does()
    time.sleep(1)
    for second in (41, 51, 61):
        mention(session, second, 1, 2, 5)
        [report] = closed(session, query, second + 9)
        time.sleep(0.25)
    assert counts(session, report) == [("u1", "11"), ("u2", "20"), ("u5", "50")]
    session.services.close()


def test_silent_endpoints_that_are_gone(session: Session) -> None:
    service = "SERVICE SILENT <http://127.0.0.1:9/sparql> { ?user :followers ?n }"
    query = session.register(query_text(service))
    mention(session, 1, 1)
    assert counts(session, closed(session, query, 10)[0]) == [("u1", "-")]
