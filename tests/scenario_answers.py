"""What the reference reports for a random scenario, and a way to hand its streams over."""

from __future__ import annotations

from random import Random

import pyoxigraph as ox

from comparing import reports_of
from random_streams import batches
from reference.evaluator import evaluate
from reference.rewriting import rewrite
from scenarios import Scenario
from session_runs import Schedule, one_by_one, whole_streams

Reports = list[list[dict]]


def expected_reports(case: Scenario) -> Reports:
    stored = list(ox.parse("\n".join(case.stored), ox.RdfFormat.N_QUADS, rename_blank_nodes=True))
    reports = []
    for query in case.queries:
        answers = evaluate(
            query.text,
            case.streams,
            lateness_ms=case.lateness_ms,
            stored=stored,
            absorb=case.absorb,
            report=query.report,
        )
        asked = rewrite(query.text, case.streams)
        reports.append(reports_of(answers, asked.name or query.name, asked.output, ordered=asked.ordered))
    return reports


def schedule_of(case: Scenario, batching: int) -> Schedule:
    """The same for the same number: whole streams, one element after the other, or batches by chance."""
    dice = Random(batching)
    kind = dice.randrange(5)
    if kind == 0:
        return whole_streams(case.streams)
    return one_by_one(case.streams) if kind == 1 else batches(case.streams, dice)
