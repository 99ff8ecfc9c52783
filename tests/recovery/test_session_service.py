"""Queries with SERVICE in a session with a checkpoint: they survive, and what they report is received once."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from freshet.federation.settings import ServiceSettings
from freshet.rdf.errors import FreshetError, InputError
from freshet.results.report import Report
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess

EX = "http://example.org/"
STREAM = EX + "mentions"
OTHER = EX + "other"
QUICK = ServiceSettings(hosts=("127.0.0.1",), timeout_seconds=600, backoff_seconds=0.01, attempts=1)
REMOTE = "".join(f"<{EX}u{n}> <{EX}followers> {n} ." for n in range(100))


def query_text(endpoint: EndpointProcess, name: str = "q", width: int = 10) -> str:
    return f"""PREFIX : <{EX}> REGISTER RSTREAM <{name}> AS SELECT ?user ?post ?n
        FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT{width}S STEP PT10S]
        WHERE {{ WINDOW <w> {{ ?user :isMentionedIn ?post }} SERVICE <{endpoint.url}> {{ ?user :followers ?n }} }}"""


def begun(folder: Path) -> Session:
    session = Session(services=QUICK, checkpoint=folder, checkpoint_seconds=1e6, sync=False)
    session.stream(STREAM, held=True)
    return session


def mention(session: Session, second: int, *users: int) -> None:
    lines = [f"{second * 1000}\t<{EX}u{user}> <{EX}isMentionedIn> <{EX}p{second}> ." for user in users]
    session.push(STREAM, "\n".join(lines))


def killed(session: Session) -> None:
    """As the end of the process would leave it: without any call."""
    session.engine.close()
    session.services.close()
    assert session._durable is not None
    checkpoint = session._durable._checkpoint
    checkpoint._stop.set()
    checkpoint.journal.close()
    checkpoint.release()


def times(reports: list[Report]) -> list[int]:
    return [report.time_ms // 1000 for report in reports]


def test_a_query_survives_and_its_view_is_fetched_anew(tmp_path: Path, endpoint: EndpointProcess) -> None:
    with begun(tmp_path) as session:
        query = session.register(query_text(endpoint, width=20), accuracy=0.01)
        mention(session, 1, 1, 2)
        session.advance(STREAM, 10_000)
        session.engine.drain()
        assert times(query.take()) == [10]
    endpoint.does()
    with begun(tmp_path) as session:
        query = session.register(query_text(endpoint, width=20), accuracy=0.01)
        session.engine.drain()
        assert query.take() == []
        mention(session, 11, 3)
        session.advance(STREAM, 20_000)
        session.engine.drain()
        [report] = query.take()
        found = {str(row["user"])[len(EX) + 1 : -1]: row["n"] for row in session.bindings(report)}
        assert sorted(found) == ["u1", "u2", "u3"]
        assert report.freshness is not None
        assert any(f"<{EX}u1>" in each["query"] for each in endpoint.seen)
        with pytest.raises(InputError, match="registered already"):
            session.register(query_text(endpoint, width=20), accuracy=0.9)


def test_what_was_not_received_comes_again(tmp_path: Path, endpoint: EndpointProcess) -> None:
    session = begun(tmp_path)
    query = session.register(query_text(endpoint))
    for second in (1, 11, 21):
        mention(session, second, 1)
        session.advance(STREAM, second * 1000 + 9000)
        session.engine.drain()
    assert times(query.take()) == [10, 20, 30]
    query.acknowledge()
    mention(session, 31, 2)  # with which it is noted
    session.advance(STREAM, 40_000)
    session.engine.drain()
    assert times(query.take()) == [40]
    killed(session)
    session = begun(tmp_path)
    session.engine.drain()
    query = session.registered("q")
    assert times(query.take()) == [40]
    session.close()
    with begun(tmp_path) as session:
        session.engine.drain()
        assert session.registered("q").take() == []


def closed_in_the_middle(folder: Path, endpoint: EndpointProcess, *, windows: int, reports: int) -> list[Report]:
    """Some windows close at once; the session ends when `reports` have been reported, which are received."""
    received: list[Report] = []
    enough = threading.Event()

    def receive(report: Report) -> None:
        received.append(report)
        if len(received) == reports:
            endpoint.does("held")
            enough.set()

    session = begun(folder)
    session.register(query_text(endpoint), on_report=receive)
    for second in range(1, 10 * windows, 10):
        mention(session, second, second)
    session.advance(STREAM, 10_000 * windows)
    assert enough.wait(120)
    session.close()
    return received


def test_a_session_that_is_closed_in_the_middle_of_an_entry(tmp_path: Path, endpoint: EndpointProcess) -> None:
    received = closed_in_the_middle(tmp_path, endpoint, windows=10, reports=3)
    assert times(received) == [10, 20, 30]
    endpoint.does()
    with begun(tmp_path) as session:
        session.register(query_text(endpoint), on_report=received.append)
        session.engine.drain()
    assert times(received) == list(range(10, 110, 10))
    with begun(tmp_path) as session:
        session.register(query_text(endpoint), on_report=received.append)
        session.engine.drain()
    assert len(received) == 10


def test_a_session_that_is_closed_twice_in_the_middle_of_an_entry(tmp_path: Path, endpoint: EndpointProcess) -> None:
    """The second time before it has come to where it was."""
    received = closed_in_the_middle(tmp_path, endpoint, windows=5, reports=2)
    endpoint.does("held")
    session = begun(tmp_path)
    session.register(query_text(endpoint), on_report=received.append)
    session.close()
    assert times(received) == [10, 20]
    endpoint.does()
    with begun(tmp_path) as session:
        session.register(query_text(endpoint), on_report=received.append)
        session.engine.drain()
    assert times(received) == [10, 20, 30, 40, 50]


def test_callbacks_may_push_and_finish_waits(tmp_path: Path, endpoint: EndpointProcess) -> None:
    """From the query's thread, while others push and wait."""
    with begun(tmp_path) as session:
        session.stream(OTHER)

        def push_on(report: Report) -> None:
            session.push(OTHER, f"{report.time_ms}\t<{EX}a> <{EX}b> <{EX}c{report.time_ms}> .")

        session.register(query_text(endpoint), on_report=push_on)
        for second in range(1, 100, 10):
            mention(session, second, second)
            session.advance(STREAM, second * 1000 + 9000)
        session.finish()
        assert session.positions()[OTHER].elements == 10
    with begun(tmp_path) as session:
        session.engine.drain()
        assert session.positions()[OTHER].elements == 10


