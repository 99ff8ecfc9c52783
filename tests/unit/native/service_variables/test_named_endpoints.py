"""SERVICE ?variable: endpoints that rows name and that fail, are slow, may not be asked, or are too many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freshet.runtime.session import Session
from sightings import (
    FOLLOWERS,
    QUICK,
    STREAM,
    USERS,
    closed,
    freshness,
    rows_of,
    saw,
    seen_at,
)
from sparql_endpoint import EndpointProcess


def test_an_endpoint_that_fails_leaves_the_others(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess]
) -> None:
    one, two = endpoints
    query = session.register(seen_at(f"SERVICE ?where {FOLLOWERS}"), accuracy=0.9)
    two.does("status", status=500)
    saw(session, 1, (1, one.url), (2, two.url))
    [report] = closed(session, query, 10)
    assert rows_of(session, report) == [("u1", "10")]
    assert "status 500" in str(freshness(report).failing)
    assert two.url in str(freshness(report).failing)
    assert freshness(report).accuracy == pytest.approx(0.5, abs=0.2)
    assert freshness(report).missed == ("accuracy",)
    two.does()
    saw(session, 11, (1, one.url), (2, two.url))
    [report] = closed(session, query, 20)
    assert rows_of(session, report) == [("u1", "10"), ("u2", "200")]
    assert freshness(report).failing is None


def test_a_slow_endpoint_does_not_take_the_time_of_others(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess]
) -> None:
    one, two = endpoints
    query = session.register(seen_at(f"SERVICE SILENT ?where {FOLLOWERS}"), latency_ms=3000)
    one.does(delay_seconds=15)
    saw(session, 1, (1, one.url), (2, two.url))
    [report] = closed(session, query, 10)
    assert rows_of(session, report) == [("u1", "-"), ("u2", "200")]
    assert freshness(report).latency_ms < 14_000


def test_each_endpoint_needs_leave(endpoints: tuple[EndpointProcess, EndpointProcess]) -> None:
    one, two = endpoints
    with Session(services=replace(QUICK, hosts=(one.host,))) as session:
        session.stream(STREAM)
        strict = session.register(seen_at(f"SERVICE ?where {FOLLOWERS}").replace("<q>", "<a>"))
        silent = session.register(seen_at(f"SERVICE SILENT ?where {FOLLOWERS}").replace("<q>", "<b>"))
        saw(session, 1, (1, one.url), (2, two.url))
        [report] = closed(session, strict, 10)
        assert rows_of(session, report) == [("u1", "10")]
        assert freshness(report).failing == f"SERVICE may not ask <{two.url}>"
        assert freshness(report).accuracy == pytest.approx(0.5, abs=0.2)
        [report] = silent.take()
        assert rows_of(session, report) == [("u1", "10"), ("u2", "-")]
        others = [
            "file:///etc/passwd",
            f"ftp://{one.host}/x",
            f"http://user:s3cr3t@{one.host}/sparql",
            '"http://user:s3cr3t@example.org/"',
        ]
        saw(session, 11, (1, one.url), *((at + 2, url) for at, url in enumerate(others)))
        [report] = closed(session, strict, 20)
        assert rows_of(session, report) == [("u1", "10")]
        failing = str(freshness(report).failing)
        assert "asks http and https endpoints, not <ftp:" in failing
        assert "and 1 more" in failing
        assert "s3cr3t" not in failing
        [report] = silent.take()
        assert rows_of(session, report) == [("u1", "10"), *((f"u{at + 2}", "-") for at in range(4))]
        assert two.seen == []


def test_credentials_go_to_their_host_only(
    endpoints: tuple[EndpointProcess, EndpointProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = endpoints
    monkeypatch.setenv(f"FRESHET_SERVICE_127_0_0_1___{one.port}_TOKEN", "s3cr3t")
    with Session(services=replace(QUICK, hosts=(one.host, two.host))) as session:
        session.stream(STREAM)
        query = session.register(seen_at(f"SERVICE ?where {FOLLOWERS}"))
        saw(session, 1, (1, one.url), (2, two.url))
        assert len(closed(session, query, 10)) == 1
    assert [each["authorization"] for each in one.seen] == ["Bearer s3cr3t"]
    assert [each["authorization"] for each in two.seen] == [""]


def test_endpoints_at_once_are_limited(endpoints: tuple[EndpointProcess, EndpointProcess]) -> None:
    one, _ = endpoints
    with Session(services=replace(QUICK, most_endpoints=2)) as session:
        session.stream(STREAM)
        query = session.register(seen_at(f"SERVICE ?where {FOLLOWERS}"), accuracy=0.5)
        saw(
            session, 1, (1, f"{one.url}/a"), (2, f"{one.url}/a"), (3, f"{one.url}/b"), (4, f"{one.url}/b"), (5, one.url)
        )
        [report] = closed(session, query, 10)
        assert rows_of(session, report) == [("u1", "10"), ("u2", "20"), ("u3", "30"), ("u4", "40")]
        assert "more than 2 endpoints" in str(freshness(report).failing)
        for second in (11, 21, 31):  # others come, and those of before go
            saw(session, second, (second % USERS, f"{one.url}/{second}"))
            [report] = closed(session, query, second + 9)
            assert rows_of(session, report) == [(f"u{second % USERS}", str(second % USERS * 10))]


@pytest.mark.parametrize("asked", [f"SERVICE SILENT ?where {FOLLOWERS}", f"OPTIONAL {{ SERVICE ?where {FOLLOWERS} }}"])
def test_endpoints_beyond_the_limit_are_told_together(asked: str) -> None:
    """Those that most rows name are asked; how many are not is said once, whatever the data name."""
    with Session(services=replace(QUICK, hosts=("nobody.example",), most_endpoints=2)) as session:
        session.stream(STREAM)
        query = session.register(seen_at(asked))
        saw(session, 1, *((user, f"http://127.0.0.1:9/{user}") for user in range(3000)))
        [report] = closed(session, query, 10)
        assert rows_of(session, report) == sorted((f"u{user}", "-") for user in range(3000))
        told = str(freshness(report).failing)
        assert "more than 2 endpoints are needed at once, and no more are asked (2,998 are left out)" in told
        assert freshness(report).accuracy == 0
