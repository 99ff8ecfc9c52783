"""Random queries and streams under a budget for windows: what is accepted is answered as the reference does.

`FRESHET_CASES` says how many, as in `test_native_equals_reference.py`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import freshet
from comparing import differences
from counts import count
from freshet.rdf.errors import BudgetError, UnsupportedError
from scenario_answers import expected_reports, schedule_of
from scenarios import Scenario, scenario
from session_runs import Lines, hand_over

CASES = count(2000, "FRESHET_CASES") // 10
BLOCKS = 4


def pieces(lines: Lines) -> list[Lines]:
    """What is pushed at once, and each advance by itself."""
    found: list[list[tuple[int, str | None]]] = [[]]
    for line in lines:
        if line[1] is None or (found[-1] and found[-1][-1][1] is None):
            found.append([])
        found[-1].append(line)
    return [piece for piece in found if piece]


def run_within(case: Scenario, seed: int, budget: int, data: Path) -> tuple[list[list[dict]], dict[str, Lines], int]:
    """The reports, what was accepted of each stream, and how many pushes were refused."""
    session = freshet.Session(window_bytes=budget)
    session.load(data)
    for iri in case.streams:
        session.stream(iri, lateness_ms=case.lateness_ms[iri], absorb=case.absorb.get(iri, False))
    registered = [
        session.register(query.text, name=query.name, **({"report": query.report} if query.report else {}))
        for query in case.queries
    ]
    accepted: dict[str, list[tuple[int, str | None]]] = {iri: [] for iri in case.streams}
    refused = dict.fromkeys(case.streams, 0)
    for iri, lines in schedule_of(case, seed):
        for piece in pieces(lines):
            before = session.engine.streams[iri].elements
            try:
                hand_over(session, iri, piece)
            except BudgetError:
                refused[iri] += 1
                assert session.engine.streams[iri].elements == before
            else:
                accepted[iri] += piece
    assert {iri: session.engine.streams[iri].refused for iri in case.streams} == refused
    session.finish()
    assert not session.failures, session.failures
    reports = [[json.loads(session.ndjson(report)) for report in query.take()] for query in registered]
    return reports, {iri: tuple(lines) for iri, lines in accepted.items()}, sum(refused.values())


@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_is_accepted_is_answered(block: int, tmp_path: Path) -> None:
    data = tmp_path / "stored.nq"
    refused = done = 0
    seed = 70_000_000 + block * 1_000_000
    while done < CASES // BLOCKS:
        seed += 1
        case = scenario(seed, 1 + seed % 2)
        data.write_text("".join(f"{statement}\n" for statement in case.stored), encoding="utf-8")
        budget = Random(seed).choice([400, 1000, 2000, 4000])
        try:
            found, accepted, count = run_within(case, seed, budget, data)
        except UnsupportedError:
            continue
        refused, done = refused + count, done + 1
        expected = expected_reports(replace(case, streams=accepted))
        wrong = "\n".join(filter(None, map(differences, found, expected)))
        assert not wrong, f"scenario({seed}, {1 + seed % 2}) within {budget} bytes\n{wrong}"
    assert refused, "no push was refused, so the budget was never tried"