def test_a_query_that_fails_does_not_come_back(tmp_path: Path, endpoint: EndpointProcess) -> None:
    text = (
        query_text(endpoint)
        .replace("SERVICE", "OPTIONAL { ?post :at ?where } SERVICE")
        .replace(f"<{endpoint.url}>", "?where")
    )
    with begun(tmp_path) as session:
        session.register(text)
        mention(session, 1, 1)
        session.advance(STREAM, 10_000)
        session.engine.drain()
        [failure] = session.failures
        assert "unbound" in failure.reason
    with begun(tmp_path) as session:
        assert session.engine.names == []


def test_hosts_that_are_no_longer_allowed_are_told(tmp_path: Path, endpoint: EndpointProcess) -> None:
    with begun(tmp_path) as session:
        session.register(query_text(endpoint))
    with pytest.raises(FreshetError, match="may not ask"):
        Session(checkpoint=tmp_path)
    with begun(tmp_path) as session:
        assert session.engine.names == ["q"]


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_wherever_it_is_killed(tmp_path: Path, endpoint: EndpointProcess, seed: int) -> None:
    """Sessions end in the middle, some closed, some killed, with checkpoints made at some moments."""
    chance = Random(seed)
    received: Counter[int] = Counter()
    rows: dict[int, int] = {}

    def receive(report: Report) -> None:
        received[report.time_ms] += 1
        rows[report.time_ms] = len(report.rows)

    kills = 0
    while True:
        session = begun(tmp_path)
        session.register(query_text(endpoint, width=20), on_report=receive)
        sent = session.positions()[STREAM].batches
        for at in range(sent, min(40, sent + chance.randrange(1, 15))):
            mention(session, 1 + 5 * at, at % 7, 50 + at % 3)
            session.advance(STREAM, 5000 * at)
            if chance.random() < 0.2:
                session.checkpoint()
            if chance.random() < 0.3:
                session.engine.drain()
        if session.positions()[STREAM].batches == 40:
            session.advance(STREAM, 210_000)
            session.engine.drain()
            session.close()
            break
        if chance.random() < 0.5:
            session.close()
        else:
            kills += 1
            killed(session)
    wanted = range(10_000, 220_000, 10_000)
    assert sorted(received) == list(wanted)
    assert rows == {time_ms: 4 if time_ms in (10_000, 210_000) else 8 for time_ms in wanted}
    if kills == 0:
        assert set(received.values()) == {1}
