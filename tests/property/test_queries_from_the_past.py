"""Random queries that begin in the past report what they would have reported, and go on without a gap or a repetition.

`FRESHET_EXAMPLES` says how many, `FRESHET_SEED` where to start counting.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import freshet
from comparing import differences
from counts import count
from freshet.native.queries import catch_up
from freshet.rdf.errors import UnsupportedError
from scenario_answers import batched, expected_reports
from scenarios import scenario
from session_runs import hand_over

EXAMPLES = count(400, "FRESHET_EXAMPLES")
FIRST_SEED = int(os.environ.get("FRESHET_SEED", "0"))
BLOCKS = 10
DAY_MS = 86_400_000


def check(seed: int, folder: Path) -> bool:
    """Whether there was a query to check."""
    case, random = replace(scenario(seed), change=None), Random(seed)
    [query] = case.queries
    schedule = list(batched(case.streams, seed))
    cut = random.randint(0, len(schedule))
    times = [time_ms for lines in case.streams.values() for time_ms, _ in lines]
    since_ms = random.choice(times) + random.choice((-5000, -500, 0, 0, 1, 700))
    data = folder / "stored.nq"
    data.write_text("".join(f"{statement}\n" for statement in case.stored), encoding="utf-8")
    session = freshet.Session(why_elements=random.choice((0, 100_000)))
    session.load(data)
    for iri in case.streams:
        absorb = case.absorb.get(iri, False)
        session.stream(iri, lateness_ms=case.lateness_ms[iri], absorb=absorb, keep_ms=DAY_MS)
    for iri, lines in schedule[:cut]:
        hand_over(session, iri, lines)
    try:
        registered = session.register(query.text, name=query.name, report=tuple(query.report), since=since_ms)
    except UnsupportedError:
        return False
    since_ms = session.engine._asked[registered.name].since_ms
    for iri, lines in schedule[cut:]:
        hand_over(session, iri, lines)
    session.finish()
    assert not session.failures, session.failures
    found = [json.loads(session.ndjson(report)) for report in registered.take()]
    [expected] = expected_reports(case, since_ms)
    wrong = differences(found, expected)
    assert not wrong, f"seed {seed}, since {since_ms}, pushed {cut} of {len(schedule)}\n{case}\n{wrong}"
    return bool(expected)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_queries_begin_in_the_past(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if block % 2:
        monkeypatch.setattr(catch_up, "_STEP", 2)
    first = FIRST_SEED + block * 100_000
    assert sum(check(seed, tmp_path) for seed in range(first, first + max(10, EXAMPLES // BLOCKS)))
