"""A callback that raises loses its own query alone: the others hear all of theirs, and nothing goes unsaid."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import freshet
from declaring import register
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri
from freshet.results.report import Report
from freshet.runtime.query_failure import QueryFailure

EX = "http://example.org/"
STREAM = EX + "a"
CLOSING, COUNTING = "RANGE PT2S STEP PT1S", "COUNT 8"


def query(name: str, window: str, seen: str = "?o") -> str:
    return (
        f"REGISTER ISTREAM <{name}> AS SELECT ?s FROM NAMED WINDOW <w> ON <{STREAM}> [{window}] "
        f"WHERE {{ WINDOW <w> {{ ?s <{EX}p> {seen} }} }}"
    )


def push(session: freshet.Session, *times_ms: int) -> None:
    """Elements with four objects each."""
    for time_ms in times_ms:
        subject, predicate = Iri(f"{EX}s{time_ms}"), Iri(EX + "p")
        session.push(STREAM, [(time_ms, subject, predicate, Iri(f"{EX}o{at}")) for at in range(4)])


def raising(report: Report) -> None:
    raise ValueError("nobody wants this")


def recording(reported: list[tuple[str, int]]) -> Callable[[Report], None]:
    return lambda report: reported.append((report.query, report.time_ms))


def undisturbed(name: str, window: str, seen: str) -> list[tuple[str, int]]:
    session, reported = freshet.Session(), []
    register(session, query(name, window, seen), on_report=recording(reported))
    push(session, *range(0, 4000, 500))
    session.finish()
    return reported


@pytest.mark.parametrize("window", [CLOSING, COUNTING])
@pytest.mark.parametrize("seen", [["?o"] * 4, [f"<{EX}o{at}>" for at in range(4)]], ids=["alone", "sharing"])
def test_what_on_failure_raises_stops_nobody(window: str, seen: list[str]) -> None:
    """Two fail at the same moment, before and between those that do not."""

    def fail(failure: QueryFailure) -> None:
        raise KeyError(f"telling of {failure.query}")

    session, reported = freshet.Session(on_failure=fail), []
    for at, one in enumerate(seen):
        register(session, query(f"q{at}", window, one), on_report=recording(reported) if at % 2 else raising)
    with pytest.warns(UserWarning, match="on_failure raised KeyError") as caught:
        push(session, *range(0, 4000, 500))
    session.finish()
    for at, name in ((1, "q1"), (3, "q3")):
        assert [one for one in reported if one[0] == name] == undisturbed(name, window, seen[at])
    assert [failure.query for failure in session.failures] == ["q0", "q2"]
    assert [str(warning.message) for warning in caught] == [
        f"on_failure raised KeyError: 'telling of {failure.query}'; {failure}" for failure in session.failures
    ]


def test_a_query_that_failed_may_be_registered_again_by_who_is_told() -> None:
    reported: list[tuple[str, int]] = []
    session = freshet.Session(
        on_failure=lambda failure: (
            register(session, query(failure.query, CLOSING), on_report=recording(reported)) and None
        )
    )
    register(session, query("q", CLOSING), on_report=raising)
    push(session, 0, 1000, 2000, 3000)
    assert [failure.query for failure in session.failures] == ["q"]
    assert reported == [("q", 3000)]  # it sees what is pushed from then on


def test_all_that_share_a_plan_are_gone_before_the_first_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback may change what is registered, and finds no query that is half gone."""
    left: list[list[str]] = []
    session = freshet.Session(on_failure=lambda failure: left.append(session.engine.names))
    reported: list[tuple[str, int]] = []
    for at in range(3):
        register(session, query(f"q{at}", CLOSING, f"<{EX}o{at}>"), on_report=raising)
    register(session, query("other", CLOSING), on_report=recording(reported))
    shared = session.engine._queries["q2"].query(session.engine._plans.group_name("q2"))

    def fail(batch, held) -> None:
        raise ValueError("no room")

    monkeypatch.setattr(shared, "evaluate", fail)
    push(session, 0, 1000, 2000)
    assert {failure.query for failure in session.failures if "no room" in failure.reason} == {"q1", "q2"}
    assert all("q1" not in names and "q2" not in names for names in left[-2:])
    assert reported == [("other", 1000), ("other", 2000)]


@pytest.mark.parametrize("window", [CLOSING, COUNTING])
@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokenPipeError])
def test_nothing_is_done_after_a_call_that_was_ended_in_the_middle(window: str, error: type[BaseException]) -> None:
    """Else the queries that had not come to the moment would go on with what they missed."""

    def end(report: Report) -> None:
        raise error

    session, reported = freshet.Session(), []
    register(session, query("q", window), on_report=end)
    register(session, query("other", window), on_report=recording(reported))
    with pytest.raises(error):
        push(session, 0, 1000)
    before = list(reported)
    for call in (lambda: push(session, 2000), lambda: session.advance(STREAM, 5000), session.finish):
        with pytest.raises(InputError, match=f"{error.__name__} ended an earlier call in the middle"):
            call()
    assert reported == before


def test_a_push_that_is_refused_ends_nothing() -> None:
    reported: list[tuple[str, int]] = []
    session = freshet.Session(window_bytes=2000)
    register(session, query("q", CLOSING), on_report=recording(reported))
    with pytest.raises(InputError):
        session.push(STREAM, [(at, Iri(EX + "s"), Iri(EX + "p"), Iri(EX + "o")) for at in range(1000)])
    push(session, 0, 1000)
    assert reported == [("q", 1000)]
