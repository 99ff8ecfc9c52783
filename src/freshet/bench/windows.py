"""`freshet bench windows`: joins of two live streams in windows, beside the figures of the thesis (seed 002).

The thesis's workloads (`bench/ndw_streams.py`) are replayed in event time through Spark's stateful join: a file a topic
and tick, a tick a micro-batch. Completeness is the intersection over the union of the pairs that were found and those
of the bounded join. A pair's latency is from the arrival of its later record to the end of the micro-batch that gave
it: the wait for the tick, the micro-batches that were still running, and its own; the first few micro-batches, in which
everything is compiled, are left out. What waits is counted after every tenth of a second of event time by the same
code without Spark, as a micro-batch says only what waits at its end; the bytes in the state store are those that the
micro-batches tell.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from freshet.bench.figures import Baseline, Figure
from freshet.bench.ndw_streams import (
    KEY,
    START_MS,
    Ids,
    Streams,
    bounded_pairs,
    burst_streams,
    constant_streams,
    pair_numbers,
)
from freshet.bench.window_ticks import Waiting, tick_cuts, waiting_records
from freshet.rml.windows import JoinWindow, WindowKind, default_window

THESIS = "the thesis"
WARMING_BATCHES = 3

WINDOWS = {
    "tumbling": JoinWindow(WindowKind.TUMBLING, size=2_000),
    "sliding": JoinWindow(WindowKind.SLIDING, size=5_000),
    "dynamic": default_window(WindowKind.DYNAMIC),
    "dynamic_waits": JoinWindow(WindowKind.DYNAMIC, policy="freshet.rml.sizing:waits"),
    "dynamic_count": default_window(WindowKind.DYNAMIC_COUNT),
    "lossless": default_window(WindowKind.LOSSLESS),
}

# Tables 8.1 and 8.2; sections 8.1 and 8.2 (the latency of bursts is given as a range only).
COMPLETENESS = {"constant": {"tumbling": 0.749, "dynamic": 1.0}, "bursts": {"tumbling": 0.780, "dynamic": 0.982}}
LATENCY_MS: dict[str, dict[str, tuple[int, int | None, int]]] = {
    "constant": {"tumbling": (1_081, 1_915, 2_624), "dynamic": (39, 57, 120)},
    "bursts": {"tumbling": (891, None, 3_904), "dynamic": (8, None, 1_669)},
}


@dataclass(frozen=True, slots=True)
class Workload:
    """Streams, and how much of their time a micro-batch has."""

    name: str
    make: Callable[[int], Streams]
    seconds: int
    tick_ms: int


WORKLOADS = (
    Workload("constant", constant_streams, 20, 500),
    Workload("bursts", burst_streams, 122, 1_000),
)


class Replayed(NamedTuple):
    """What a window did: the pairs it found, their latencies, and what the state store had after each micro-batch."""

    pairs: Ids
    latencies_ms: Ids
    state_bytes: Ids
    late: int


def windows_figures(workloads: Sequence[Workload] = WORKLOADS) -> Sequence[Figure]:
    """Run the benchmark."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="freshet-windows-") as folder, _spark() as spark:
        for workload in workloads:
            streams = workload.make(workload.seconds)
            place = Path(folder) / workload.name
            ticks = write_ticks(streams, place, workload.tick_ms)
            wanted = bounded_pairs(streams)
            for name, window in WINDOWS.items():
                done = replay(spark, place, window, workload.tick_ms, ticks, name)
                figures += _figures(workload.name, name, done, waiting_records(streams, window), wanted)
    return figures


@contextmanager
def _spark() -> Iterator[Any]:
    from freshet.spark.session import spark_session

    spark = spark_session({"spark.sql.streaming.numRecentProgressUpdates": "10000"}, master="local[2]")
    try:
        yield spark
    finally:
        spark.stop()


def write_ticks(streams: Streams, folder: Path, tick_ms: int) -> int:
    """A file a topic and tick, as many of the one as of the other; gives how many."""
    all_cuts = tick_cuts([topic["time"].to_numpy() for topic in streams], tick_ms)
    for name, topic, cuts in zip(Streams._fields, streams, all_cuts, strict=True):
        (folder / name).mkdir(parents=True)
        for number, (first, last) in enumerate(pairwise(cuts.tolist())):
            path = folder / name / f"{number:06}.parquet"
            pq.write_table(topic.slice(first, last - first), path)
            os.utime(path, (number, number))  # which is the order in which Spark takes files
    return len(all_cuts[0]) - 1


