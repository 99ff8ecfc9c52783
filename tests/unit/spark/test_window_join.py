"""Windowed joins through Spark: the pairs of the naive twin, distinct keys, what is counted, and a killed driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import naive_joins
from freshet.rdf.errors import InputError
from freshet.rml.windows import JoinWindow, WindowKind
from freshet.spark.buckets import even_buckets, spark_hash
from freshet.spark.window_join import METRICS, window_join
from naive_joins import CHILD, PARENT, Record, apart, cut, random_records

SIDES = {CHILD: "child", PARENT: "parent"}
COLUMNS = "key STRING, more STRING, name STRING, time BIGINT"
KILLED_AT = 2


def write_batches(folder: Path, batches: list[list[dict[str, object]]], side: str) -> None:
    """A file a batch, in the order of their modification times."""
    (folder / side).mkdir(parents=True)
    for number, rows in enumerate(batches):
        path = folder / side / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_000_000_000 + number,) * 2)


def write_records(folder: Path, batches: list[list[Record]]) -> None:
    for side, name in SIDES.items():
        rows = [
            [
                {"key": record.key, "more": "m", "name": record.name, "time": record.time}
                for record in batch
                if record.side == side
            ]
            for batch in batches
        ]
        write_batches(folder, rows, name)


def joined(spark: SparkSession, folder: Path, window: JoinWindow, lateness: int = 0) -> DataFrame:
    child, parent = (
        spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder / side))
        for side in SIDES.values()
    )
    keys = ["key", "more"]
    return window_join(
        child, parent, child_key=keys, parent_key=keys, time="time", window=window, lateness_ms=lateness, buckets=3
    )


def run(frame: DataFrame, folder: Path, take: Callable[[DataFrame, int], None]) -> StreamingQuery:
    """To the end of the input. On a busy machine Spark may take too long to start a Python process of its own."""
    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / "checkpoint"))
    for last in (False, False, False, True):
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
            break
        except StreamingQueryException as error:
            if last or "failed to connect back" not in str(error):
                raise
    return query


def write_pairs(folder: Path) -> Callable[[DataFrame, int], None]:
    """Each batch's pairs in a file of its own, so that a batch that is repeated replaces what it wrote."""

    def take(batch: DataFrame, number: int) -> None:
        table: pa.Table = batch.toArrow()
        target = folder / "pairs" / f"{number}.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(table.to_pylist()))

    return take


def read_pairs(folder: Path) -> Counter[tuple[str, str]]:
    rows = [row for path in sorted((folder / "pairs").glob("*.json")) for row in json.loads(path.read_text())]
    for row in rows:
        assert row["time"] == max(row["child time"], row["parent time"])
        assert row["child key"] == row["parent key"]
    return Counter((row["child name"], row["parent name"]) for row in rows)


def some_batches(
    seed: int, at_least: int, cut: Callable[[Random, list[Record]], list[list[Record]]] = cut
) -> list[list[Record]]:
    random = Random(seed)
    while True:
        batches = cut(random, random_records(random, disorder=20))
        if len(batches) >= at_least and sum(map(len, batches)) > 60:
            return batches[:8]


@pytest.mark.parametrize(
    "window",
    [
        pytest.param(JoinWindow(WindowKind.SLIDING, size=25), marks=pytest.mark.slow),
        JoinWindow(WindowKind.DYNAMIC, size=16, lower=3, upper=60),
        pytest.param(JoinWindow(WindowKind.LOSSLESS, size=10, lower=3, upper=25), marks=pytest.mark.slow),
    ],
    ids=lambda window: window.kind,
)
def test_spark_finds_the_pairs_of_the_twin(spark: SparkSession, tmp_path: Path, window: JoinWindow) -> None:
    batches = some_batches(5, at_least=4, cut=apart)
    write_records(tmp_path, batches)
    query = run(joined(spark, tmp_path, window, lateness=10), tmp_path, write_pairs(tmp_path))
    expected = naive_joins.in_batches(batches, window, 10)
    assert expected.pairs.total() > 20
    assert read_pairs(tmp_path) == expected.pairs
    assert sum(progress["observedMetrics"][METRICS].late for progress in query.recentProgress) == expected.late


