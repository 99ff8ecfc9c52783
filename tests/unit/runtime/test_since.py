"""Queries that begin in the past: what they report, what is refused, and how they survive a restart."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from counts import count
from freshet import InputError, Report, Session, UnsupportedError

S, T = "http://e/s", "http://e/t"
WINDOW = f"FROM NAMED WINDOW <w> ON <{S}> [RANGE PT3S STEP PT1S]"
QUERY = f"SELECT ?o {WINDOW} WHERE {{ WINDOW <w> {{ ?s <http://e/p> ?o }} }}"
REMOTE = f"SELECT ?o {WINDOW} WHERE {{ WINDOW <w> {{ ?s ?p ?o }} SERVICE <http://localhost:9/> {{ ?s ?q ?r }} }}"
CHANGES = f"REGISTER ISTREAM <changes> AS {QUERY}"

Seen = tuple[int, tuple[str, ...]]


def line(time_ms: int, value: object) -> str:
    return f'{time_ms}\t<http://e/a> <http://e/p> "{value}" .\n'


def seen(reports: Any) -> list[Seen]:
    return [(each.time_ms, tuple(sorted(row["o"].lexical for row in each.bindings()))) for each in reports]


@pytest.mark.parametrize("on", ["take", "report", "batch"])
def test_it_catches_up_and_goes_on(on: str) -> None:
    session = Session()
    session.stream(S, keep_ms=60_000)
    session.push(S, "".join(line(500 + 1000 * at, at) for at in range(6)))
    found: list[Report] = []
    options: dict[str, Any] = {"report": {"on_report": found.append}, "batch": {"on_batch": found.append}}.get(on, {})
    query = session.register(QUERY, name="q", since=2500, **options)
    session.push(S, line(6500, 6))
    if on == "batch":
        found = [report for batch in found for report in batch.reports()]  # type: ignore[attr-defined]
    reports = seen(query.take() if on == "take" else found)
    assert reports == [(3000, ("2",)), (4000, ("2", "3")), (5000, ("2", "3", "4")), (6000, ("3", "4", "5"))]


def test_others_join_it() -> None:
    """Queries that are registered after it see what comes after that."""
    session = Session()
    session.stream(S, keep_ms=60_000)
    session.push(S, line(500, 0) + line(1500, 1))
    first = session.register(QUERY, name="first", since=0)
    second = session.register(QUERY, name="second")
    session.push(S, line(2500, 2) + line(3500, 3))
    assert seen(first.take()) == [(1000, ("0",)), (2000, ("0", "1")), (3000, ("0", "1", "2"))]
    assert seen(second.take()) == [(3000, ("2",))]
    session.unregister("first")
    session.push(S, line(4500, 4))
    assert seen(second.take()) == [(4000, ("2", "3"))]


def test_the_stored_graph_is_that_of_each_evaluation() -> None:
    session = Session()
    session.stream(S, keep_ms=60_000)
    session.stream(T, absorb=True)
    session.update("INSERT DATA { <http://e/x> <http://e/q> 'stored' }")
    for at in range(4):
        session.push(T, f'{400 + 1000 * at}\t<http://e/x> <http://e/q> "{at}" .')
        session.push(S, line(500 + 1000 * at, at))
    text = f"SELECT ?o {WINDOW} WHERE {{ WINDOW <w> {{ ?s <http://e/p> ?x }} <http://e/x> <http://e/q> ?o }}"
    query = session.register(text, name="q", since=1500)
    found = [(time_ms, sorted(set(values))) for time_ms, values in seen(query.take())]
    assert found == [(2000, ["0", "1", "stored"]), (3000, ["0", "1", "2", "stored"])]
    session.update("DELETE DATA { <http://e/x> <http://e/q> 'stored' }")
    with pytest.raises(InputError, match="changed, or compacted, since 2000: it can begin from 3500 on"):
        session.register(text, name="late", since=2000)
    session.register(text, name="late", since=3500)


def test_as_much_is_kept_as_is_asked_for() -> None:
    session = Session(why_elements=10)
    session.stream(S, keep_ms=5_000)
    for at in range(2000):
        session.push(S, line(10 * at, at))
    with pytest.raises(InputError, match=r"no longer has its elements from 1000 on: they are there from \d+ on"):
        session.register(QUERY, name="q", since=1000)
    query = session.register(QUERY, name="q", since=15_000)
    assert seen(query.take())[0] == (16_000, tuple(sorted(map(str, range(1500, 1600)))))
    assert sum(len(block.times) for block in session.engine.log._newest[S]._blocks) < 1200


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (QUERY.replace(S, T), InputError, "keeps no elements"),
        ("SELECT * { ?s ?p ?o }", InputError, "'since' says nothing of a live query"),
        (QUERY.replace("[RANGE PT3S STEP PT1S]", "[RANGE PT3S @<http://e/at>]"), UnsupportedError, "times of elements"),
        (QUERY.replace(S, "made"), UnsupportedError, "answers of another query"),
        (REMOTE, UnsupportedError, "SERVICE"),
    ],
)
def test_what_is_refused(text: str, error: type[Exception], message: str) -> None:
    session = Session(services=["localhost:9"])
    session.stream(S, keep_ms=1000)
    session.stream(T)
    session.register(f"CONSTRUCT {{ ?s <http://e/p> ?o }} {WINDOW} WHERE {{ WINDOW <w> {{ ?s ?p ?o }} }}", name="made")
    with pytest.raises(error, match=message):
        session.register(text, name="q", since=0)
    with pytest.raises(InputError, match="time"):
        session.register(QUERY, name="q", since="soon")
    assert session.engine.names == ["made"]


def test_a_query_that_fails_on_its_way() -> None:
    session = Session()
    session.stream(S, keep_ms=60_000)
    session.push(S, line(500, 0) + line(1500, 1) + line(2500, 2))

    def fail(report: Report) -> None:
        raise ValueError("no")

    session.register(QUERY, name="q", since=0, on_report=fail)
    assert [each.query for each in session.failures] == ["q"]
    assert session.register(QUERY, name="q", since=0).take()
    session.push(S, line(3500, 3))


def test_a_callback_that_pushes() -> None:
    session = Session()
    session.stream(S, keep_ms=60_000)
    session.push(S, line(500, 0) + line(1500, 1))
    found: list[Seen] = []

    def push(report: Report) -> None:
        found.extend(seen([report]))
        if report.time_ms == 1000:
            session.push(S, line(2500, 2))

    session.register(QUERY, name="q", since=0, on_report=push)
    assert found == [(1000, ("0",)), (2000, ("0", "1"))]
    session.push(S, line(3500, 3))
    assert found[2:] == [(3000, ("0", "1", "2"))]


def test_why_names_what_it_has_seen() -> None:
    session = Session()
    session.stream(S, keep_ms=60_000)
    session.push(S, line(500, "x") + line(1500, "x") + line(2500, 2))
    query = session.register(QUERY, name="q", since=1000)
    report = query.take()[0]
    [derivation] = query.why(report, 0).derivations
    assert [element.time_ms for element in derivation.elements] == [1500]


@pytest.mark.parametrize("seed", range(count(10)))
def test_it_survives_a_restart_at_any_time(tmp_path: Path, seed: int) -> None:
    """Nothing is missing, and what comes twice is the same."""
    random = Random(seed)
    registered_at, since_ms = random.randrange(5, 25), random.randrange(0, 5000)
    found: list[Seen] = []
    folder = tmp_path / "c"

    def receive(report: Report) -> None:
        found.extend(seen([report]))

    session = Session(checkpoint=folder, sync=False)
    plain = Session()
    for each in (session, plain):
        each.stream(S, keep_ms=20_000)
    expected: list[Seen] = []
    for step in range(40):
        if step == registered_at:
            session.register(CHANGES, since=since_ms, on_report=receive)
            plain.register(CHANGES, since=since_ms, on_report=lambda report: expected.extend(seen([report])))
        text = "".join(line(step * 300 + random.randrange(300), random.randrange(6)) for _ in range(3))
        text = "".join(sorted(text.splitlines(keepends=True), key=lambda each: int(each.partition("\t")[0])))
        for each in (session, plain):
            each.push(S, text)
        if random.random() < 0.15:
            session.checkpoint()
        if random.random() < 0.2:
            folder = shutil.copytree(folder, tmp_path / f"c{step}")  # as a process leaves it that is killed
            session.close()
            session = Session(checkpoint=folder, sync=False)
            if step >= registered_at:
                session.register(CHANGES, since=step, on_report=receive)
    for each in (session, plain):
        each.finish()
    assert expected
    assert sorted(set(found)) == sorted(expected)
    session.close()
