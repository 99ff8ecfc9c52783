"""Windows that end in the past: over a restart, asked once, and explained."""

from __future__ import annotations

from pathlib import Path

import freshet

E = "http://example.org/"
QUERY = f"""PREFIX : <{E}>
SELECT RSTREAM ?s ?v FROM NAMED WINDOW <w> ON :s [FROM NOW-PT5S TO NOW-PT2S STEP PT1S]
WHERE {{ WINDOW <w> {{ ?s :p ?v }} }}"""
LINES = [f"{time}\t<{E}{name}> <{E}p> <{E}o> .\n" for time, name in ((500, "a"), (1500, "b"), (2500, "c"), (6000, "d"))]
EXPECTED = {
    3000: "a",
    4000: "ab",
    5000: "abc",
    6000: "bc",
    7000: "c",
    9000: "d",
    10000: "d",
    11000: "d",
}


def reported(query: freshet.RegisteredQuery) -> dict[int, str]:
    rows = {report.time_ms: sorted(row["s"].value[-1] for row in report.bindings()) for report in query.take()}
    return {time: "".join(names) for time, names in rows.items()}


def test_at_once() -> None:
    session = freshet.Session()
    session.stream(E + "s")
    query = session.register(QUERY, name="q")
    session.push(E + "s", "".join(LINES))
    session.finish()
    assert reported(query) == EXPECTED


def test_over_restarts(tmp_path: Path) -> None:
    found: dict[int, str] = {}
    for line in LINES:
        with freshet.Session(checkpoint=tmp_path) as session:
            session.stream(E + "s")
            query = session.register(QUERY, name="q")
            session.push(E + "s", line)
            found |= reported(query)
            session.checkpoint()
    with freshet.Session(checkpoint=tmp_path) as session:
        session.finish()
        found |= reported(session.registered("q"))
    assert found == EXPECTED


def test_asked_once_and_explained() -> None:
    session = freshet.Session()
    session.stream(E + "s", keep_ms=6000)
    query = session.register(QUERY, name="q")
    session.push(E + "s", "".join(LINES))
    answer = session.query(QUERY.replace("SELECT RSTREAM", "SELECT"))
    assert sorted(row["s"].value[-1] for row in answer.bindings()) == ["b", "c"]
    last = list(query)[-1]
    assert last.time_ms == 6000
    why = query.why(last, 0)
    [derivation] = why.derivations
    assert "1500" in str(derivation) or "2500" in str(derivation)
