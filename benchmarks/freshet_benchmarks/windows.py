"""`freshet bench windows`: joins of two live streams in windows, beside the figures of the Dynamic Windows thesis.

The thesis's workloads (`bench/ndw_streams.py`) go twice through a join on the driver, as `freshet run` runs it where
Spark is local (`bench/window_replay.py`). Once in ticks of event time, as fast as it goes, for every window:
completeness is the intersection over the union of the pairs that were found and those of the bounded join. And once
in real time, for the windows that the thesis compares: the latency of a pair is from the arrival of its later record
to the triple on the driver, and has the wait for the next micro-batch in it. What waits is counted after every tenth
of a second of event time by the same code without Spark, as a micro-batch says only what waits at its end; what those
say is beside it. The dynamic window goes in real time once more with records from a Kafka broker instead of files.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from freshet.rml.windows import JoinWindow, WindowKind, default_window
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.local_servers import KafkaBroker
from freshet_benchmarks.ndw_streams import Ids, Streams, bounded_pairs, burst_streams, constant_streams
from freshet_benchmarks.window_replay import Replayed, replay, spark_for_replays, write_files
from freshet_benchmarks.window_ticks import Waiting, waiting_records

THESIS = "the thesis"
RETRY_SECONDS = (5, 20)
PACED_MS = 100  # of a file that comes in its time
WARMING_SECONDS = 30  # of a run in real time, in which plans are made, code is compiled and processes start

WINDOWS = {
    "tumbling": JoinWindow(WindowKind.TUMBLING, size=2_000),
    "sliding": JoinWindow(WindowKind.SLIDING, size=5_000),
    "dynamic": default_window(WindowKind.DYNAMIC),
    "dynamic_waits": JoinWindow(WindowKind.DYNAMIC, policy="freshet.rml.sizing:waits"),
    "dynamic_count": default_window(WindowKind.DYNAMIC_COUNT),
    "lossless": default_window(WindowKind.LOSSLESS),
}
PACED = ("tumbling", "sliding", "dynamic")
BY_KAFKA = ("dynamic",)

# Tables 8.1 and 8.2; sections 8.1 and 8.2 (the latency of bursts is given as a range only).
COMPLETENESS = {"constant": {"tumbling": 0.749, "dynamic": 1.0}, "bursts": {"tumbling": 0.780, "dynamic": 0.982}}
LATENCY_MS: dict[str, dict[str, tuple[int, int | None, int]]] = {
    "constant": {"tumbling": (1_081, 1_915, 2_624), "dynamic": (39, 57, 120)},
    "bursts": {"tumbling": (891, None, 3_904), "dynamic": (8, None, 1_669)},
}


@dataclass(frozen=True, slots=True)
class Workload:
    """Streams: how much of them is joined, in ticks of which length, and how much in real time."""

    name: str
    make: Callable[[int], Streams]
    seconds: int
    tick_ms: int
    paced_seconds: int


WORKLOADS = (
    Workload("constant", constant_streams, 20, 2_000, 50),
    Workload("bursts", burst_streams, 122, 5_000, 72),
)


def windows_figures(workloads: Sequence[Workload] = WORKLOADS) -> Sequence[Figure]:
    """Run the benchmark."""
    figures: list[Figure] = []
    with ExitStack() as closing:
        home = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="freshet-windows-")))
        spark = closing.enter_context(spark_for_replays())
        broker = closing.enter_context(_kafka(spark, home / "kafka"))
        for workload in workloads:
            figures += _in_ticks(spark, workload, home)
        for workload in workloads:  # after all that, everything is compiled
            figures += _in_real_time(spark, workload, home, broker)
    return figures


@contextmanager
def _kafka(spark: Any, folder: Path) -> Iterator[KafkaBroker]:
    """A broker that runs, and a Spark that can read it."""
    from freshet.spark.live.connector import add_connector

    folder.mkdir()
    broker = KafkaBroker(folder)
    add_connector(spark)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def _in_ticks(spark: Any, workload: Workload, folder: Path) -> list[Figure]:
    streams = workload.make(workload.seconds)
    files = folder / workload.name
    write_files(streams, files, workload.tick_ms)
    wanted = bounded_pairs(streams)
    figures: list[Figure] = []
    for name, window in WINDOWS.items():
        found = patiently(partial(replay, spark, files, window))
        figures += _report_figures(
            [
                *found_figures(workload.name, name, completeness(found.pairs, wanted), found.late),
                *waiting_figures(workload.name, name, waiting_records(streams, window)),
            ]
        )
    return figures


def _in_real_time(spark: Any, workload: Workload, folder: Path, broker: KafkaBroker) -> list[Figure]:
    files = folder / f"{workload.name} in real time"
    streams = workload.make(workload.paced_seconds)
    write_files(streams, files, PACED_MS)
    figures: list[Figure] = []
    for name in PACED:
        found = patiently(partial(_paced, spark, files, WINDOWS[name]))
        figures += _report_figures(paced_figures(workload.name, name, found))
    wanted = bounded_pairs(streams)
    for name in BY_KAFKA:
        found = patiently(partial(_paced, spark, files, WINDOWS[name], broker))
        figures += _report_figures(
            [
                _figure(workload.name, f"{name}_kafka", "completeness", completeness(found.pairs, wanted), "share"),
                *paced_figures(workload.name, name, found, "_kafka"),
            ]
        )
    return figures


def _paced(spark: Any, files: Path, window: JoinWindow, broker: KafkaBroker | None = None) -> Replayed:
    warming_ms = 1_000 * WARMING_SECONDS
    return replay(spark, files, window, paced_ms=PACED_MS, warming_ms=warming_ms, broker=broker)


def patiently(run: Callable[[], Replayed]) -> Replayed:
    """Run a replay; once more where Spark could not start its Python processes in time, as others use the machine."""
    for wait in RETRY_SECONDS:
        try:
            return run()
        except RuntimeError as error:
            if "failed to connect back" not in str(error):
                raise
            time.sleep(wait)
    return run()


def _report_figures(figures: list[Figure]) -> list[Figure]:
    """Figures, each on standard error as soon as it is there: a run takes minutes, and may fail."""
    for figure in figures:
        print(f"{figure.name} {figure.value:.6g} {figure.unit}", file=sys.stderr, flush=True)
    return figures


def completeness(found: Ids, wanted: Ids) -> float:
    """Intersection over union; a pair that is given twice counts twice."""
    (found_pairs, found_often), (wanted_pairs, wanted_often) = (
        np.unique(pairs, return_counts=True) for pairs in (found, wanted)
    )
    both, here, there = np.intersect1d(found_pairs, wanted_pairs, return_indices=True)
    common = int(np.minimum(found_often[here], wanted_often[there]).sum()) if len(both) else 0
    return common / max(len(found) + len(wanted) - common, 1)


def found_figures(workload: str, name: str, found: float, late: int) -> list[Figure]:
    """How much of the pairs a window finds."""
    return [
        _figure(workload, name, "completeness", found, "share", COMPLETENESS[workload].get(name)),
        _figure(workload, name, "late", late, "records"),
    ]


def waiting_figures(workload: str, name: str, waiting: Waiting) -> list[Figure]:
    """What waits, tenth of a second by tenth of a second."""
    return [
        _figure(workload, name, "waiting_mean", waiting.records.mean(), "records"),
        _figure(workload, name, "waiting_most", waiting.records.max(), "records"),
        _figure(workload, name, "at_hand_mean", waiting.at_hand.mean(), "records"),
    ]


def paced_figures(workload: str, window: str, done: Replayed, source: str = "") -> list[Figure]:
    """How long pairs take in real time, and what waits after each micro-batch. The name of another source than files is
    part of the figures' names."""
    least, median, most = LATENCY_MS[workload].get(window, (None, None, None))
    name = window + source
    return [
        _figure(workload, name, "latency_median", np.median(done.latencies_ms), "ms", median),
        _figure(workload, name, "latency_p99", np.percentile(done.latencies_ms, 99), "ms"),
        _figure(workload, name, "latency_least", done.latencies_ms.min(), "ms", least),
        _figure(workload, name, "latency_most", done.latencies_ms.max(), "ms", most),
        _figure(workload, name, "micro_batch_median", np.median(done.batches_ms), "ms"),
        _figure(workload, name, "store_waiting_mean", done.waiting.mean(), "records"),
        _figure(workload, name, "store_waiting_most", done.waiting.max(), "records"),
        _figure(workload, name, "state_mean", done.state_bytes.mean(), "bytes"),
    ]


def _figure(workload: str, name: str, what: str, value: float, unit: str, thesis: float | None = None) -> Figure:
    baseline = None if thesis is None else Baseline(THESIS, thesis)
    return Figure(f"{workload}_{name}_{what}", float(value), unit, baseline)
