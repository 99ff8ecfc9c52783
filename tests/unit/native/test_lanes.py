"""Queries with threads of their own: what latency counts from, who waits for them, and when they let others in."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from freshet.federation.settings import ServiceSettings
from freshet.native.clock_member import without_limits
from freshet.native.forgetting import Forgetting
from freshet.native.lane import Lane
from freshet.native.moments import close_at
from freshet.native.releases import Releases, catching_up, done_for
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri
from freshet.results.report import Freshness, Report
from freshet.runtime.session import QueryFailure, Session
from sparql_endpoint import EndpointProcess
from waiting import wait_until

EX = "http://example.org/"
STREAM = EX + "mentions"
QUICK = ServiceSettings(hosts=("127.0.0.1",), timeout_seconds=20, backoff_seconds=0.01, attempts=1)


@pytest.fixture(scope="module")
def process() -> Iterator[EndpointProcess]:
    made = EndpointProcess("".join(f"<{EX}u{n}> <{EX}followers> {n} ." for n in range(100)))
    yield made
    made.stop()


@pytest.fixture
def endpoint(process: EndpointProcess) -> EndpointProcess:
    process.does()
    return process


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(services=replace(QUICK, most_behind=10)) as made:
        made.stream(STREAM)
        yield made


def query_text(
    endpoint: EndpointProcess, name: str = "q", *, silent: str = "", window: str = "[RANGE PT10S STEP PT10S]"
) -> str:
    return f"""PREFIX : <{EX}> REGISTER RSTREAM <{name}> AS SELECT ?user ?post ?n
        FROM NAMED WINDOW <w> ON <{STREAM}> {window}
        WHERE {{ WINDOW <w> {{ ?user :isMentionedIn ?post }}
                 SERVICE {silent} <{endpoint.url}> {{ ?user :followers ?n }} }}"""


def mention(session: Session, second: float, *users: int, post: str = "p") -> None:
    lines = [f"{int(second * 1000)}\t<{EX}u{user}> <{EX}isMentionedIn> <{EX}{post}{user}> ." for user in users]
    session.push(STREAM, "\n".join(lines))


def lane_of(session: Session) -> Lane:
    [lane] = session.engine.lanes.all()
    return lane


def freshness(report: Report) -> Freshness:
    assert report.freshness is not None
    return report.freshness


# ---- latency


def test_latency_counts_from_when_the_window_closed(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(endpoint))
    mention(session, 1, 1)
    session.engine.drain()
    with lane_of(session).pause() as held:
        assert held
        session.advance(STREAM, 10_000)
        time.sleep(0.3)
    session.engine.drain()
    [report] = query.take()
    assert freshness(report).latency_ms >= 300


def test_the_budget_is_what_is_left(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(endpoint, silent="SILENT"), latency_ms=200)
    endpoint.does(delay_seconds=15)
    mention(session, 1, 1)
    session.engine.drain()
    with lane_of(session).pause() as held:
        assert held
        session.advance(STREAM, 10_000)
        time.sleep(0.3)
    session.engine.drain()
    [report] = query.take()
    assert freshness(report).missed == ("latency",)
    assert 300 <= freshness(report).latency_ms < 15_000  # nobody waited for the endpoint


def test_closes_count_from_their_own_watermarks() -> None:
    releases = Releases()
    releases.add(10, 1)
    time.sleep(0.01)
    releases.add(20, 2)
    with catching_up():
        releases.add(30, 2)
    first, second, third = (releases.of(close_at(time_ms)) for time_ms in (10, 11, 25))
    assert [each.entry for each in (first, second, third)] == [1, 2, 2]
    assert first.seconds is not None
    assert second.seconds is not None
    assert second.seconds - first.seconds >= 0.01
    assert third.seconds is None
    releases.done(30)
    assert releases.of(close_at(30)) == third  # until another comes


def test_watermarks_that_come_at_once_take_no_room() -> None:
    releases = Releases()
    with catching_up(), done_for(7):
        for time_ms in range(100_000):
            releases.add(time_ms, releases.entry())
    assert len(releases._waiting) == 1
    assert releases.of(close_at(99_999)).entry == 7


def test_what_is_asked_for_without_a_report_is_told_with_the_next(session: Session, endpoint: EndpointProcess) -> None:
    """The window moves every ten seconds, and is reported every thirty."""
    query = session.register(query_text(endpoint), every_ms=30_000)
    for second, user in ((1, 1), (11, 2), (21, 3)):
        mention(session, second, user)
        session.engine.drain()
    session.advance(STREAM, 30_000)
    session.engine.drain()
    [report] = query.take()
    assert freshness(report).refreshes >= 3  # of which one is in the answer


def test_refreshes_are_told_once(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(endpoint, window="[RANGE PT100S STEP PT10S]"), accuracy=0.01)
    mention(session, 1, 1, 2)
    session.advance(STREAM, 50_000)
    session.engine.drain()
    assert [freshness(report).refreshes for report in query.take()] == [2, 0, 0, 0, 0]


# ---- who waits


def test_push_waits_for_a_query_that_is_far_behind(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(endpoint))
    mention(session, 1, 1)
    session.engine.drain()
    with lane_of(session).pause() as held:
        assert held
        mention(session, 2, *range(10))  # so many may wait
        pusher = threading.Thread(target=mention, args=(session, 3, 1, 2), daemon=True)
        pusher.start()
        pusher.join(0.3)
        assert pusher.is_alive()
    pusher.join(20)
    assert not pusher.is_alive()
    assert session.engine.lanes.held_back == 1
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
        with lane_of(session).pause() as held:
            assert held
            pusher = threading.Thread(target=mention, args=(session, 11, *range(10)), daemon=True)
            pusher.start()
            assert pushed.wait(20)
            pusher.join(0.2)
            assert pusher.is_alive()  # ten wait, five may
        pusher.join(20)
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
    """As after a restart; what is told to the thread is done in it as if it were done here."""
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


# ---- letting others in


def test_the_dictionary_is_swept_between_evaluations(endpoint: EndpointProcess) -> None:
    """One piece of work has forty evaluations here, each of which asks the endpoint and makes new terms."""
    made = 'BIND (CONCAT(STR(?post), "a") AS ?a) BIND (CONCAT(STR(?post), "b") AS ?b) SERVICE'
    text = query_text(endpoint).replace("SERVICE", made).replace("?post ?n", "?a ?b ?n")
    with Session(services=QUICK) as session:
        session.engine.forgetting = Forgetting(session.dictionary, least=100)
        session.stream(STREAM, held=True)
        generations: list[int] = []
        session.register(text, on_report=lambda report: generations.append(session.dictionary.generation))
        for second in range(1, 400, 10):
            mention(session, second, *range(20), post=f"p{second}-")
        session.engine.drain()
        assert generations == []
        session.advance(STREAM, 400_000)
        session.engine.drain()
    assert len(generations) == 40
    assert generations[-1] > generations[0]


def test_an_unregistered_query_stops_between_evaluations(session: Session, endpoint: EndpointProcess) -> None:
    reports: list[Report] = []

    def stop(report: Report) -> None:
        reports.append(report)
        session.unregister("q")

    session.register(query_text(endpoint), on_report=stop)
    session.engine.lanes.most_behind = 1_000_000
    for second in range(1, 100, 10):
        mention(session, second, 1, 2, post=f"p{second}-")
    session.finish()
    assert len(reports) == 1
    assert not session.failures


MENTIONED = "?user :isMentionedIn ?post"
SWEPT = (
    "{ ?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'l') AS ?n) } UNION "
    "{ ?user :isMentionedIn ?post REMOTE BIND (CONCAT(?name, 'r') AS ?n) } UNION "
    "{ ?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'x') AS ?n) REMOTE }",
    "?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'l') AS ?n) OPTIONAL { REMOTE }",
    "{ SELECT ?post (GROUP_CONCAT(?name) AS ?n) { ?user :isMentionedIn ?post REMOTE } GROUP BY ?post }",
    "{ SELECT DISTINCT ?user (CONCAT(?name, '!') AS ?n) { ?user :isMentionedIn ?post REMOTE } }",
    "?user :isMentionedIn ?post BIND (<ONE> AS ?where) { BIND (CONCAT('a', 'b') AS ?n) } UNION { REMOTE } ANYWHERE",
    "?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'l') AS ?n) FILTER EXISTS { REMOTE }",
    "?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'l') AS ?n) FILTER (?n = 'a' || EXISTS { REMOTE })",
)


@pytest.mark.parametrize("output", ["RSTREAM", "ISTREAM", "DSTREAM"])
def test_sweeps_while_remote_data_are_waited_for_change_nothing(
    endpoint: EndpointProcess, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever nobody has a pin, all terms are dropped that nothing is known to hold."""
    names = " ".join(f"<{EX}u{n}> <{EX}name> 'name {n}' ." for n in range(0, 30, 2))
    endpoint.update(f"INSERT DATA {{ {names} }}")
    endpoint.does(delay_seconds=0.02)
    monkeypatch.setattr(Forgetting, "is_due", lambda self: not self._dictionary.pins.count)
    ended = threading.Event()

    def sweep(session: Session) -> None:
        while not ended.is_set():
            session.engine.forget()
            time.sleep(0.001)

    def answers(*, swept: bool) -> dict[str, list[list[tuple[str, str]]]]:
        found: dict[str, list[list[tuple[str, str]]]] = {}
        with Session(services=QUICK) as session:
            if not swept:
                session.engine.forgetting = Forgetting(session.dictionary, least=1 << 40)
                session.engine.forgetting.is_due = lambda: False  # type: ignore[method-assign]
            session.stream(STREAM, held=True)

            def receive(report: Report) -> None:
                rows = [tuple((name, str(term)) for name, term in row.items()) for row in session.bindings(report)]
                found.setdefault(report.query, []).append(sorted(rows))  # type: ignore[arg-type]

            for at, pattern in enumerate(SWEPT):
                remote = f"SERVICE <{endpoint.url}> {{ ?user :name ?name }}"
                pattern = pattern.replace("REMOTE", remote).replace("ANYWHERE", "SERVICE ?where { ?user :name ?name }")
                pattern = pattern.replace("ONE", endpoint.url)
                pattern = pattern.replace(MENTIONED, f"WINDOW <w> {{ {MENTIONED} }}")
                session.register(
                    f"""PREFIX : <{EX}> REGISTER {output} <q{at}> AS SELECT ?user ?post ?n
                    FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT20S STEP PT10S] WHERE {{ {pattern} }}""",
                    on_report=receive,
                )
            sweeper = threading.Thread(target=sweep, args=(session,), daemon=True)
            if swept:
                sweeper.start()
            for second in range(1, 80, 10):
                mention(session, second, *(each % 30 for each in range(second, second + 5)), post=f"p{second}-")
            session.advance(STREAM, 100_000)
            session.engine.drain()
            assert not session.failures
            assert bool(session.dictionary.generation) == swept
            ended.set()
            if swept:
                sweeper.join(20)
        return found

    wanted = answers(swept=False)
    ended.clear()
    assert len(wanted) == len(SWEPT)
    assert answers(swept=True) == wanted


