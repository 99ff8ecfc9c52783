"""Whoever gets a report may push, register, unregister and raise: the other queries answer as if nothing had been."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import freshet
from declaring import register
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri
from freshet.results.report import Report

EX = "http://example.org/"
CLOSING, COUNTING = "RANGE PT2S STEP PT1S", "COUNT 3"

Reported = list[tuple[str, int, int]]


def query(name: str, window: str, *streams: str, predicate: str = "?p", output: str = "RSTREAM") -> str:
    """Reads one or two streams."""
    windows = [f"FROM NAMED WINDOW <w{at}> ON <{EX}{stream}> [{window}]" for at, stream in enumerate(streams)]
    blocks = [f"WINDOW <w{at}> {{ ?s {predicate} ?o }}" for at, _ in enumerate(streams)]
    return f"REGISTER {output} <{name}> AS SELECT * {' '.join(windows)} WHERE {{ {' '.join(blocks)} }}"


def element(time_ms: int, subject: str, predicate: str = "p") -> tuple[int, Iri, Iri, Iri]:
    return time_ms, Iri(EX + subject), Iri(EX + predicate), Iri(EX + "o")


def recording(reported: Reported) -> Callable[[Report], None]:
    return lambda report: reported.append((report.query, report.time_ms, len(report.rows)))


@pytest.mark.parametrize("window", [CLOSING, COUNTING])
def test_what_a_callback_pushes_comes_after_what_is_being_pushed(window: str) -> None:
    """As if it had been pushed from outside, once the push that made the report had returned."""
    expected: Reported = []
    outside = freshet.Session()
    register(outside, query("first", window, "a"), on_report=recording(expected))
    register(outside, query("second", window.replace("3", "4"), "a"), on_report=recording(expected))
    found: Reported = []
    inside = freshet.Session()

    def push_again(report: Report) -> None:
        recording(found)(report)
        if report.time_ms < 8000:
            inside.push(EX + "a", element(report.time_ms + 2000, f"again{report.time_ms}"))

    register(inside, query("first", window, "a"), on_report=push_again)
    register(inside, query("second", window.replace("3", "4"), "a"), on_report=recording(found))
    for time_ms in (0, 1000, 4000, 9000):
        inside.push(EX + "a", element(time_ms, "s"))
        waiting = [element(time_ms, "s")]
        while waiting:
            before = len(expected)
            outside.push(EX + "a", waiting.pop(0))
            reported = [time for name, time, _ in expected[before:] if name == "first" and time < 8000]
            waiting += [element(time + 2000, f"again{time}") for time in reported]
    assert len(found) > 8
    assert found == expected
    assert inside.engine.streams[EX + "a"].late == outside.engine.streams[EX + "a"].late


def test_one_query_feeds_another() -> None:
    session = freshet.Session()
    reported: Reported = []

    def pass_on(report: Report) -> None:
        rows = list(session.bindings(report))
        session.push(EX + "b", [(report.time_ms, row["s"], row["p"], row["o"]) for row in rows])

    register(session, query("first", CLOSING, "a"), on_report=pass_on)
    register(session, query("second", CLOSING, "b"), on_report=recording(reported))
    session.push(EX + "a", [element(time_ms, f"s{time_ms}") for time_ms in range(0, 5000, 500)])
    assert reported == [("second", 2000, 2), ("second", 3000, 4), ("second", 4000, 6)]


def test_one_query_feeds_another_across_a_restart(tmp_path: Path) -> None:
    """The journal has what callbacks push in the order in which it was taken in."""

    def feed(session: freshet.Session, times_ms: range, reported: Reported) -> None:
        def pass_on(report: Report) -> None:
            recording(reported)(report)
            rows = list(session.bindings(report))
            session.push(EX + "b", [(report.time_ms, row["s"], row["p"], row["o"]) for row in rows])

        register(session, query("first", CLOSING, "a"), on_report=pass_on)
        register(session, query("second", CLOSING, "b"), on_report=recording(reported))
        for time_ms in times_ms:
            session.push(EX + "a", element(time_ms, f"s{time_ms}"))

    expected: Reported = []
    feed(freshet.Session(), range(0, 12_000, 500), expected)
    found: Reported = []
    for times_ms in (range(0, 6000, 500), range(6000, 12_000, 500)):
        with freshet.Session(checkpoint=tmp_path / "kept") as session:
            feed(session, times_ms, found)
            assert not session.failures
    assert len(expected) > 15
    assert found == expected


def test_a_callback_registers_queries() -> None:
    """They see what is pushed from then on."""
    session = freshet.Session()
    reported: Reported = []

    def register_more(report: Report) -> None:
        recording(reported)(report)
        if report.time_ms == 1000:
            register(session, query("late", "RANGE PT3S STEP PT1S", "a"), on_report=recording(reported))
            register(session, query("elsewhere", CLOSING, "b"), on_report=recording(reported))

    register(session, query("first", CLOSING, "a"), on_report=register_more)
    register(session, query("second", "RANGE PT1S STEP PT1S", "a"), on_report=recording(reported))
    for time_ms in (0, 1000, 2000):
        session.push(EX + "a", element(time_ms, f"s{time_ms}"))
    session.push(EX + "b", element(0, "s"))
    session.finish()
    assert reported[:4] == [("first", 1000, 1), ("second", 1000, 1), ("first", 2000, 2), ("second", 2000, 1)]
    assert [report for report in reported if report[0] == "late"] == [
        ("late", 3000, 1),
        ("late", 4000, 1),
        ("late", 5000, 1),
    ]
    assert [report for report in reported if report[0] == "elsewhere"] == [
        ("elsewhere", 1000, 1),
        ("elsewhere", 2000, 1),
    ]


@pytest.mark.parametrize("window", [CLOSING, COUNTING])
def test_a_callback_unregisters_queries_of_other_groups(window: str) -> None:
    session = freshet.Session()
    reported: Reported = []

    def unregister(report: Report) -> None:
        recording(reported)(report)
        for name in session.engine.names:
            if name != "other":
                session.unregister(name)

    register(session, query("one", window, "a"), on_report=unregister)
    register(session, query("both", window, "a", "b"), on_report=unregister)
    register(session, query("other", window, "b"), on_report=recording(reported))
    for time_ms in (0, 1000, 2000):
        for stream in "ba":
            session.push(EX + stream, element(time_ms, "s"))
    session.finish()
    assert session.engine.names == ["other"]
    assert len([report for report in reported if report[0] != "other"]) == 1
    assert len([report for report in reported if report[0] == "other"]) > 2


@pytest.mark.parametrize("window", [CLOSING, COUNTING])
@pytest.mark.parametrize("count", [1, 3])
def test_a_callback_unregisters_its_query_and_raises(window: str, count: int) -> None:
    """By itself, and where several share a plan: it is gone already, so there is no failure, but a warning."""
    session = freshet.Session()
    reported: Reported = []

    def unregister(report: Report) -> None:
        session.unregister(report.query)
        raise ValueError("nobody wants this")

    for at in range(count):
        text = query(f"q{at}", window, "a", predicate=f"<{EX}p{at}>", output="ISTREAM")
        register(session, text, on_report=unregister)
    text = query("last", window, "a", predicate=f"<{EX}last>", output="ISTREAM")
    register(session, text, on_report=recording(reported))

    def push_all() -> None:
        for time_ms in range(0, 6000, 500):
            session.push(EX + "a", [element(time_ms, f"s{time_ms}", f"p{at}") for at in range(count)])
            session.push(EX + "a", element(time_ms + 250, f"s{time_ms}", "last"))

    with pytest.warns(UserWarning, match="raised after it was unregistered: ValueError: nobody wants") as caught:
        push_all()
    assert len(caught) == count
    assert session.engine.names == ["last"]
    assert not session.failures
    assert len(reported) > 4


def test_a_failing_query_over_two_derived_streams_leaves_the_others_alone() -> None:
    session = freshet.Session()
    reported: Reported = []

    def fail(report: Report) -> None:
        raise ValueError("no room")

    windows = " ".join(f"FROM NAMED WINDOW <w{at}> ON <{EX}a> [RANGE PT2S @<{EX}at{at}>]" for at in (1, 2))
    text = f"SELECT * {windows} {{ WINDOW <w1> {{ ?s ?p ?o }} WINDOW <w2> {{ ?s ?p ?o }} }}"
    register(session, text, name="derived", on_report=fail)
    register(session, query("other", CLOSING, "a"), on_report=recording(reported))
    for time_ms in range(0, 4000, 500):
        lines = [
            f'{time_ms}\t<{EX}s> <{EX}at{at}> "{time_ms + at}"^^<http://www.w3.org/2001/XMLSchema#integer> .'
            for at in (1, 2)
        ]
        session.push(EX + "a", "\n".join(lines))
    assert [(failure.query, failure.reason) for failure in session.failures] == [("derived", "ValueError: no room")]
    assert [time_ms for _, time_ms, _ in reported] == [1000, 2000, 3000]


def test_a_push_from_a_callback_that_is_refused_is_refused_there() -> None:
    session = freshet.Session()
    problems: list[str] = []

    def push(report: Report) -> None:
        with pytest.raises(InputError) as caught:
            session.push(EX + "nowhere", element(0, "s"))
        problems.append(caught.value.message)

    register(session, query("one", CLOSING, "a"), on_report=push)
    session.push(EX + "a", [element(0, "s"), element(1000, "s")])
    assert problems == [f"there is no stream <{EX}nowhere>"]
