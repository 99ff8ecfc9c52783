"""`freshet bench operators`: the native engine's operators over windows, every arrival evaluated, beside from scratch.

Joins, AVERAGE, MIN and DISTINCT run over windows of the last n elements and take batches of 1,000: each batch gives
what each of its arrivals changed. The baseline fills and indexes the same windows anew for every batch, in the same
kernels, joins them wholly and compares with the answer before. Both are run by turns, and medians are reported.
A single element goes through a whole session, the engine with its clock and windows; there the baseline does the same
for the two windows of the query. What the figures of many queries and of the scanner are, their modules say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np

from freshet_benchmarks.arrival_workloads import Incremental, Scratch, Top, Workload
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.many_queries import many_queries_figures
from freshet_benchmarks.scanner import scanner_figures
from freshet_benchmarks.single_pushes import push_figures

BATCH = 1_000
SCRATCH = "from scratch each batch"
_FILL_BATCH = 20_000


class Measured(NamedTuple):
    """A workload under its figure's name, and how many batches are timed each way."""

    name: str
    workload: Workload
    batches: int
    from_scratch: int


MILLION = 1_000_000
MEASURED = (
    Measured("three_way_join", Workload(3, 10_000, 10_000), 400, 40),
    Measured("average_of_million", Workload(1, MILLION, 1, Top.AVERAGE, first_values=1_000), 100, 3),
    Measured("min_selectivity_0_01", Workload(2, MILLION, 100 * MILLION, Top.LEAST), 100, 3),
    Measured("min_selectivity_1", Workload(2, MILLION, MILLION, Top.LEAST), 60, 3),
    Measured("min_selectivity_100", Workload(2, 100_000, 1_000, Top.LEAST), 12, 2),
    Measured("distinct", Workload(2, 100_000, 100_000, Top.DISTINCT, first_values=1_000), 100, 8),
    *(Measured(f"join_{ways}_way", Workload(ways, 10_000, 10_000), 100, 10) for ways in (2, 4, 6, 8)),
)


def operators_figures() -> Sequence[Figure]:
    """Run the benchmark."""
    for measured in MEASURED:  # compiles what is not compiled yet
        small = replace(measured.workload, window=1_000)
        elements_per_second(measured._replace(workload=small, batches=2, from_scratch=1))
    figures = [elements_per_second(measured) for measured in MEASURED]
    return [*figures, *push_figures(), *many_queries_figures(), *scanner_figures()]


def elements_per_second(measured: Measured) -> Figure:
    """How many elements a second a plan takes, every arrival evaluated."""
    workload, random = measured.workload, np.random.default_rng(7)
    incremental, scratch = Incremental(workload), Scratch(workload)
    at_ms = 0
    for size in _filling(workload):
        batch = workload.batch(random, at_ms, size)
        at_ms += size
        incremental.run(batch)
        scratch.receive(batch)
    scratch.run()
    ours, theirs = [], []
    in_a_row = measured.batches // measured.from_scratch
    for _ in range(measured.from_scratch):
        # All that is needed is made before: between batches that come one after another nobody empties the caches.
        batches = [workload.batch(random, at_ms + BATCH * at, BATCH) for at in range(in_a_row)]
        at_ms += BATCH * in_a_row
        ours += [_seconds(partial(incremental.run, batch)) for batch in batches]
        for batch in batches:
            scratch.receive(batch)
        theirs.append(_seconds(scratch.run))
    return Figure(
        f"{measured.name}_elements_per_second",
        BATCH / median(ours),
        "elements/s",
        Baseline(SCRATCH, BATCH / median(theirs)),
    )


def _filling(workload: Workload) -> list[int]:
    """The sizes of the batches that fill all windows, and have rows leave them, before anything is timed."""
    size = min(_FILL_BATCH, workload.window)
    return [size] * -(-workload.patterns * workload.window * 11 // (10 * size))


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