def test_keys_are_told_apart_and_what_cannot_be_joined_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    def row(key: str | None, more: str, name: str, time: int | None) -> dict[str, object]:
        return {"key": key, "more": more, "name": name, "time": time}

    late_and_timeless = [row("a", "bc", "c7", 100), row("a", "bc", "c8", None), row("y", "y", "c9", 1_500)]
    write_batches(
        tmp_path,
        [[row("a", "bc", "c1", 1_000), row(None, "x", "c2", 1_000), row("1:a", "b", "c3", 1_000)], late_and_timeless],
        "child",
    )
    parents = [row("ab", "c", "p1", 1_001), row("a", "bc", "p2", 1_002), row(None, "x", "p3", 1_000)]
    write_batches(tmp_path, [[*parents, row("1", "a1:b", "p4", 1_000)], [row("z", "z", "p5", 1_500)]], "parent")
    query = run(joined(spark, tmp_path, JoinWindow(WindowKind.SLIDING, size=10)), tmp_path, write_pairs(tmp_path))
    assert read_pairs(tmp_path) == Counter({("c1", "p2"): 1})
    metrics = [progress["observedMetrics"][METRICS] for progress in query.recentProgress]
    assert [(each.late, each.untimed) for each in metrics] == [(0, 0), (1, 1)]
    assert [(each.children, each.parents, each.keyless, each.pairs) for each in metrics] == [(2, 3, 2, 1), (2, 1, 0, 0)]
    assert [each.waiting_records for each in metrics] == [5, 2]
    assert all(each.state_bytes > 0 for each in metrics)


def killed_run(folder: Path) -> None:
    """What the process that is killed does: joins, and dies in the middle of a batch."""
    from freshet.spark.session import spark_session

    session = spark_session({"spark.driver.memory": "1g"}, master="local[2]")
    write = write_pairs(folder)

    def take(batch: DataFrame, number: int) -> None:
        write(batch, number)
        if number == KILLED_AT:
            os.kill(os.getpid(), signal.SIGKILL)

    run(joined(session, folder, JoinWindow(size=16, lower=3, upper=60)), folder, take)


@pytest.mark.slow
def test_a_killed_driver_loses_and_repeats_nothing(spark: SparkSession, tmp_path: Path) -> None:
    batches = some_batches(11, at_least=6)
    write_records(tmp_path, batches)
    here = Path(__file__).resolve()
    paths = os.pathsep.join([str(here.parent), *sys.path])
    program = f"import test_window_join as t, pathlib; t.killed_run(pathlib.Path({str(tmp_path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2_000:]
    assert len(list((tmp_path / "pairs").iterdir())) == KILLED_AT + 1
    window = JoinWindow(size=16, lower=3, upper=60)
    run(joined(spark, tmp_path, window), tmp_path, write_pairs(tmp_path))
    expected = naive_joins.in_batches(batches, window, 0)
    assert expected.pairs.total() > 20
    assert read_pairs(tmp_path) == expected.pairs


def test_joins_that_make_no_sense(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "child").mkdir()
    frame = spark.readStream.schema(COLUMNS).json(str(tmp_path / "child"))

    def join(child_key: list[str], parent_key: list[str], **others: object) -> DataFrame:
        given = {"time": "time", "window": JoinWindow(), "lateness_ms": 0, **others}
        return window_join(frame, frame, child_key=child_key, parent_key=parent_key, **given)  # type: ignore[arg-type]

    with pytest.raises(InputError, match="as many keys"):
        join(["key"], ["key", "more"])
    with pytest.raises(InputError, match="parent of the join has no column 'lane'"):
        join(["key"], ["lane"])
    with pytest.raises(InputError, match="no column 'when'"):
        join(["key"], ["key"], time="when")
    with pytest.raises(InputError, match="MODULE:NAME"):
        join(["key"], ["key"], window=JoinWindow(policy="mine"))


def test_buckets_are_dealt_out_evenly(spark: SparkSession) -> None:
    numbers = spark.range(200).select(F.hash(F.col("id").cast("int"))).toArrow().column(0).to_pylist()
    assert [spark_hash(number) for number in range(200)] == numbers
    for count, partitions in ((8, 2), (8, 3), (3, 8), (1, 1)):
        dealt = Counter(spark_hash(number) % partitions for number in even_buckets(count, partitions))
        assert sum(dealt.values()) == count
        assert max(dealt.values()) - min(dealt[each] for each in range(partitions)) <= 1
