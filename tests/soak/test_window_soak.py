"""An hour of bursts through the windows of a join, in minutes: what waits and what the process takes stay flat.

FRESHET_SOAK_MINUTES says how much time is simulated in the process (five minutes by default), and FRESHET_SOAK=spark
that some of it goes through Spark as well. Each stretch of a minute has six bursts of 38,000 records.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from freshet.rml.window_bytes import state_of, values_of
from freshet.rml.window_state import WindowState
from freshet.rml.windows import JoinWindow, WindowKind, default_window
from freshet_benchmarks.ndw_streams import START_MS, bounded_pairs, burst_streams
from freshet_benchmarks.window_replay import replay, spark_for_replays, write_files
from freshet_benchmarks.window_ticks import ticks
from freshet_benchmarks.windows import completeness

MINUTES = int(os.environ.get("FRESHET_SOAK_MINUTES", "5"))
STRETCH_SECONDS = 62
pytestmark = pytest.mark.timeout(900 + 60 * MINUTES)


def resident_bytes(process: int | str = "self") -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # it has just ended
        return 0


def stored_bytes(state: WindowState) -> int:
    return sum(len(value) for value in values_of(state) if isinstance(value, bytes))


@pytest.mark.parametrize(
    "window",
    [default_window(WindowKind.DYNAMIC), JoinWindow(policy="freshet.rml.sizing:waits")],
    ids=["dynamic", "waits"],
)
def test_state_and_memory_stay_flat(window: JoinWindow) -> None:
    stretches = max(60 * MINUTES // STRETCH_SECONDS, 3)
    state: WindowState | None = None
    most_waiting, most_stored, resident, found, late = [], [], [], 0, 0
    for stretch in range(stretches):
        start_ms = START_MS + 1_000 * (STRETCH_SECONDS + 2) * stretch
        streams = burst_streams(STRETCH_SECONDS, seed=stretch, start_ms=start_ms)
        waiting, stored = [], []
        for tick in ticks(streams, window, 500, state, start_ms):
            state = tick.state
            waiting.append(state.records + len(state.keys))
            stored.append(stored_bytes(state))
            found += len(tick.step.children)
            late += tick.step.late
        assert state is not None
        state = state_of(values_of(state))  # as a restart would find it
        most_waiting.append(max(waiting))
        most_stored.append(max(stored))
        del streams
        resident.append(resident_bytes())
    assert late == 0
    assert found > 0.97 * stretches * (6 * 19_000 + 200 * STRETCH_SECONDS)
    # Bursts are all of a size, so what the first stretches needed is what all need.
    assert max(most_waiting) <= 1.05 * np.median(most_waiting)
    assert max(most_stored) <= 1.05 * np.median(most_stored)
    assert resident[-1] <= max(resident[: 2 + stretches // 5]) * 1.1 + 50_000_000


@pytest.mark.skipif(os.environ.get("FRESHET_SOAK") != "spark", reason="takes minutes; FRESHET_SOAK=spark asks for it")
def test_state_and_memory_stay_flat_in_spark(tmp_path: Path) -> None:
    """Three minutes of bursts through Spark: the state of each micro-batch by Spark's reports, all its processes."""
    streams = burst_streams(183)
    count = write_files(streams, tmp_path / "files", 2_550)
    with spark_for_replays() as spark, MemorySamples(spark) as memory:
        done = replay(spark, tmp_path / "files", default_window(WindowKind.DYNAMIC))
    third = count // 3
    assert done.late == 0
    assert completeness(done.pairs, bounded_pairs(streams)) > 0.98
    # Ticks end in other moments of each burst, so it is between the bursts that what is held must be the same again.
    assert np.median(done.state_bytes[-third:]) <= 1.1 * np.median(done.state_bytes[:third])
    assert done.waiting.max() <= 38_000 + 1_000
    # While the first third runs, everything is loaded and compiled.
    for what, sizes in (("heap", memory.heaps), ("Python", memory.pythons)):
        part = len(sizes) // 3
        assert part >= 3, "too few samples"
        before, after = np.median(sizes[part : 2 * part]), np.median(sizes[-part:])
        assert after <= 1.1 * before + 30_000_000, f"{what}: {before / 1e6:.0f} MB, then {after / 1e6:.0f} MB"


class MemorySamples:
    """Every few seconds what is alive in the JVM's heap, and what all Python processes of the run hold."""

    def __init__(self, spark: Any) -> None:
        self.heaps: list[int] = []
        self.pythons: list[int] = []
        self._management = spark.sparkContext._jvm.java.lang.management.ManagementFactory
        self._system = spark.sparkContext._jvm.java.lang.System
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stopped.wait(4):
            self._system.gc()
            self.heaps.append(self._management.getMemoryMXBean().getHeapMemoryUsage().getUsed())
            self.pythons.append(resident_bytes() + sum(map(resident_bytes, _python_children())))


def _python_children() -> list[int]:
    """The Python processes below this one: Spark's workers are children of a child of the JVM."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = status.read_text().rpartition(")")
            parents[int(status.parent.name)] = (name.partition("(")[2], int(rest.split()[1]))

    def is_below(process: int) -> bool:
        _, parent = parents.get(process, ("", 0))
        return parent == os.getpid() or (parent > 1 and is_below(parent))

    return [process for process, (name, _) in parents.items() if name.startswith("python") and is_below(process)]
