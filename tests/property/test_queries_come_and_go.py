"""Queries that are registered and removed between elements report what the reference does for the time they were there.

`FRESHET_CASES`, `FRESHET_SEED` and `FRESHET_RANDOM` are as in `test_native_equals_reference`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random, SystemRandom
from time import monotonic

import pytest

import freshet
from comparing import differences
from counts import count
from freshet.rdf.errors import UnsupportedError
from random_lives import Life, Report, Schedule, expected_of, random_lives
from refusals import refused
from scenario_answers import schedule_of
from scenarios import Scenario, scenario
from session_runs import hand_over

CASES = count(600, "FRESHET_CASES")
ANYWHERE = SystemRandom().randrange(10**9) if os.environ.get("FRESHET_RANDOM") else 0
FIRST_SEED = int(os.environ.get("FRESHET_SEED", ANYWHERE))
BLOCKS = 10
SHRINKING_SECONDS = 20


@dataclass(frozen=True)
class Comings:
    """A schedule of pushes, and the queries that come and go meanwhile."""

    case: Scenario
    schedule: Schedule
    lives: Sequence[Life]

    def __str__(self) -> str:
        lines = [str(life) for life in self.lives]
        for at, (iri, pushed) in enumerate(self.schedule):
            lines.append(f"push {at} into {iri}, lateness {self.case.lateness_ms[iri]} ms")
            lines += [f"  {time_ms}\t{statement or '(advance)'}" for time_ms, statement in pushed]
        return "\n".join([*lines, "stored", *(f"  {statement}" for statement in self.case.stored)])


def comings(seed: int) -> Comings:
    """Queries of one scenario, some of them the same but for constants; nothing is absorbed, and times are the
    streams' own, as what is under way in a derived stream is not for who comes later to see."""
    dice = Random(seed)
    case = replace(scenario(seed, dice.choice([1, 2, 3, 5])), absorb={}, passing=None)
    queries = [query for query in case.queries if not any(window.by_event_time for window in query.windows)]
    schedule = list(schedule_of(case, seed))
    return Comings(case, schedule, random_lives(dice, queries, len(schedule)))


def run(found: Comings, data: Path) -> list[list[Report]]:
    """The reports of each query, taken before it is removed or at the end."""
    data.write_text("".join(f"{statement}\n" for statement in found.case.stored), encoding="utf-8")
    session = freshet.Session()
    session.load(data)
    for iri in found.case.streams:
        session.stream(iri, lateness_ms=found.case.lateness_ms[iri])
    reports: list[list[Report]] = [[] for _ in found.lives]
    present: dict[int, freshet.RegisteredQuery] = {}

    def take(at: int) -> None:
        reports[at] += [json.loads(session.ndjson(report)) for report in present[at].take()]

    def come_and_go(pushes: int) -> None:
        for at, life in enumerate(found.lives):
            if life.first == pushes:
                options = {"report": life.query.report} if life.query.report else {}
                present[at] = session.register(life.query.text, name=life.query.name, **options)
            if life.last == pushes:
                take(at)
                session.unregister(present.pop(at).name)

    for pushes, (iri, lines) in enumerate(found.schedule):
        come_and_go(pushes)
        hand_over(session, iri, lines)
    come_and_go(len(found.schedule))
    session.finish()
    for at in present:
        take(at)
    assert not session.failures, session.failures
    return reports


def disagreement(found: Comings, directory: Path) -> str:
    """Empty, or what the engine does otherwise than the reference."""
    reports = run(found, directory / "stored.nq")
    wrong = []
    for life, reported in zip(found.lives, reports, strict=True):
        must, may = expected_of(life, found.schedule, found.case.lateness_ms, found.case.stored)
        if difference := differences(reported, [*must, *may[: max(0, len(reported) - len(must))]]):
            wrong.append(f"{life}\n{difference}")
    return "\n".join(wrong)


def smaller(found: Comings) -> Iterator[Comings]:
    """The same without a query, a push or a stored statement."""
    for at in range(len(found.lives)):
        yield replace(found, lives=[*found.lives[:at], *found.lives[at + 1 :]])
    for at in range(len(found.schedule)):
        lives = [
            replace(
                life,
                first=life.first - (life.first > at),
                last=None if life.last is None else life.last - (life.last > at),
            )
            for life in found.lives
        ]
        yield replace(found, schedule=[*found.schedule[:at], *found.schedule[at + 1 :]], lives=lives)
    stored = found.case.stored
    for at in range(len(stored)):
        yield replace(found, case=replace(found.case, stored=(*stored[:at], *stored[at + 1 :])))


def smallest(found: Comings, directory: Path) -> Comings:
    """Leave things out as long as it still fails."""
    until = monotonic() + SHRINKING_SECONDS
    candidates = smaller(found)
    while monotonic() < until and (candidate := next(candidates, None)) is not None:
        try:
            fails = bool(disagreement(candidate, directory))
        except Exception:
            fails = False
        if fails:
            found, candidates = candidate, smaller(candidate)
    return found


def check(seed: int, directory: Path) -> bool:
    """Whether there was a case to check: one in which something is reported."""
    found = comings(seed)
    if not found.lives:
        return False
    if not any(
        map(any, (expected_of(life, found.schedule, found.case.lateness_ms, found.case.stored) for life in found.lives))
    ):
        return False
    try:
        wrong = disagreement(found, directory)
    except UnsupportedError as reason:
        refused[reason.message] += 1
        return True
    if wrong:
        least = smallest(found, directory)
        pytest.fail(f"comings({seed})\n{least}\n{disagreement(least, directory)}", pytrace=False)
    return True


@pytest.mark.parametrize("block", range(BLOCKS))
def test_queries_come_and_go(block: int, tmp_path: Path) -> None:
    seed, done = FIRST_SEED + block * 1_000_000, 0
    while done < CASES // BLOCKS:
        done += check(seed, tmp_path)
        seed += 1
