"""What the reference reports for a random scenario, and a way to hand its streams over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from random import Random

import pyoxigraph as ox

from comparing import reports_of
from random_streams import batches
from reference.evaluator import StoredChange, evaluate
from reference.rewriting import rewrite
from scenarios import Scenario
from session_runs import CHANGE, Lines, Schedule, one_by_one, whole_streams

Reports = list[list[dict]]


def expected_reports(case: Scenario, since_ms: float = -inf) -> Reports:
    stored = list(ox.parse("\n".join(case.stored), ox.RdfFormat.N_QUADS, rename_blank_nodes=True))
    change = None
    if case.change:
        change = StoredChange(
            case.change.time_ms, *(read_quads("\n".join(each)) for each in (case.change.deleted, case.change.inserted))
        )
    reports = []
    for query in case.queries:
        answers = evaluate(
            query.text,
            case.streams,
            lateness_ms=case.lateness_ms,
            stored=stored,
            absorb=case.absorb,
            report=query.report,
            change=change,
            since_ms=since_ms,
        )
        asked = rewrite(query.text, case.streams)
        reports.append(reports_of(answers, asked.name or query.name, asked.output, ordered=asked.ordered))
    return reports


def read_quads(text: str) -> tuple[ox.Quad, ...]:
    return tuple(ox.parse(text, ox.RdfFormat.N_QUADS))


def update_of(case: Scenario) -> str:
    """How the stored graphs change, in SPARQL Update."""
    if not case.change:
        return ""
    deleted, inserted = (read_quads("\n".join(each)) for each in (case.change.deleted, case.change.inserted))
    return f"DELETE DATA {{ {quad_data(deleted)} }} ; INSERT DATA {{ {quad_data(inserted)} }}"


def quad_data(quads: Iterable[ox.Quad]) -> str:
    return " ".join(
        f"{triple} ." if isinstance(graph := quad.graph_name, ox.DefaultGraph) else f"GRAPH {graph} {{ {triple} }}"
        for quad in quads
        for triple in [f"{quad.subject} {quad.predicate} {quad.object}"]
    )


def schedule_of(case: Scenario, batching: int) -> Schedule:
    """The same for the same number: whole streams, one element after the other, or batches by chance."""
    if case.change:
        before, after = {}, {}
        for iri, lines in case.streams.items():
            cut = lines.index((case.change.time_ms, None)) + 1
            before[iri], after[iri] = lines[:cut], lines[cut:]
        return [*batched(before, batching), (CHANGE, ()), *batched(after, batching)]
    return batched(case.streams, batching)


def batched(streams: Mapping[str, Lines], batching: int) -> Schedule:
    """The streams cut into pushes."""
    dice = Random(batching)
    kind = dice.randrange(5)
    if kind == 0:
        return whole_streams(streams)
    return one_by_one(streams) if kind == 1 else batches(streams, dice)
