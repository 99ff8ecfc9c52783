"""Local views of continuous queries: what is asked for, when, and who shares it."""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from typing import Any
from weakref import ReferenceType, ref

import pytest

from followed_mentions import EX, QUICK, STREAM, USERS, closed, counts, followers, mention, query_text
from freshet.federation import local_views
from freshet.federation.learnt import Learnt
from freshet.federation.local_view import LocalView
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess
from waiting import wait_until


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


def is_gone(view: ReferenceType[LocalView]) -> bool:
    gc.collect()
    return view() is None


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
            wait_until(lambda: is_gone(made[-1][0]))  # when the query's thread has ended
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


def test_views_can_be_loaded_whole(endpoint: EndpointProcess) -> None:
    session = Session(services=replace(QUICK, load_whole=True))
    session.stream(STREAM)
    query = session.register(query_text(followers(endpoint)), accuracy=0.5)
    wait_until(lambda: len(session.local_views()) == USERS)
    mention(session, 1, 1, 3)
    [report] = closed(session, query, 10)
    assert counts(session, report) == [("u1", "10"), ("u3", "30"), ("u3", "33")]
    assert ["VALUES" in each["query"] for each in endpoint.seen] == [False]
    assert report.freshness is not None
    assert report.freshness.refreshes == 0
    session.services.close()


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
