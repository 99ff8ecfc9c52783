"""Triples that are absorbed for some time: when they go, and what is seen until then."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from counts import count
from freshet import InputError, Session
from freshet.results.live_change import LiveChange

S, T = "http://e/s", "http://e/t"
ALL = "SELECT ?o { ?s <http://e/p> ?o }"


def line(time_ms: int, value: object, *, deletes: bool = False) -> str:
    return f'{time_ms}\t{"- " if deletes else ""}<http://e/a> <http://e/p> "{value}" .\n'


def stored(session: Session, at: int | None = None) -> set[str]:
    return {row["o"].lexical for row in session.query(ALL, at=at).bindings()}


def test_a_triple_goes_at_an_age_unless_it_comes_again() -> None:
    session = Session(history="1h")
    session.stream(S, absorb={"keep": "10s"})
    session.push(S, line(1000, "a") + line(2000, "b") + line(9000, "a"))
    assert stored(session) == {"a", "b"}
    session.push(S, line(11_500, "c"))
    assert stored(session) == {"a", "b", "c"}
    session.push(S, line(12_000, "d"))
    assert stored(session) == {"a", "c", "d"}
    session.advance(S, 19_000)
    assert stored(session) == {"c", "d"}
    assert stored(session, at=12_000) == {"a", "b", "c"}
    session.finish()
    assert stored(session) == {"c", "d"}


def test_a_batch_that_is_longer_than_the_age() -> None:
    session = Session()
    session.stream(S, absorb={"keep": 1000})
    session.push(S, "".join(line(at * 100, at % 40) for at in range(100)))
    assert stored(session) == {str(at % 40) for at in range(90, 100)}


def test_latest_values_and_some_predicates() -> None:
    session = Session()
    session.stream(S, absorb={"keep": "10s", "latest": True})
    session.push(S, line(1000, "a") + line(2000, "b") + line(3000, "a"))
    session.advance(S, 12_999)
    assert stored(session) == {"a"}
    session.advance(S, 13_000)
    assert stored(session) == set()
    session.stream(T, absorb={"keep": "10s", "predicates": ["http://e/p"]})
    session.push(T, line(1000, "x") + line(1000, "y").replace("/p>", "/q>"))
    assert len(list(session.query("SELECT * { ?s ?p ?o }").bindings())) == 1


def test_a_stream_that_retracts() -> None:
    session = Session()
    session.stream(S, absorb={"keep": "10s"}, retracts=True)
    session.push(S, line(1000, "a") + line(2000, "a", deletes=True) + line(3000, "a"))
    session.advance(S, 12_000)
    assert stored(session) == {"a"}
    session.advance(S, 13_000)
    assert stored(session) == set()


def test_evaluations_and_live_queries_follow() -> None:
    session, changes = Session(), list[LiveChange]()
    session.stream(S, absorb={"keep": "2s"})
    session.stream(T)
    query = session.register(
        f"SELECT ?o FROM NAMED WINDOW <w> ON <{T}> [RANGE PT1S STEP PT1S] "
        "WHERE { WINDOW <w> { ?x ?y ?z } ?s <http://e/p> ?o }",
        name="q",
    )
    session.follow(ALL, changes.append, name="live")
    session.push(S, "".join(line(500 + 1000 * at, at) for at in range(6)))
    for at in range(6):
        session.push(T, f"{700 + 1000 * at}\t<http://e/x> <http://e/y> <http://e/z> .\n")
    found = [(each.time_ms, sorted(row["o"].lexical for row in each.bindings())) for each in query.take()]
    assert found == [(1000, ["0"]), (2000, ["0", "1"]), (3000, ["1", "2"]), (4000, ["2", "3"]), (5000, ["3", "4"])]
    assert sum(len(each.removed) for each in changes) == 4


@pytest.mark.parametrize(
    "wrong", [{"keep": "soon"}, {"keep": 0}, {"keep": "1s", "latest": [], "all": True}, {}, {"kept": 1}]
)
def test_what_is_no_age(wrong: object) -> None:
    with pytest.raises(InputError):
        Session().stream(S, absorb=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(count(20)))
def test_random_arrivals_and_restarts(tmp_path: Path, seed: int) -> None:
    """What is there are the triples that came within the age, whenever the session was killed."""
    random = Random(seed)
    age_ms, is_latest, folder = random.choice((700, 3000)), random.random() < 0.4, tmp_path / "c"
    session, now_ms = Session(checkpoint=folder, sync=False), 0
    session.stream(S, absorb={"keep": age_ms, **({"latest": True} if is_latest else {})})
    arrived: list[tuple[int, str]] = []
    for step in range(60):
        lines = []
        for _ in range(random.randint(1, 3)):
            now_ms += random.choice((0, 0, 100, 400))
            arrived.append((now_ms, random.choice("abcdef")))
            lines.append(line(*arrived[-1]))
        session.push(S, "".join(lines))
        if random.random() < 0.2:
            session.checkpoint()
        if random.random() < 0.2:
            folder = shutil.copytree(folder, tmp_path / f"c{step}")  # as a process leaves it that is killed
            session.close()
            session = Session(checkpoint=folder, sync=False)
        young = [value for time_ms, value in arrived if time_ms > now_ms - age_ms]
        assert stored(session) == (set(young[-1:]) if is_latest else set(young)), (seed, step)
    session.close()
