"""Random query, random streams: the native engine answers as the reference does, however the elements are batched.

`FRESHET_CASES` says how many (the default takes about a minute), `FRESHET_SEED` where to start counting, and
`FRESHET_RANDOM=1` starts anywhere. A failure shows the smallest case it could find; `scenario(seed)` makes the whole
of it again. What the engine refuses is counted, by reason, at the end of the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import SystemRandom
from time import monotonic

import pytest

import freshet
from case_files import EXAMPLE
from comparing import differences
from counts import count
from freshet.native import query_group
from freshet.native.streams.stream import DerivedCounts
from freshet.rdf.errors import UnsupportedError
from reference.streams import derive, receive
from refusals import refused
from scenario_answers import Reports, expected_reports, schedule_of, update_of
from scenarios import Scenario, scenario, smaller
from session_runs import hand_over, run_queries

CASES = count(2000, "FRESHET_CASES")
ANYWHERE = SystemRandom().randrange(10**9) if os.environ.get("FRESHET_RANDOM") else 0
FIRST_SEED = int(os.environ.get("FRESHET_SEED", ANYWHERE))
BLOCKS = 10
SHRINKING_SECONDS = 20


class Refused(Exception):
    """The engine said that it does not do this."""


def disagreement(case: Scenario, batching: int, directory: Path, expected: Reports | None = None) -> str:
    """Empty, or what the engine does otherwise than the reference."""
    data = directory / "stored.nq"
    data.write_text("".join(f"{statement}\n" for statement in case.stored), encoding="utf-8")
    schedule = schedule_of(case, batching)
    expected = expected_reports(case) if expected is None else expected
    try:
        found = run_queries(
            [(query.name, query.text) for query in case.queries],
            schedule,
            streams=case.streams,
            lateness_ms=case.lateness_ms,
            data=data,
            absorb=case.absorb,
            reports=[query.report for query in case.queries],
            passing=case.passing.text if case.passing else None,
            compacting=batching % 2 == 1,
            change=update_of(case),
            retracts=case.retracts,
        )
    except UnsupportedError as problem:
        raise Refused(problem.message) from None
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    pushed = " ".join(f"{iri.rpartition('/')[2]}x{len(lines)}" for iri, lines in schedule)
    wrong = "\n".join(filter(None, map(differences, found, expected)))
    return f"pushed {pushed}\n{wrong}" if wrong else ""


def smallest(case: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """Leave things out as long as it still fails."""
    until = monotonic() + SHRINKING_SECONDS
    shrunk = True
    while shrunk:
        shrunk = False
        for candidate in smaller(case):
            if monotonic() > until:
                return case
            if fails(candidate):
                case, shrunk = candidate, True
                break
    return case


def still_fails(candidate: Scenario, batching: int, directory: Path, kind: str) -> bool:
    """With the same kind of failure; what is left may also be no query, or one that is refused."""
    try:
        found = disagreement(candidate, batching, directory)
    except (SyntaxError, Refused):
        return False
    return bool(found) and found.startswith(kind) and ("Error:" in found) == bool(kind)


def check(
    seed: int,
    directory: Path,
    query_count: int = 1,
    length: int | None = None,
    *,
    changing: bool = False,
    replacing: bool = False,
    retracting: bool = False,
) -> bool:
    """Whether there was a case to check. Those without any answer are mostly left out, and with `changing` those
    in which an update makes no difference.
    """
    case = scenario(seed, query_count, length, changing=changing, replacing=replacing, retracting=retracting)
    expected = expected_reports(case)
    if changing and (not case.change or expected == expected_reports(replace(case, change=None))):
        return False
    if replacing and expected == expected_reports(replace(case, absorb=dict.fromkeys(case.absorb, True))):
        return False
    if retracting and expected == expected_reports(without_deletions(case)):
        return False
    if not any(expected) and seed % 4:
        return False
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2 == 0:
            patch.setattr(query_group, "FEW_SCHEDULES", 0)  # schedules that nothing concerns sleep, as of many
        try:
            wrong = disagreement(case, seed, directory, expected)
        except Refused as reason:
            refused[str(reason)] += 1
            return True
        if wrong:
            kind = wrong.partition(":")[0] if "Error:" in wrong else ""
            least = smallest(case, partial(still_fails, batching=seed, directory=directory, kind=kind))
            shown = f"{least}\n{disagreement(least, seed, directory)}"
            options = f"changing={changing}, replacing={replacing}, retracting={retracting}"
            pytest.fail(f"scenario({seed}, {query_count}, {length}, {options})\n{shown}", pytrace=False)
    return True


def without_deletions(case: Scenario) -> Scenario:
    """The same, as if nothing were deleted."""
    streams = {
        iri: tuple(line for line in lines if not (line[1] or "").startswith("-")) for iri, lines in case.streams.items()
    }
    return replace(case, streams=streams)


def check_some(block: int, cases: int, directory: Path, query_count: int = 1, **options: bool) -> None:
    """A block of cases, from seeds that no other block uses."""
    seed = FIRST_SEED + block * 1_000_000
    done = 0
    while done < cases:
        done += check(seed, directory, query_count, **options)
        seed += 1


@pytest.mark.parametrize("block", range(BLOCKS))
def test_native_equals_reference(block: int, tmp_path: Path) -> None:
    check_some(block, CASES // BLOCKS, tmp_path)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_queries_together_answer_as_alone(block: int, tmp_path: Path) -> None:
    check_some(block, CASES // BLOCKS // 10, tmp_path, query_count=3)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_queries_follow_updates(block: int, tmp_path: Path) -> None:
    check_some(block, CASES // BLOCKS // 8, tmp_path, query_count=1 + block % 3, changing=True)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_queries_follow_replaced_values(block: int, tmp_path: Path) -> None:
    check_some(
        block, CASES // BLOCKS // 8, tmp_path, query_count=1 + block % 3, replacing=True, changing=block % 2 == 1
    )


@pytest.mark.parametrize("block", range(BLOCKS))
def test_elements_delete(block: int, tmp_path: Path) -> None:
    check_some(
        block, CASES // BLOCKS // 8, tmp_path, query_count=1 + block % 3, retracting=True, changing=block % 4 == 1
    )


def test_long_streams(tmp_path: Path) -> None:
    """Long enough for buffers to grow, wrap and be emptied many times."""
    for seed in range(FIRST_SEED, FIRST_SEED + max(1, CASES // 200)):
        check(seed, tmp_path, length=600)


def test_late_and_untimed_elements_are_counted(tmp_path: Path) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + max(1, CASES // 20)):
        case = scenario(seed)
        session = freshet.Session()
        for iri, lateness_ms in case.lateness_ms.items():
            session.stream(iri, lateness_ms=lateness_ms)
            window = f"FROM NAMED WINDOW <w> ON <{iri}> [RANGE PT1S @<{EXAMPLE}at>]"
            session.register(f"SELECT * {window} {{ WINDOW <w> {{ ?s ?p ?o }} }}", name=iri.rpartition("/")[2])
        for iri, lines in schedule_of(case, seed):
            hand_over(session, iri, lines)
        session.finish()
        for iri, lines in case.streams.items():
            received = receive(lines, case.lateness_ms[iri])
            state = session.engine.streams[iri]
            counted, derived = state.derived.get(EXAMPLE + "at", DerivedCounts()), derive(received, EXAMPLE + "at")
            found = state.late, counted.late, counted.untimed
            expected = received.dropped, derived.dropped, derived.untimed
            assert found == expected, f"scenario({seed}), {iri}: late and untimed are {found}, expected {expected}"