# ---- queries that are no more


def test_a_late_failure_leaves_another_query_of_the_name_alone(session: Session, endpoint: EndpointProcess) -> None:
    """A query is unregistered while it waits for an answer, which is an error when it comes at last."""
    endpoint.does(delay_seconds=0.5)
    session.register(query_text(endpoint), limit_seconds=1e-9)
    mention(session, 1, 1)
    session.advance(STREAM, 10_000)
    old = lane_of(session)
    wait_until(lambda: bool(endpoint.seen))
    session.unregister("q")
    query = session.register(query_text(endpoint).partition("SERVICE")[0].replace("?post ?n", "?post") + "}")
    old.drain()
    assert session.engine.names == ["q"]
    assert not session.failures
    mention(session, 11, 1)
    session.advance(STREAM, 20_000)
    assert [report.time_ms for report in query.take()] == [20_000]


def test_a_failure_of_a_lane_that_is_no_more_is_not_told(session: Session, endpoint: EndpointProcess) -> None:
    """Also where it fails between two waits for remote data."""
    session.register(query_text(endpoint))
    old = lane_of(session)
    session.unregister("q")
    session.register(query_text(endpoint))
    old._clock._on_failure("q", ValueError("too late"))
    assert session.engine.names == ["q"]
    assert not session.failures


