"""Random query, random streams: the native engine answers as the reference does, however the elements are batched.

`FRESHET_EXAMPLES` says how many (the default takes about half a minute), `FRESHET_SEED` where to start counting.
A failure shows the smallest case it could find; `scenario(seed)` makes the whole of it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyoxigraph as ox
import pytest

from comparing import differences, reports_of
from reference.evaluator import evaluate
from reference.rewriting import rewrite
from scenarios import Scenario, batches, scenario, smaller
from session_runs import run_queries, whole_streams

EXAMPLES = int(os.environ.get("FRESHET_EXAMPLES", "500"))
FIRST_SEED = int(os.environ.get("FRESHET_SEED", "0"))
BLOCKS = 10
MOST_SHRINKING_STEPS = 400


def expected_reports(case: Scenario) -> list[list[dict]]:
    stored = list(ox.parse("\n".join(case.stored), ox.RdfFormat.N_TRIPLES, rename_blank_nodes=True))
    reports = []
    for query in case.queries:
        answers = evaluate(query.text, case.streams, lateness_ms=case.lateness_ms, stored=stored, absorb=case.absorb)
        asked = rewrite(query.text)
        reports.append(reports_of(answers, asked.name, asked.output))
    return reports


def disagreement(case: Scenario, batching: int | None, directory: Path) -> str:
    """Empty, or what the engine does otherwise than the reference. Batches by chance, or each stream whole."""
    data = directory / "stored.nt"
    data.write_text("".join(f"{statement}\n" for statement in case.stored), encoding="utf-8")
    schedule = whole_streams(case.streams) if batching is None else batches(case.streams, Random(batching))
    expected = expected_reports(case)
    try:
        found = run_queries(
            [(query.name, query.text) for query in case.queries],
            schedule,
            streams=case.streams,
            lateness_ms=case.lateness_ms,
            data=data,
            absorb=case.absorb,
        )
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    pushed = " ".join(f"{iri.rpartition('/')[2]}x{len(lines)}" for iri, lines in schedule)
    wrong = "\n".join(filter(None, map(differences, found, expected)))
    return f"pushed {pushed}\n{wrong}" if wrong else ""


def smallest(case: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """Leave things out as long as it still fails."""
    steps = 0
    shrunk = True
    while shrunk:
        shrunk = False
        for candidate in smaller(case):
            steps += 1
            if steps > MOST_SHRINKING_STEPS:
                return case
            if fails(candidate):
                case, shrunk = candidate, True
                break
    return case


def check(seed: int, directory: Path, query_count: int = 1, length: int | None = None) -> None:
    case = scenario(seed, query_count, length)
    for batching in (None, seed):
        if wrong := disagreement(case, batching, directory):
            kind = wrong.partition(":")[0] if "Error:" in wrong else ""

            def fails(candidate: Scenario, batching: int | None = batching, kind: str = kind) -> bool:
                try:
                    found = disagreement(candidate, batching, directory)
                except SyntaxError:
                    return False  # what is left is no query
                return bool(found) and found.startswith(kind) and ("Error:" in found) == bool(kind)

            least = smallest(case, fails)
            pytest.fail(
                f"scenario({seed}, {query_count}, {length}), batching {batching}\n{least}\n"
                f"{disagreement(least, batching, directory)}",
                pytrace=False,
            )


def block(number: int, examples: int) -> range:
    return range(FIRST_SEED + number * examples // BLOCKS, FIRST_SEED + (number + 1) * examples // BLOCKS)


@pytest.mark.parametrize("number", range(BLOCKS))
def test_native_equals_reference(number: int, tmp_path: Path) -> None:
    for seed in block(number, EXAMPLES):
        check(seed, tmp_path)


@pytest.mark.parametrize("number", range(BLOCKS))
def test_queries_together_answer_as_alone(number: int, tmp_path: Path) -> None:
    for seed in block(number, EXAMPLES // 5):
        check(seed, tmp_path, query_count=3)


def test_long_streams(tmp_path: Path) -> None:
    """Long enough for buffers to grow, wrap and be emptied many times."""
    for seed in range(FIRST_SEED, FIRST_SEED + max(1, EXAMPLES // 50)):
        check(seed, tmp_path, length=600)
