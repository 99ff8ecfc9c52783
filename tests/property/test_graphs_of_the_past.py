"""Random elements, updates, loads and compactions: a query at a time has what was there before it.

`FRESHET_EXAMPLES` says how many, `FRESHET_SEED` where to start counting.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from counts import count
from freshet import InputError, Session, UnsupportedError

EXAMPLES = count(300, "FRESHET_EXAMPLES")
FIRST_SEED = int(os.environ.get("FRESHET_SEED", "0"))
BLOCKS = 10
S = "http://e/s"
PREFIX = "PREFIX : <http://e/> "

Triple = tuple[str, str, str]
# What was done, with the time that the stream had come to, or the time of the element: None before the first.
Done = tuple[str, int | None, Triple]


def graph_at(done: list[Done], time_ms: int | None, *, is_latest: bool) -> set[Triple]:
    """What was there after all that was before a time, or is now."""
    graph: set[Triple] = set()
    for kind, at_ms, triple in done:
        if time_ms is not None and at_ms is not None and at_ms >= time_ms:
            continue
        if kind == "delete":
            graph.discard(triple)
            continue
        if kind == "push" and is_latest:
            graph = {each for each in graph if each[:2] != triple[:2]}
        graph.add(triple)
    return graph


def asked(session: Session, time_ms: int | None) -> set[Triple]:
    rows = session.query("SELECT * { ?s ?p ?o }", at=time_ms).bindings()
    found = [(row["s"].value[-1], row["p"].value[-1], row["o"].value[-1]) for row in rows]
    assert len(found) == len(set(found))
    joined = {
        (row["s"].value[-1], row["o"].value[-1])
        for row in session.query(PREFIX + "SELECT * { ?s :p ?x . ?x :p ?o }", at=time_ms).bindings()
    }
    pairs = {(s, o) for s, p, o in found if p == "p"}
    assert joined == {(s, o) for s, x in pairs for y, o in pairs if x == y}
    return set(found)


def check(seed: int) -> int:
    random = Random(seed)
    is_latest, history = random.random() < 0.5, random.choice((0, 3000, 10**9))
    session, done, now_ms, lost_ms, known_ms = Session(history=history), list[Done](), None, -1, 10**9
    session.stream(S, absorb="latest" if is_latest else True)
    asked_past = 0
    for _ in range(random.randint(3, 20)):
        triple = random.choice("abc"), random.choice("pq"), random.choice("abc")
        text = " ".join(f"<http://e/{term}>" for term in triple) + " ."
        match random.choice(("push", "push", "push", "insert", "delete", "delete", "compact", "read")):
            case "push":
                now_ms = (now_ms or 0) + random.choice((0, 1, 1000))
                session.push(S, f"{now_ms}\t{text}")
                done.append(("push", now_ms, triple))
            case "compact":
                session.engine.compact_stored()
            case "read":
                assert asked(session, None) == graph_at(done, None, is_latest=is_latest)
            case kind:
                session.update(f"{kind.upper()} DATA {{ {text} }}")
                done.append((kind, now_ms, triple))
    for time_ms in random.sample(range((now_ms or 0) + 1500), 8):
        try:
            found = asked(session, time_ms)
        except InputError:
            assert history == 0 or time_ms < (now_ms or 0) - history
            lost_ms = max(lost_ms, time_ms)
            continue
        asked_past += 1
        known_ms = min(known_ms, time_ms)
        expected = graph_at(done, time_ms, is_latest=is_latest)
        assert found == expected, f"seed {seed} at {time_ms}\n{done}"
    assert lost_ms < known_ms
    assert asked(session, None) == graph_at(done, None, is_latest=is_latest)
    return asked_past


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_query_at_a_time_has_what_was_there_before_it(block: int) -> None:
    asked_past = 0
    for seed in range(FIRST_SEED + block * EXAMPLES // BLOCKS, FIRST_SEED + (block + 1) * EXAMPLES // BLOCKS):
        asked_past += check(seed)
    assert asked_past


def test_what_is_not_known_is_said() -> None:
    session = Session()
    session.stream(S, absorb=True)
    session.push(S, "1000\t<http://e/a> <http://e/p> <http://e/b> .")
    assert asked(session, 1000) == set()
    assert asked(session, 1001) == {("a", "p", "b")}
    session.update("DELETE WHERE { ?s ?p ?o }")
    with pytest.raises(InputError, match=r"1970-01-01T00:00:01\.000Z are not known any more, as the session keeps no"):
        asked(session, 1000)
    assert asked(session, 1001) == set()
    for wrong in ("soon", 1.5, True, 10**19):
        with pytest.raises(InputError, match="time"):
            session.query("ASK {}", at=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="history"):
        Session(history="long")
    with pytest.raises(UnsupportedError, match="windows of streams"):
        session.query(f"SELECT * FROM NAMED WINDOW <w> ON <{S}> [RANGE PT1S] {{ WINDOW <w> {{ ?s ?p ?o }} }}", at=5)


def test_terms_of_the_past_stay(tmp_path: Path) -> None:
    """Also where they are deleted, and what was deleted is left out of the base."""
    session = Session(history="1h", checkpoint=tmp_path / "c", sync=False)
    session.stream(S, absorb="latest")
    for at in range(200):
        session.push(S, f'{at}\t<http://e/a> <http://e/p> "value {at}" .')
        if at % 50 == 0:
            session.engine.compact_stored()
    session.engine.collector.sweep(session.engine.streams, session.stored, session.engine.live)
    for at in (0, 1, 20, 50, 51, 199, 200):
        found = [row["o"].lexical for row in session.query("SELECT ?o { ?s ?p ?o }", at=at).bindings()]
        assert found == ([f"value {at - 1}"] if at else [])
    session.close()
    again = Session(history="1h", checkpoint=tmp_path / "c", sync=False)
    with pytest.raises(InputError, match="not known any more, with a history of 3600000 ms"):
        again.query("ASK {}", at=100)
    assert again.query("ASK { ?s ?p 'value 199' }", at=200)
    again.close()
