from __future__ import annotations

import threading

import pytest

from freshet.runtime.metrics import KEPT_ROWS, Metrics, Reservoir, percentiles


class ManualClock:
    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def test_batches_add_up() -> None:
    metrics = Metrics(["traffic", "parking"])
    metrics.batch("traffic", records=10, rejected=1, late=2, watermark_ms=5_000, seconds=0.5)
    metrics.batch("traffic", records=5, watermark_ms=4_000, seconds=0.25)
    metrics.batch("parking", records=1)
    snapshot = metrics.snapshot()
    traffic = snapshot.streams["traffic"]
    assert (traffic.records, traffic.rejected, traffic.late, traffic.batches) == (15, 1, 2, 2)
    assert traffic.watermark_ms == 5_000, "a watermark does not go back"
    assert traffic.last_batch_seconds == 0.25
    assert snapshot.streams["parking"].watermark_ms is None
    assert (snapshot.records, snapshot.rejected, snapshot.late, snapshot.batches) == (16, 1, 2, 3)


def test_a_watermark_may_be_below_nought() -> None:
    metrics = Metrics()
    metrics.batch("s", records=1, watermark_ms=-10)
    metrics.batch("s", records=1, watermark_ms=0)
    metrics.batch("s", records=1, watermark_ms=-5)
    assert metrics.snapshot().streams["s"].watermark_ms == 0


def test_the_last_report_is_kept() -> None:
    wall = ManualClock()
    metrics = Metrics(queries=["q"], wall=wall)
    rows = [(f"road {number}",) for number in range(KEPT_ROWS + 5)]
    metrics.report("q", time_ms=1_000, variables=["road"], rows=len(rows), first_rows=iter(rows), latency_ms=0)
    wall.now = 1.0
    metrics.report("q", time_ms=2_000, variables=["road"], rows=1, first_rows=[("a",)], latency_ms=30)
    query = metrics.snapshot().queries["q"]
    assert (query.reports, query.rows) == (2, len(rows) + 1)
    assert (query.last_time_ms, query.last_rows, query.last_row_count) == (2_000, (("a",),), 1)
    assert sorted(query.latencies_ms.values()) == [0, 30]


def test_data_from_before_the_first_report_has_no_latency() -> None:
    clock, wall = ManualClock(100.0), ManualClock(1_000.0)
    metrics = Metrics(clock=clock, wall=wall)
    clock.now, wall.now = 108.0, 1_008.0
    metrics.report("q", time_ms=1, rows=1, latency_ms=8_000, earlier=1, earlier_rows=1)
    metrics.report("r", time_ms=1, rows=1, latency_ms=7_900)
    clock.now, wall.now = 110.0, 1_010.0
    metrics.report("q", time_ms=2, rows=1, latency_ms=2_001)
    metrics.report("q", time_ms=3, rows=1, latency_ms=2_000)
    snapshot = metrics.snapshot()
    assert snapshot.latencies_ms == [2_000]
    assert (snapshot.reports, snapshot.backlog, snapshot.first_report_seconds) == (5, 4, 8.0)


def test_no_more_rows_than_fit_are_kept() -> None:
    metrics = Metrics()
    metrics.report("q", time_ms=1, rows=100, first_rows=[("x",)] * 100)
    query = metrics.snapshot().queries["q"]
    assert (len(query.last_rows), query.last_row_count) == (KEPT_ROWS, 100)


def test_a_snapshot_does_not_change() -> None:
    metrics = Metrics()
    metrics.batch("s", records=1)
    metrics.report("q", time_ms=1, rows=1, latency_ms=0)
    before = metrics.snapshot()
    metrics.batch("s", records=1)
    metrics.report("q", time_ms=2, rows=1, latency_ms=0)
    assert (before.records, before.reports, before.latencies_ms) == (1, 1, [0])


def test_time_runs_from_the_first_batch_and_counts_it() -> None:
    clock = ManualClock(100.0)
    metrics = Metrics(["s"], clock=clock)
    clock.now = 108.0  # Spark has started
    metrics.batch("s", records=1, seconds=2.0)
    clock.now = 110.0
    metrics.batch("s", records=1, seconds=1.0)
    clock.now = 115.0
    snapshot = metrics.snapshot()
    assert (snapshot.elapsed_seconds, snapshot.active_seconds) == (9.0, 4.0)


def test_threads_lose_nothing() -> None:
    metrics = Metrics()

    def work() -> None:
        for _ in range(2_000):
            metrics.batch("s", records=1)
            metrics.report("q", time_ms=1, rows=2, latency_ms=1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    snapshot = metrics.snapshot()
    assert (snapshot.records, snapshot.reports, snapshot.rows) == (8_000, 8_000, 16_000)


def test_a_reservoir_is_a_fair_sample() -> None:
    reservoir = Reservoir(size=500)
    for value in range(50_000):
        reservoir.add(float(value))
    sample = reservoir.values()
    assert (len(sample), reservoir.count) == (500, 50_000)
    found = percentiles(sample, 50)
    assert found is not None
    assert found[0] == pytest.approx(25_000, rel=0.15)


def test_percentiles_of_nothing() -> None:
    assert percentiles([], 50, 99) is None
