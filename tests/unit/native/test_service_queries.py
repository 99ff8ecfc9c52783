"""SERVICE in continuous queries: windows joined with local views of a real endpoint in a second process."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from weakref import ReferenceType, ref

import pytest

from freshet.federation import local_views
from freshet.federation.errors import ServiceError
from freshet.federation.learnt import Learnt
from freshet.federation.local_view import LocalView
from freshet.federation.settings import ServiceSettings
from freshet.native.forgetting import Forgetting
from freshet.rdf.errors import InputError
from freshet.results.report import Report
from freshet.runtime.session import RegisteredQuery, Session
from sparql_endpoint import EndpointProcess

EX = "http://example.org/"
STREAM = EX + "mentions"
USERS = 12
QUICK = ServiceSettings(hosts=("127.0.0.1",), timeout_seconds=3, connect_seconds=0.5, backoff_seconds=0.01, attempts=1)


@pytest.fixture(scope="module")
def process() -> Iterator[EndpointProcess]:
    made = EndpointProcess("")
    yield made
    made.stop()


@pytest.fixture
def endpoint(process: EndpointProcess) -> EndpointProcess:
    process.does()
    process.update("DELETE WHERE { ?s ?p ?o }")
    rows = " ".join(f"<{EX}u{n}> <{EX}followers> {n * 10} ." for n in range(USERS))
    process.update(f"INSERT DATA {{ {rows} <{EX}u3> <{EX}followers> 33 }}")
    return process


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session(services=QUICK)
    made.stream(STREAM)
    yield made
    made.services.close()


def query_text(service: str, *, select: str = "?user ?post ?n", width: int = 10, more: str = "") -> str:
    return f"""PREFIX : <{EX}> REGISTER RSTREAM <q> AS SELECT {select}
        FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT{width}S STEP PT10S]
        WHERE {{ WINDOW <w> {{ ?user :isMentionedIn ?post }} {service} }} {more}"""


def followers(endpoint: EndpointProcess) -> str:
    return f"SERVICE <{endpoint.url}> {{ ?user :followers ?n }}"


def mention(session: Session, second: float, *users: int) -> None:
    lines = [
        f"{int(second * 1000)}\t<{EX}u{user}> <{EX}isMentionedIn> <{EX}p{int(second)}-{at}> ."
        for at, user in enumerate(users)
    ]
    session.push(STREAM, "\n".join(lines))


def closed(session: Session, query: RegisteredQuery, second: int) -> list[Report]:
    """Let time come to a close, and wait for the report."""
    session.advance(STREAM, second * 1000)
    session.engine.drain()
    return query.take()


def counts(session: Session, report: Report) -> list[tuple[str, str]]:
    rows = [{name: str(term) for name, term in row.items()} for row in session.bindings(report)]
    return sorted((row["user"][len(EX) + 1 : -1], row["n"].split('"')[1] if "n" in row else "-") for row in rows)


def test_a_window_is_joined_with_remote_data(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(followers(endpoint)))
    mention(session, 1, 1, 2, 2, 99)
    [report] = closed(session, query, 10)
    assert counts(session, report) == [("u1", "10"), ("u2", "20"), ("u2", "20")]
    [seen] = endpoint.seen
    assert "VALUES" in seen["query"]
    assert report.freshness is not None
    assert report.freshness.accuracy > 0.9
    assert report.freshness.refreshes == 3
    assert report.freshness.missed == ()


def test_entries_have_best_before_times(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(followers(endpoint)))
    assert session.local_views() == []
    before_ms = time.time_ns() // 1_000_000
    mention(session, 1, 1, 3, 99)
    closed(session, query, 10)
    entries = {entry.key["user"]: entry for entry in session.local_views()}
    assert {str(user): entry.solutions for user, entry in entries.items()} == {
        f"<{EX}u1>": 1,
        f"<{EX}u3>": 2,
        f"<{EX}u99>": 0,
    }
    for entry in entries.values():
        assert entry.endpoint == f"<{endpoint.url}>"
        assert before_ms <= entry.fetched_ms < entry.best_before_ms


def test_entries_that_change_more_often_are_best_before_earlier(endpoint: EndpointProcess) -> None:
    with Session(services=replace(QUICK, change_seconds={"*": 5.0})) as session:
        session.stream(STREAM)
        query = session.register(query_text(followers(endpoint)))
        for step in range(1, 6):
            endpoint.update(f"DELETE WHERE {{ <{EX}u1> ?p ?o }}; INSERT DATA {{ <{EX}u1> <{EX}followers> {step} }}")
            mention(session, step * 10 - 5, 1, 2)
            closed(session, query, step * 10)
            time.sleep(0.05)
        first, second = sorted(session.local_views(), key=lambda entry: str(entry.key["user"]))
        assert first.best_before_ms - first.fetched_ms < second.best_before_ms - second.fetched_ms


def test_one_key_can_have_several_solutions(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(followers(endpoint)))
    mention(session, 1, 3)
    [report] = closed(session, query, 10)
    assert counts(session, report) == [("u3", "30"), ("u3", "33")]


def test_what_is_known_and_fresh_is_not_asked_for(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(followers(endpoint)), accuracy=0.5)
    for second in range(1, 100, 10):
        mention(session, second, 1, 2)
        [report] = closed(session, query, second + 9)
        assert counts(session, report) == [("u1", "10"), ("u2", "20")]
    assert len(endpoint.seen) == 1


def test_a_refresh_shows_what_changed(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(followers(endpoint)))
    mention(session, 1, 1, 4)
    closed(session, query, 10)
    endpoint.update(f"DELETE WHERE {{ <{EX}u1> ?p ?o }}; INSERT DATA {{ <{EX}u1> <{EX}followers> 11 }}")
    endpoint.update(f"DELETE WHERE {{ <{EX}u4> ?p ?o }}")
    time.sleep(0.3)  # the view has aged
    mention(session, 11, 1, 4)
    [report] = closed(session, query, 20)
    assert counts(session, report) == [("u1", "11")]


def test_a_query_that_is_registered_again_knows_how_often_entries_change(
    endpoint: EndpointProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[ReferenceType[LocalView], Learnt]] = []

    def make(*arguments: Any) -> LocalView:
        view = LocalView(*arguments)
        made.append((ref(view), view.learnt))
        return view

    monkeypatch.setattr(local_views, "LocalView", make)
    with Session(services=QUICK) as session:
        session.stream(STREAM)
        for first in (0, 100):
            query = session.register(query_text(followers(endpoint)))
            for second in (first + 1, first + 11):
                mention(session, second, 1, 2)
                [report] = closed(session, query, second + 9)
                assert counts(session, report) == [("u1", "10"), ("u2", "20")]
            session.unregister("q")
            end = time.monotonic() + 20
            while made[-1][0]() is not None and time.monotonic() < end:  # the query's thread has to end first
                time.sleep(0.01)
                gc.collect()
    (first_view, first_learnt), (_, second_learnt) = made
    assert first_view() is None
    assert first_learnt is second_learnt
    assert len(second_learnt.key_rows) == 2


def test_windows_that_stay_the_same_see_changes_too(session: Session, endpoint: EndpointProcess) -> None:
    query = session.register(query_text(followers(endpoint), width=100))
    mention(session, 1, 5)
    assert counts(session, closed(session, query, 10)[-1]) == [("u5", "50")]
    endpoint.update(f"DELETE WHERE {{ <{EX}u5> ?p ?o }}; INSERT DATA {{ <{EX}u5> <{EX}followers> 55 }}")
    time.sleep(0.3)
    assert counts(session, closed(session, query, 20)[-1]) == [("u5", "55")]


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


def test_queries_share_a_view(session: Session, endpoint: EndpointProcess) -> None:
    first = session.register(query_text(followers(endpoint)).replace("<q>", "<a>"), accuracy=0.5)
    mention(session, 1, 1, 2)
    closed(session, first, 10)
    second = session.register(query_text(followers(endpoint)).replace("<q>", "<b>"), accuracy=0.5)
    mention(session, 11, 1, 2)
    assert counts(session, closed(session, second, 20)[0]) == [("u1", "10"), ("u2", "20")]
    assert len(endpoint.seen) == 1


@pytest.mark.parametrize("form", ["<{url}>", "SILENT <{url}>", "?where"])
def test_queries_share_a_view_whatever_they_call_their_variables(
    session: Session, endpoint: EndpointProcess, form: str
) -> None:
    def text(name: str, who: str, count: str) -> str:
        asked = f"?{who} :followers ?{count} OPTIONAL {{ ?{who} :name ?name }} FILTER (?{count} > 0)"
        return f"""PREFIX : <{EX}> REGISTER RSTREAM <{name}> AS SELECT ?{who} ?{count}
            FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT10S STEP PT10S]
            WHERE {{ WINDOW <w> {{ ?{who} :isMentionedIn ?post }} BIND (<{endpoint.url}> AS ?where)
                     SERVICE {form.format(url=endpoint.url)} {{ {asked} }} }}"""

    first = session.register(text("a", "user", "n"), accuracy=0.5)
    mention(session, 1, 1, 2)
    closed(session, first, 10)
    second = session.register(text("b", "n", "user"), accuracy=0.5)  # the names of the first, the other way round
    mention(session, 11, 1, 2)
    [report] = closed(session, second, 20)
    rows = [{name: str(term) for name, term in row.items()} for row in session.bindings(report)]
    assert sorted((row["n"], row["user"].split('"')[1]) for row in rows) == [(f"<{EX}u1>", "10"), (f"<{EX}u2>", "20")]
    assert len(endpoint.seen) == 1
    assert {name for entry in session.local_views() for name in entry.key} == {"user"}


def test_patterns_that_share_no_variable_are_loaded_whole(session: Session, endpoint: EndpointProcess) -> None:
    text = query_text(f"SERVICE <{endpoint.url}> {{ SELECT (COUNT(*) AS ?n) {{ ?x :followers ?y }} }}")
    query = session.register(text)
    mention(session, 1, 1, 2)
    [report] = closed(session, query, 10)
    assert counts(session, report) == [("u1", "13"), ("u2", "13")]


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


def test_a_whole_load_and_single_entries_at_once(endpoint: EndpointProcess) -> None:
    """Both answers have the same entries; neither may put its solutions into entries of the other."""
    session = Session(services=replace(QUICK, load_whole=True))
    session.stream(STREAM)
    endpoint.does(delay_seconds=0.3)
    query = session.register(query_text(followers(endpoint)))
    users = [7, 2, 5, 9]
    mention(session, 1, *users)
    [report] = closed(session, query, 10)
    assert counts(session, report) == sorted((f"u{user}", str(user * 10)) for user in users)
    session.services.close()


def test_a_session_that_is_closed_asks_nothing_and_has_no_threads(endpoint: EndpointProcess) -> None:
    others = set(threading.enumerate())
    with Session(services=QUICK) as session:
        session.stream(STREAM)
        query = session.register(query_text(followers(endpoint)))
        mention(session, 1, 1)
        assert len(closed(session, query, 10)) == 1
        assert set(threading.enumerate()) - others
    for thread in set(threading.enumerate()) - others:
        thread.join(2)
    assert not set(threading.enumerate()) - others
    mention(session, 11, 1)
    assert closed(session, query, 20) == []
    assert len(endpoint.seen) == 1
    with pytest.raises(ServiceError, match="closed"):
        session.query(f"SELECT * {{ SERVICE <{endpoint.url}> {{ ?s ?p ?o }} }}")


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


def test_nobody_else_waits(session: Session, endpoint: EndpointProcess) -> None:
    endpoint.does(delay_seconds=1)
    slow = session.register(query_text(followers(endpoint)).replace("<q>", "<slow>"))
    quick = session.register(query_text("", select="?user ?post").replace("<q>", "<quick>"))
    mention(session, 1, 1)
    start = time.monotonic()
    session.advance(STREAM, 10_000)
    assert len(quick.take()) == 1
    assert time.monotonic() - start < 0.5
    assert slow.take() == []
    session.engine.drain()
    assert len(slow.take()) == 1


def test_constraints_are_kept_and_told(session: Session, endpoint: EndpointProcess) -> None:
    endpoint.does(delay_seconds=0.5)
    query = session.register(query_text(f"OPTIONAL {{ {followers(endpoint)} }}"), latency_ms=100, accuracy=0.75)
    mention(session, 1, 1, 2)
    [report] = closed(session, query, 10)
    assert report.freshness is not None
    assert report.freshness.latency_ms <= 200  # 100, but for what else this machine has to do
    assert report.freshness.missed[0] == "accuracy"
    line = json.loads(session.ndjson(report))
    assert line["service"]["missed"][0] == "accuracy"
    assert line["service"]["accuracy"] == 0
    time.sleep(0.6)  # what came too late is there for the next evaluation
    mention(session, 11, 1, 2)
    [report] = closed(session, query, 20)
    assert counts(session, report) == [("u1", "10"), ("u2", "20")]
    assert report.freshness is not None
    assert report.freshness.accuracy > 0.75


def test_unregistering_while_a_request_is_on_its_way(session: Session, endpoint: EndpointProcess) -> None:
    endpoint.does(delay_seconds=0.3)
    query = session.register(query_text(followers(endpoint)))
    mention(session, 1, 1)
    session.advance(STREAM, 10_000)
    session.unregister(query.name)
    time.sleep(0.5)
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


def test_views_let_go_of_what_nobody_needs(endpoint: EndpointProcess) -> None:
    session = Session(services=replace(QUICK, most_entries=6))
    session.stream(STREAM)
    query = session.register(query_text(followers(endpoint)))
    for second in range(1, 81, 10):
        users = [(second // 10 + at) % USERS for at in (0, 4)]
        mention(session, second, *users)
        [report] = closed(session, query, second + 9)
        found = {user: n for user, n in counts(session, report) if n != "33"}
        assert found == {f"u{user}": str(user * 10) for user in users}
    session.services.close()


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


def test_many_small_pushes_from_several_queries(session: Session, endpoint: EndpointProcess) -> None:
    """Batching makes no difference, and the dictionary may be swept meanwhile."""
    session.engine.forgetting = Forgetting(session.dictionary, least=50)
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


def test_views_can_be_loaded_whole(endpoint: EndpointProcess) -> None:
    session = Session(services=replace(QUICK, load_whole=True))
    session.stream(STREAM)
    query = session.register(query_text(followers(endpoint)), accuracy=0.5)
    time.sleep(0.5)
    mention(session, 1, 1, 3)
    [report] = closed(session, query, 10)
    assert counts(session, report) == [("u1", "10"), ("u3", "30"), ("u3", "33")]
    assert ["VALUES" in each["query"] for each in endpoint.seen] == [False]
    assert report.freshness is not None
    assert report.freshness.refreshes == 0
    session.services.close()
