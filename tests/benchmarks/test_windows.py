"""What `freshet bench windows` relies on: streams of the shape that is promised, figures that mean what they say."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow.compute as pc
import pytest

from freshet.rml.windows import JoinWindow
from freshet.spark.live.connector import add_connector
from freshet_benchmarks.ndw_streams import (
    START_MS,
    Streams,
    bounded_pairs,
    burst_streams,
    constant_streams,
    pair_numbers,
)
from freshet_benchmarks.window_replay import Replayed, replay, write_files
from freshet_benchmarks.window_ticks import ticks, waiting_records
from freshet_benchmarks.windows import (
    PACED,
    WINDOWS,
    completeness,
    found_figures,
    paced_figures,
    patiently,
    waiting_figures,
)
from freshet_benchmarks.windows_plot import plot
from shared_data import shared


def found_by(streams: Streams, window: JoinWindow) -> float:
    steps = [tick.step for tick in ticks(streams, window, 500)]
    found = [pair_numbers(step.children["number"], step.parents["number"]) for step in steps]
    return completeness(np.concatenate(found), bounded_pairs(streams))


def test_the_constant_stream_has_400_records_a_second() -> None:
    flow, speed = constant_streams(10)
    assert len(flow) == len(speed) == 2_000
    times = np.concatenate((flow["time"].to_numpy(), speed["time"].to_numpy())) - START_MS
    middle = np.bincount(times // 1_000)[2:9]
    assert middle.min() > 350
    assert middle.max() < 450
    assert flow["time"].to_pylist() == sorted(flow["time"].to_pylist())


def test_a_burst_has_38_000_records_each_topic_within_175_ms() -> None:
    flow, speed = burst_streams(12)
    for topic in (flow, speed):
        per_175_ms = np.bincount((topic["time"].to_numpy() - START_MS) // 175)
        assert np.sort(per_175_ms)[-2:].sum() > 18_500
    assert len(flow) == 2 * 19_000 + 12 * 200


def test_records_look_like_those_of_the_published_files() -> None:
    first = next((shared("data/ndw") / "data" / "time1").iterdir()).read_text().splitlines()[:2]
    flow, speed = (json.loads(line.split("= ", 1)[1]) for line in first)
    ours = constant_streams(1)
    added = {"internalId", "time", "number"}  # the first is the key beside the published record
    assert set(flow) == set(ours.flow.column_names) - added
    assert set(speed) == set(ours.speed.column_names) - added


def test_windows_find_what_the_thesis_says_and_more_with_less_state() -> None:
    streams = constant_streams(10)
    tumbling, dynamic = WINDOWS["tumbling"], WINDOWS["dynamic"]
    assert found_by(streams, tumbling) == pytest.approx(0.749, abs=0.03)
    assert found_by(streams, dynamic) == 1
    assert found_by(streams, WINDOWS["lossless"]) == 1
    assert waiting_records(streams, dynamic).records.mean() < waiting_records(streams, tumbling).records.mean()
    cold = waiting_records(streams, WINDOWS["lossless"])
    assert cold.at_hand.mean() < 0.3 * cold.records.mean()


def test_completeness_is_intersection_over_union() -> None:
    def numbers(*each: int) -> np.ndarray:
        return np.array(each, np.int64)

    assert completeness(numbers(1, 2, 3), numbers(1, 2, 3)) == 1
    assert completeness(numbers(1, 2, 9), numbers(1, 2, 3)) == 2 / 4
    assert completeness(numbers(1, 1), numbers(1)) == 1 / 2
    assert completeness(numbers(), numbers(1)) == 0


def test_ticks_are_files_in_order(tmp_path: Path) -> None:
    streams = constant_streams(3)
    count = write_files(streams, tmp_path, 500)
    for name, topic in zip(Streams._fields, streams, strict=True):
        files = sorted((tmp_path / name).iterdir(), key=lambda file: file.stat().st_mtime)
        assert [file.stem for file in files] == [f"{number:06}" for number in range(count)]
        records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert [each["number"] for each in records] == topic["number"].to_pylist()
        assert records[0]["lat"] == float(topic["lat"][0].as_py())


@pytest.mark.slow
def test_a_replay_through_spark_finds_what_the_window_finds(spark, tmp_path: Path) -> None:
    streams, window = constant_streams(4), WINDOWS["tumbling"]
    wanted = [pair_numbers(step.children["number"], step.parents["number"]) for _, step in ticks(streams, window, 500)]
    write_files(streams, tmp_path / "in ticks", 2_000)
    done = replay(spark, tmp_path / "in ticks", window)
    assert np.sort(done.pairs).tolist() == np.sort(np.concatenate(wanted)).tolist()
    assert len(done.batches_ms) == 3
    assert done.late == 0
    assert 0 < done.waiting.max() < 2 * len(streams.flow)
    write_files(streams, tmp_path / "in time", 500)
    live = replay(spark, tmp_path / "in time", window, paced_ms=500, warming_ms=3_000)
    assert np.sort(live.pairs).tolist() == np.sort(done.pairs).tolist()
    assert 0 < len(live.latencies_ms) < len(live.pairs), "the first seconds do not count"
    assert live.latencies_ms.min() > 0


@pytest.mark.slow
def test_a_replay_through_kafka_finds_the_same(spark, kafka, tmp_path: Path) -> None:
    add_connector(spark)
    streams = constant_streams(2)
    write_files(streams, tmp_path / "in time", 500)
    live = replay(spark, tmp_path / "in time", WINDOWS["sliding"], paced_ms=500, broker=kafka)
    assert np.sort(live.pairs).tolist() == np.sort(bounded_pairs(streams)).tolist()
    assert len(live.latencies_ms) == len(live.pairs)


def test_a_replay_that_spark_could_not_start_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freshet_benchmarks.windows.RETRY_SECONDS", (0, 0))
    some = np.array([1])
    ends = ["Python worker failed to connect back.", Replayed(some, some, some, some, some, 0), "no space left"]
    runs = []

    def run() -> Replayed:
        end = ends[len(runs)]
        runs.append(end)
        if isinstance(end, str):
            raise RuntimeError(end)
        return end

    assert patiently(run) is ends[1]
    with pytest.raises(RuntimeError, match="no space left"):
        patiently(run)
    assert len(runs) == 3


def test_figures_have_the_baselines_of_the_thesis_and_a_picture() -> None:
    streams = constant_streams(5)
    figures = []
    some = np.array([100, 200])
    for workload in ("constant", "bursts"):
        for name in WINDOWS:
            figures += found_figures(workload, name, 0.5, 3)
            figures += waiting_figures(workload, name, waiting_records(streams, WINDOWS["sliding"], 500))
        for name in PACED:
            done = Replayed(some, np.array([10, 20, 60]), some, some, some, 0)
            figures += paced_figures(workload, name, done)
        figures += paced_figures(workload, "dynamic", done, "_kafka")
    named = {figure.name: figure for figure in figures}
    assert len(named) == len(figures)
    assert named["bursts_dynamic_completeness"].baseline.value == 0.982
    assert named["constant_tumbling_latency_median"].baseline.value == 1_915
    assert named["constant_dynamic_kafka_latency_median"].baseline.value == 57
    assert named["constant_sliding_latency_median"].value == 20
    assert named["constant_sliding_latency_p99"].value == pytest.approx(59.2)
    assert named["constant_sliding_completeness"].baseline is None
    picture = plot({name: figure.value for name, figure in named.items()}, list(WINDOWS), ["constant", "bursts"])
    bars = ElementTree.fromstring(picture).findall("{http://www.w3.org/2000/svg}rect")
    assert len(bars) == 4 * len(WINDOWS)


def test_both_topics_have_the_same_keys() -> None:
    streams = constant_streams(3)
    assert len(bounded_pairs(streams)) == len(streams.flow)
    assert pc.count_distinct(streams.flow["timestamp"]).as_py() in (3, 4)