def test_who_rests_while_it_is_closed_does_not_go_on(session: Session, endpoint: EndpointProcess) -> None:
    """Terms may have been dropped meanwhile that only it had."""
    session.register(query_text(endpoint))
    lane = lane_of(session)
    with pytest.raises(BaseException) as found, lane.resting():  # noqa: PT011
        session.unregister("q")
    lane._held.close()
    assert not isinstance(found.value, Exception)


# ---- what is absorbed and loaded


def absorbing(endpoint: EndpointProcess, stored: str) -> Session:
    session = Session(services=replace(QUICK, most_behind=10))
    session.stream(STREAM)
    session.stream(EX + "left", absorb=True)
    session.register(query_text(endpoint).replace("WHERE {", "WHERE { " + stored))
    return session


def test_a_lane_keeps_no_absorbed_elements_that_its_query_does_not_read(endpoint: EndpointProcess) -> None:
    with absorbing(endpoint, "") as session, lane_of(session).pause() as held:
        assert held
        session.engine.push(EX + "left", elements_to_leave(session, 30))
        assert not lane_of(session)._unfinished()


def test_absorbed_elements_in_the_queue_count(endpoint: EndpointProcess) -> None:
    with absorbing(endpoint, "?user :knows ?other .") as session:
        lane = lane_of(session)
        with lane.pause() as held:
            assert held
            session.engine.push(EX + "left", elements_to_leave(session, 30))
            assert sum(item.elements for item in lane._unfinished() if item.what == "absorb") == 30
            assert lane.is_behind(29)
            assert lane.waiting_bytes > 0
        session.engine.drain()
        assert not lane.is_behind(0)


