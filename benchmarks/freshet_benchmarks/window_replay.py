"""Two streams through a windowed join as a pipeline runs it: files of JSON lines in, joined triples out.

The stream is compiled and run by the code of `freshet run` (`spark/stream.py`); its child are speeds, its parents
flows, and each pair of records becomes a triple of the thesis's mapping. Either the files are there from the beginning,
one of each topic a micro-batch, or each appears when its time has come on the clock and a micro-batch takes what there
is, as in a live stream. With a broker, the lines of files are sent to topics of Kafka instead.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Producer

from freshet.mapper.stream_join import JoinStep
from freshet.rdf.errors import FreshetError
from freshet.rml.functions import FUNCTIONS
from freshet.rml.mapping_slices import JoinSlice, slice_mapping
from freshet.rml.reader import read_mapping
from freshet.rml.sources import FolderSource, KafkaSource, StreamSource
from freshet.rml.stream_inputs import StreamInput
from freshet.rml.windows import JoinWindow
from freshet_benchmarks.local_servers import PATIENCE, KafkaBroker
from freshet_benchmarks.ndw_records import json_texts, mapping_text
from freshet_benchmarks.ndw_streams import START_MS, Ids, Streams, pair_numbers
from freshet_benchmarks.window_ticks import tick_cuts

_CHECK_EVERY = 10  # files


class Replayed(NamedTuple):
    """What a window did: the pairs it found and how long each took, and of each micro-batch how long it took, how many
    records and bytes waited after it; and how many records were late."""

    pairs: Ids
    latencies_ms: Ids
    batches_ms: Ids
    waiting: Ids
    state_bytes: Ids
    late: int


class _Taken(NamedTuple):
    """The triples of a micro-batch, when they were there (seconds), and what waits after it, where the driver knows."""

    done: float
    table: pa.Table
    after: _After | None


class _After(NamedTuple):
    waiting_records: int
    state_bytes: int
    late: int


@contextmanager
def spark_for_replays() -> Iterator[Any]:
    """A session that remembers how every micro-batch went."""
    from freshet.spark.session import spark_session

    spark = spark_session({"spark.sql.streaming.numRecentProgressUpdates": "10000"}, master="local[2]")
    try:
        yield spark
    finally:
        spark.stop()


def write_files(streams: Streams, folder: Path, tick_ms: int) -> int:
    """A file a topic and tick, as many of the one as of the other; gives how many."""
    all_cuts = tick_cuts([topic["time"].to_numpy() for topic in streams], tick_ms)
    for name, topic, cuts in zip(Streams._fields, streams, all_cuts, strict=True):
        (folder / name).mkdir(parents=True)
        lines = json_texts(topic, topic.column_names).to_pylist()
        for number, (first, last) in enumerate(pairwise(cuts.tolist())):
            path = folder / name / f"{number:06}.json"
            path.write_text("".join(f"{line}\n" for line in lines[first:last]))
            os.utime(path, (number, number))  # which is the order in which Spark takes files
    return len(all_cuts[0]) - 1


def replay(
    spark: Any,
    files: Path,
    window: JoinWindow,
    *,
    paced_ms: int | None = None,
    warming_ms: int = 0,
    join_here: bool = True,
    broker: KafkaBroker | None = None,
) -> Replayed:
    """Join what `write_files` has written. With `paced_ms` a file has that many milliseconds of
    records and comes in its time. `join_here`: on the driver, as pipelines do where Spark is local, or in Spark's state
    store. `broker`: records come as its messages.

    The pairs and micro-batches of the first `warming_ms` are not timed.
    """
    # Spark looks after a state store for a while after its query has ended, so no two may have one place.
    home = Path(tempfile.mkdtemp(prefix="replay-", dir=files.parent))
    live: _Live = _Folders(files, home / "in") if broker is None else _Topics(files, home.name, broker)
    names = sorted(path.name for path in (files / "flow").iterdir())
    taken: dict[int, _Taken] = {}
    stream = _stream(home, live, window, None if paced_ms else 1, join_here)

    def on_batch(name: str, number: int, table: pa.Table, **counts: Any) -> None:
        if counts["rejected"]:
            raise RuntimeError(f"{counts['rejected']} pairs make no triples")
        taken[number] = _Taken(time.time(), table, _after(counts["joined"]))

    if paced_ms is None:
        live.bring(names)
    running = stream.start(
        spark, on_batch, checkpoint=home / "k" / "s", rejects=home / "rejects", until_done=paced_ms is None
    )
    began = time.time()
    try:
        if paced_ms is not None:
            while running.activity() != "waits":
                running.check()
                time.sleep(0.05)
            began = time.time()
            _pace(live, names, paced_ms, began, running)
        running.drain()
        progress = [each for each in running.progress if each["numInputRows"]]
    finally:
        running.stop()
    if paced_ms is None and len(progress) != len(names):
        raise RuntimeError(f"{len(names)} files of each topic were joined in {len(progress)} micro-batches")
    batches = [taken[number] for number in sorted(taken)]
    return _replayed(batches, progress, began, warming_ms, stream.layout.triples[0])


def _after(step: JoinStep | None) -> _After | None:
    if step is None:
        return None
    tables = (step.state.children, step.state.parents, step.state.keys)
    return _After(step.counts.waiting, sum(table.nbytes for table in tables), step.counts.late)


def _stream(home: Path, live: _Live, window: JoinWindow, files_per_batch: int | None, join_here: bool) -> Any:
    from freshet.spark.stream import EncodedStream, StreamSpec

    path = home / "mapping.ttl"
    path.write_text(mapping_text(home, "$", join=True, numbered=True))
    (part,) = (part for part in slice_mapping(read_mapping(path, functions=FUNCTIONS)) if isinstance(part, JoinSlice))
    inputs = [
        StreamInput(live.source(topic), cut, "time", "epoch_ms", files_per_batch)
        for topic, cut in (("speed", part.child), ("flow", part.parent))
    ]
    return EncodedStream(StreamSpec("s", tuple(inputs), part, window=window, join_here=join_here))


class _Live(Protocol):
    """Where a stream reads records that come in their time."""

    def source(self, topic: str) -> StreamSource: ...

    def bring(self, names: list[str]) -> None:
        """Let the records of files come, of both topics."""


class _Folders:
    """A folder for each topic, in which files appear."""

    def __init__(self, files: Path, folder: Path) -> None:
        self._files, self._folder = files, folder
        for topic in Streams._fields:
            (folder / topic).mkdir(parents=True)

    def source(self, topic: str) -> StreamSource:
        return FolderSource(self._folder / topic)

    def bring(self, names: list[str]) -> None:
        for topic in Streams._fields:
            for name in names:
                os.link(self._files / topic / name, self._folder / topic / name)


class _Topics:
    """Topics of a broker, to which the lines of files are sent."""

    def __init__(self, files: Path, prefix: str, broker: KafkaBroker) -> None:
        self._files, self._address = files, broker.address
        self._topics = {topic: broker.topic(f"{prefix}-{topic}") for topic in Streams._fields}
        self._producer = Producer(
            {
                "bootstrap.servers": broker.address,
                "linger.ms": 0,
                "log_level": 0,
                "queue.buffering.max.messages": 1_000_000,
            }
        )

    def source(self, topic: str) -> StreamSource:
        return KafkaSource(self._address, self._topics[topic])

    def bring(self, names: list[str]) -> None:
        for topic, to in self._topics.items():
            for name in names:
                for line in (self._files / topic / name).read_bytes().splitlines():
                    self._producer.produce(to, line)
        if self._producer.flush(PATIENCE):
            raise FreshetError("the broker does not take messages")


def _pace(live: _Live, names: list[str], tick_ms: int, began: float, running: Any) -> None:
    """Let each file come when the time of its last record has come."""
    for number, name in enumerate(names, 1):
        time.sleep(max(began + number * tick_ms / 1_000 - time.time(), 0))
        live.bring([name])
        if number % _CHECK_EVERY == 0:
            running.check()


def _replayed(
    taken: list[_Taken], progress: list[Any], began: float, warming_ms: int, triple: tuple[Any, ...]
) -> Replayed:
    from freshet.spark.window_join import METRICS

    counted: list[Any] = [each.after for each in taken if each.after is not None]
    counted = counted or [each["observedMetrics"][METRICS] for each in progress]
    pairs = [pair_numbers(_numbers(each.table, triple[2]), _numbers(each.table, triple[0])) for each in taken]
    came = [each.table["time"].to_numpy() - START_MS for each in taken]
    took = [1_000 * (each.done - began) - times for each, times in zip(taken, came, strict=True)]
    durations = [each["durationMs"]["triggerExecution"] for each in progress]
    warm = sum(1_000 * (each.done - began) < warming_ms for each in taken)
    return Replayed(
        np.concatenate(pairs),
        np.concatenate(took).astype(np.int64)[np.concatenate(came) >= warming_ms],
        np.array(durations[warm:], np.int64),
        np.array([each.waiting_records for each in counted], np.int64),
        np.array([each.state_bytes for each in counted], np.int64),
        sum(each.late for each in counted),
    )


def _numbers(table: pa.Table, slot: int) -> pa.ChunkedArray:
    """The numbers of the records that terms were made of: they stand at their ends."""
    found = pc.extract_regex(table[f"text_{slot}"], "(?P<number>[0-9]+)$")
    return pc.struct_field(found, "number").cast(pa.int64())
