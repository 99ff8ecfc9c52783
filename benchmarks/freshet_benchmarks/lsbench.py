"""`freshet bench lsbench`: the workload of the Wukong+S paper on one machine.

A generated network is stored, the five streams of LSBench flow in batches of 100 ms at the paper's rates, and the
queries L1 to L6 and S1 to S6 are asked. Event time runs as fast as the engine allows, but where one-shot queries are
timed: there the streams flow in another thread in real time. The paper's numbers stand beside ours: those of L1 to L6
on one node of 24 cores with 118 million triples, the others on eight such nodes with 3.75 billion.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean, median
from typing import NamedTuple

import numpy as np

from freshet.rdf.triples import DEFAULT_GRAPH
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.lsbench_bytes import indexed_streams, stored_bytes
from freshet_benchmarks.lsbench_load import Mixed, mixed_load, sustained_multiple
from freshet_benchmarks.lsbench_oneshot import PHASES, OneShot, one_shot
from freshet_benchmarks.lsbench_play import SHORT, USUAL, BatchTimes, Length, Player, log_progress
from freshet_benchmarks.lsbench_queries import NAMES, SELECTIVE
from freshet_benchmarks.social_streams import RATE
from freshet_benchmarks.social_triples import network_of
from freshet_benchmarks.social_vocabulary import (
    GPS_STREAM,
    PHOTO_LIKE_STREAM,
    PHOTO_STREAM,
    POST_LIKE_STREAM,
    POST_STREAM,
)

TRIPLES = 10_000_000
SMALL_TRIPLES = 60_000
WARM_BATCHES = 20  # two windows
INDEXED_BATCHES = 10  # a window

# 118 million triples on 24 cores, and 3.75 billion on eight times as many.
ONE_NODE, EIGHT_NODES, WITHOUT_STREAMS = "Wukong+S", "Wukong+S, 8 nodes", "Wukong, 8 nodes"
LATENCIES_MS = {"L1": 0.13, "L2": 0.10, "L3": 0.13, "L4": 1.19, "L5": 2.89, "L6": 2.14}
INJECTION_MS = {
    POST_STREAM: ("post", 0.75),
    POST_LIKE_STREAM: ("post_like", 2.20),
    PHOTO_STREAM: ("photo", 0.67),
    PHOTO_LIKE_STREAM: ("photo_like", 0.37),
    GPS_STREAM: ("gps", 1.57),
}
ONE_SHOT_MS = {
    "off": {"S1": 4.04, "S2": 0.11, "S3": 0.19, "S4": 23.1, "S5": 0.26, "S6": 60.2},
    "streams": {"S1": 4.12, "S2": 0.12, "S3": 0.20, "S4": 24.1, "S5": 0.28, "S6": 61.8},
    "queries": {"S1": 4.31, "S2": 0.11, "S3": 0.21, "S4": 25.5, "S5": 0.29, "S6": 64.2},
}
MIXED_PER_SECOND, MIXED_ALL_PER_SECOND = 1_080_000, 802_000  # L1 to L3 (figure 14), L1 to L6 (figure 15)


class Alone(NamedTuple):
    """Seconds from a closed window to the answers of a query, for each batch, and how many rows a report has."""

    seconds: list[float]
    rows: float


def lsbench_figures(triples: int | None = None, rate: float | None = None) -> Sequence[Figure]:
    """Run the benchmark."""
    measured(Player(network_of(SMALL_TRIPLES), RATE / 4), SHORT)  # compiles what is not compiled yet
    log_progress("warm")
    return measured(Player(network_of(triples or TRIPLES), rate or RATE), USUAL)


def measured(player: Player, length: Length) -> Sequence[Figure]:
    """All figures of a session."""
    began = time.perf_counter()
    player.load()
    _sort(player)
    loading = time.perf_counter() - began
    alone = {name: _alone(player, name, length) for name in NAMES}
    together = _together(player, length)
    asked_once = one_shot(player, length)
    indexed = _stream_index_figures(player)
    stored = _bytes_figures(player)
    multiple = sustained_multiple(player, length)
    latencies = {name: median(run.seconds) for name, run in alone.items()}
    mixed = mixed_load(player, {name: latencies[name] for name in SELECTIVE}, length)
    mixed_all = mixed_load(player, latencies, length)
    return [
        *_latency_figures(alone),
        *_together_figures(together),
        Figure("sustained_multiple", multiple, "times the rate"),
        *_one_shot_figures(asked_once),
        *_mixed_figures("mixed", mixed, MIXED_PER_SECOND),
        *_mixed_figures("mixed_all", mixed_all, MIXED_ALL_PER_SECOND),
        *stored,
        *indexed,
        Figure("load_triples_per_second", player.triples / loading, "triples/s"),
        Figure("triples", player.triples, "triples"),
        Figure("rate", player.rate, "triples/s"),
        Figure("peak_memory_gb", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "GB"),
    ]


def _sort(player: Player) -> None:
    """Have all sorted orders made, which else the first queries would make."""
    graph = player.session.dataset().graph(DEFAULT_GRAPH)
    for pattern in ((1, 1, 0), (0, 1, 1), (1, 0, 0), (0, 0, 1)):
        graph.count(*pattern)
    log_progress("sorted")


def _alone(player: Player, name: str, length: Length) -> Alone:
    """The latency of a query that has the engine for itself: from when all streams are said to have come to the close
    of a window, until its report has come, or there is nothing to report."""
    seconds = []
    batches = player.batches(WARM_BATCHES + length.batches)
    with player.asking([name], answered=True) as reports:
        for batch in batches:
            seconds.append(player.play(batch).answers)
    found = reports[name]
    log_progress(f"{name} alone: {1000 * median(seconds[WARM_BATCHES:]):.3f} ms")
    return Alone(seconds[WARM_BATCHES:], found.rows / found.reports)


def _together(player: Player, length: Length) -> list[BatchTimes]:
    """The six queries at once."""
    batches = player.batches(WARM_BATCHES + length.batches)
    with player.asking(NAMES):
        times = [player.play(batch) for batch in batches][WARM_BATCHES:]
    log_progress(f"all six together: {1000 * median(each.answers for each in times):.3f} ms")
    return times


def _latency_figures(alone: Mapping[str, Alone]) -> Iterator[Figure]:
    medians = {name: 1000 * median(run.seconds) for name, run in alone.items()}
    for name, latency in medians.items():
        yield Figure(f"{name}_ms", latency, "ms", Baseline(ONE_NODE, LATENCIES_MS[name]))
    mean = Baseline(ONE_NODE, geometric_mean(LATENCIES_MS.values()))
    yield Figure("continuous_geometric_mean_ms", geometric_mean(medians.values()), "ms", mean)
    for name, run in alone.items():
        for part in (90, 99):
            yield Figure(f"{name}_p{part}_ms", 1000 * float(np.percentile(run.seconds, part)), "ms")
        yield Figure(f"{name}_rows", run.rows, "rows a report")


def _together_figures(times: Sequence[BatchTimes]) -> Iterator[Figure]:
    """Of the run with all six queries: their answers, and what taking in the batches costs."""
    answers = [1000 * each.answers for each in times]
    yield Figure("all_six_ms", median(answers), "ms")
    for part in (90, 99):
        yield Figure(f"all_six_p{part}_ms", float(np.percentile(answers, part)), "ms")
    for stream, (name, paper) in INJECTION_MS.items():
        injection = median(1000 * each.injection[stream] for each in times)
        yield Figure(f"inject_{name}_ms", injection, "ms a batch", Baseline(EIGHT_NODES, paper))
    whole = median(1000 * each.whole for each in times)
    yield Figure("batch_ms", whole, "ms of 100 ms")


def _one_shot_figures(found: OneShot) -> Iterator[Figure]:
    for phase in PHASES:
        suffix = "" if phase == "off" else f"_{phase}"
        system = WITHOUT_STREAMS if phase == "off" else EIGHT_NODES
        for name, seconds in found.medians(phase).items():
            yield Figure(f"{name}{suffix}_ms", 1000 * seconds, "ms", Baseline(system, ONE_SHOT_MS[phase][name]))
    for phase in PHASES[1:]:
        paper = geometric_mean([ONE_SHOT_MS[phase][name] / off for name, off in ONE_SHOT_MS["off"].items()])
        yield Figure(f"slowdown_{phase}", found.slowdown(phase), "times as long", Baseline(EIGHT_NODES, paper))
        yield Figure(f"slowdown_{phase}_mean", found.mean_slowdown(phase), "times as long, by means")
    yield Figure("streams_behind_ms", 1000 * found.behind, "ms late at most while one-shot queries are asked")


def _mixed_figures(name: str, mixed: Mixed, paper: float) -> Iterator[Figure]:
    baseline = Baseline(EIGHT_NODES, paper)
    yield Figure(f"{name}_executions_per_second", mixed.executions_per_second, "executions/s", baseline)
    yield Figure(f"{name}_queries", mixed.queries, "queries")
    yield Figure(f"{name}_saturated", float(mixed.saturated), "1: more were too many, 0: there was no time to register")
    yield Figure(f"{name}_batch_ms", 1000 * mixed.batch_seconds, "ms of 100 ms")
    yield Figure(f"{name}_register_ms", 1000 * mixed.register_seconds, "ms a query")


def _bytes_figures(player: Player) -> Iterator[Figure]:
    session = player.session
    count = len(session.dataset().graph(DEFAULT_GRAPH))
    stored = stored_bytes(session.stored)
    yield Figure("stored_triples", count, "triples with what was absorbed")
    for name, size in stored.items():
        yield Figure(f"{name}_bytes_per_triple", size / count, "bytes")
    yield Figure("store_bytes_per_triple", sum(stored.values()) / count, "bytes")
    yield Figure("dictionary_bytes_per_triple", session.dictionary.nbytes / count, "bytes")


def _stream_index_figures(player: Player) -> list[Figure]:
    batches = player.batches(INDEXED_BATCHES)
    streams = indexed_streams(batches)
    for batch in batches:
        player.play(batch)
    share = streams.index_bytes / streams.row_bytes
    return [
        Figure("stream_index_bytes_per_row", streams.index_bytes / streams.rows, "bytes"),
        Figure("stream_index_share", share, "of what the rows take"),
    ]
