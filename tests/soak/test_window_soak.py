"""An hour of bursts through the windows of a join, in minutes: what waits and what the process takes stay flat.

FRESHET_SOAK_MINUTES says how much time is simulated in the process (five minutes unless told), and FRESHET_SOAK=spark
that some of it goes through Spark as well. Each stretch of a minute has six bursts of 38,000 records.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from freshet.bench.ndw_streams import START_MS, burst_streams
from freshet.bench.window_ticks import ticks
from freshet.bench.windows import write_ticks
from freshet.rml.window_bytes import state_of, values_of
from freshet.rml.window_state import WindowState
from freshet.rml.windows import JoinWindow, WindowKind, default_window

MINUTES = int(os.environ.get("FRESHET_SOAK_MINUTES", "5"))
STRETCH_SECONDS = 62


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


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
def test_state_stays_flat_in_the_state_store() -> None:
    """Three minutes of bursts through Spark, the state of each micro-batch as Spark tells it."""
    from freshet.bench.ndw_streams import KEY, Streams
    from freshet.spark.session import spark_session
    from freshet.spark.window_join import METRICS, window_join

    spark = spark_session({"spark.sql.streaming.numRecentProgressUpdates": "10000"}, master="local[2]")
    with tempfile.TemporaryDirectory() as folder:
        count = write_ticks(burst_streams(183), Path(folder), 2_550)
        flow, speed = (
            spark.readStream.schema(spark.read.parquet(f"{folder}/{topic}").schema)
            .option("maxFilesPerTrigger", 1)
            .parquet(f"{folder}/{topic}")
            for topic in Streams._fields
        )
        window = default_window(WindowKind.DYNAMIC)
        joined = window_join(flow, speed, child_key=KEY, parent_key=KEY, time="time", window=window, lateness_ms=0)
        writer = joined.writeStream.foreachBatch(lambda batch, _: batch.toArrow())
        query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
        query.awaitTermination()
        progress = [each for each in query.recentProgress if each["numInputRows"]]
    spark.stop()
    assert len(progress) == count
    stored = np.array([each["observedMetrics"][METRICS].state_bytes for each in progress])
    waiting = [each["observedMetrics"][METRICS].waiting_records for each in progress]
    third = count // 3
    # Ticks end in other moments of each burst, so it is between the bursts that what is held must be the same again.
    assert np.median(stored[-third:]) <= 1.1 * np.median(stored[:third])
    assert max(waiting) <= 38_000 + 1_000
    assert {each["stateOperators"][0]["numRowsTotal"] for each in progress} == {8}  # a row a bucket, whatever comes