def elements_to_leave(session: Session, count: int) -> Elements:
    ids = [session.dictionary.encode(Iri(f"{EX}{name}")) for name in ("u1", "knows", "u2")]
    return Elements(np.arange(count), *(np.full(count, each) for each in ids))


# ---- what goes wrong outside of evaluations


def test_a_lane_that_cannot_go_on_is_told(session: Session, endpoint: EndpointProcess) -> None:
    """Something fails in its thread that is no evaluation: the query is removed as one that fails is."""
    session.register(query_text(endpoint))
    lane = lane_of(session)

    def fail() -> None:
        raise ValueError("no sweep today")

    lane._on_rest = fail
    mention(session, 1, 1)
    session.engine.drain()
    wait_until(lambda: session.failures)
    [failure] = session.failures
    assert "no sweep today" in failure.reason
    assert session.engine.names == []
    assert lane.is_closed


def test_what_the_owner_does_wrong_on_a_failure_is_raised(endpoint: EndpointProcess) -> None:
    def fail(failure: QueryFailure) -> None:
        raise KeyError("of the owner")

    with Session(services=QUICK, on_failure=fail) as session:
        session.stream(STREAM)
        session.register(query_text(endpoint), limit_seconds=1e-9)
        lane = lane_of(session)
        mention(session, 1, 1)
        session.advance(STREAM, 10_000)
        with pytest.raises(KeyError, match="of the owner"):
            lane.drain()