def replay(spark: Any, folder: Path, window: JoinWindow, tick_ms: int, ticks: int, name: str) -> Replayed:
    """Join the ticks in a folder, each topic's in the order of their names."""
    from freshet.spark.window_join import METRICS, window_join

    flow, speed = (
        spark.readStream.schema(spark.read.parquet(str(folder / topic)).schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / topic))
        for topic in Streams._fields
    )
    joined = window_join(flow, speed, child_key=KEY, parent_key=KEY, time="time", window=window, lateness_ms=0)
    taken: dict[int, pa.Table] = {}

    def take(batch: Any, number: int) -> None:
        taken[number] = batch.toArrow()

    writer = joined.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / f"checkpoint of {name}"))
    query = _run(writer)
    tables = [taken[number] for number in sorted(taken)]
    batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    if len(batches) != ticks or len(tables) != ticks:
        raise RuntimeError(f"{ticks} ticks were joined in {len(batches)} micro-batches")
    counted = [batch["observedMetrics"][METRICS] for batch in batches]
    seconds = np.array([batch["durationMs"]["triggerExecution"] for batch in batches], np.int64)
    found = pa.concat_tables(tables)
    return Replayed(
        pair_numbers(found["child number"], found["parent number"]),
        _latencies(tables, seconds, tick_ms),
        np.array([each.state_bytes for each in counted]),
        sum(each.late for each in counted),
    )


def _run(writer: Any) -> Any:
    """Run a query to the end of its input.

    Spark gives the Python process that looks at a stateful processor before the first batch ten seconds to start, which
    on a busy machine can be too few; as nothing was done yet, it can be tried again.
    """
    for attempt in range(4):
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
            return query
        except Exception as error:
            if attempt == 3 or "failed to connect back" not in str(error) or query.recentProgress:
                raise
    raise AssertionError("unreachable")


def _latencies(tables: Sequence[pa.Table], durations_ms: Ids, tick_ms: int) -> Ids:
    """How long pairs took, where a micro-batch starts when its tick is over and the one before it is done."""
    done, found = 0, []
    for number, (table, duration) in enumerate(zip(tables, durations_ms.tolist(), strict=True)):
        if number < WARMING_BATCHES:
            continue
        done = max(done, START_MS + (number + 1) * tick_ms) + duration
        found.append(done - table["time"].to_numpy())
    return np.concatenate(found)


def completeness(found: Ids, wanted: Ids) -> float:
    """Intersection over union; a pair that is given twice counts twice."""
    (found_pairs, found_often), (wanted_pairs, wanted_often) = (
        np.unique(pairs, return_counts=True) for pairs in (found, wanted)
    )
    both, here, there = np.intersect1d(found_pairs, wanted_pairs, return_indices=True)
    common = int(np.minimum(found_often[here], wanted_often[there]).sum()) if len(both) else 0
    return common / max(len(found) + len(wanted) - common, 1)


def _figures(workload: str, name: str, done: Replayed, waiting: Waiting, wanted: Ids) -> list[Figure]:
    def figure(what: str, value: float, unit: str, thesis: float | None = None) -> Figure:
        baseline = None if thesis is None else Baseline(THESIS, thesis)
        return Figure(f"{workload}_{name}_{what}", float(value), unit, baseline)

    least, median, most = LATENCY_MS[workload].get(name, (None, None, None))
    return [
        figure("completeness", completeness(done.pairs, wanted), "share", COMPLETENESS[workload].get(name)),
        figure("latency_median", np.median(done.latencies_ms), "ms", median),
        figure("latency_least", done.latencies_ms.min(), "ms", least),
        figure("latency_most", done.latencies_ms.max(), "ms", most),
        figure("waiting_mean", waiting.records.mean(), "records"),
        figure("waiting_most", waiting.records.max(), "records"),
        figure("at_hand_mean", waiting.at_hand.mean(), "records"),
        figure("state_mean", done.state_bytes.mean(), "bytes"),
        figure("late", done.late, "records"),
    ]
