"""Joins of live streams in windows, with what waits in Spark's state store.

Records are dealt out by their keys to hash buckets, one for each partition of a shuffle. Before the shuffle each Arrow
batch becomes one row a bucket, with the bucket's records as Arrow IPC bytes; a stateful processor is called once a
bucket and batch, and finds the pairs of all its keys in one kernel call (`rml/window_state.py`). Every bucket also gets
the largest event times of both sides in every batch, so all have the same watermark (`rml/join_clock.py`), and what
waits is let go even where nothing more comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

from freshet.rdf.errors import InputError
from freshet.rml.join_clock import Times
from freshet.rml.sizing import load_policy
from freshet.rml.window_bytes import STATE_FIELDS, pack_batch, read_table, state_of, table_bytes, values_of
from freshet.rml.window_state import KEY, OWN, TIE, TIME, WindowState, empty_state, take, warm
from freshet.rml.windows import JoinWindow, WindowKind
from freshet.spark.buckets import even_buckets

CHILD_PREFIX, PARENT_PREFIX = "child ", "parent "
METRICS = "window join"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_PACKED = "bucket INT, side TINYINT, newest BIGINT, untimed BIGINT, keyless BIGINT, records BINARY"
_COUNTS = (
    "children", "parents", "pairs", "late", "given_up", "untimed", "keyless", "waiting_records", "cold_records",
    "known_keys", "state_bytes",
)  # fmt: skip
_FOUND = "packed BINARY, " + ", ".join(f"{name} BIGINT" for name in _COUNTS)
_STATE = ", ".join(f"{name} {kind}" for name, kind in STATE_FIELDS)
_PAIRS_A_ROW = 50_000  # so that no row of the shuffle or of the result is larger than a few dozen megabytes
_BUCKET = "bucket"


def window_join(
    child: DataFrame,
    parent: DataFrame,
    *,
    child_key: Sequence[str],
    parent_key: Sequence[str],
    time: str,
    window: JoinWindow,
    lateness_ms: int,
    buckets: int | None = None,
    name: str = METRICS,
) -> DataFrame:
    """Pairs of records of two streams with equal keys that meet in the window.

    Both have a column `time`: event time, in milliseconds. The result has the columns of both, prefixed, and as `time`
    the later of the two times. Keys are equal where all their texts are; null never is. Records that are behind the
    watermark (the smaller of the largest times of both sides, less the lateness; a side that is silent does not count)
    meet nothing. How many records came in a micro-batch and how many pairs they made, how many were late, had no time
    or no key, how many were given up as too many waited, and what waits after it, is in the progress of the streaming
    query, as the observed metrics `name`.
    """
    shuffled = int(child.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    buckets = shuffled if buckets is None else buckets  # more only cost calls: a partition takes one after the other
    _check(child, parent, child_key, parent_key, time, window, lateness_ms, buckets)
    warm(window)
    numbers = even_buckets(buckets, shuffled)
    dealt = _dealt(child, child_key, time, 0, numbers).unionAll(_dealt(parent, parent_key, time, 1, numbers))
    share = max(window.most_waiting // buckets, 1)
    processor = _Processor(_schema(child), _schema(parent), window, lateness_ms, share)
    found = dealt.groupBy(_BUCKET).transformWithState(processor, _FOUND, "Append", "None")
    return _unpack_pairs(found, child, parent, time, name)


def _check(
    child: DataFrame,
    parent: DataFrame,
    child_key: Sequence[str],
    parent_key: Sequence[str],
    time: str,
    window: JoinWindow,
    lateness_ms: int,
    buckets: int,
) -> None:
    if not child_key or len(child_key) != len(parent_key):
        raise InputError(f"a join needs as many keys on both sides: {', '.join(child_key)}; {', '.join(parent_key)}")
    for side, frame, keys in (("child", child, child_key), ("parent", parent, parent_key)):
        for column in (*keys, time):
            if column not in frame.columns:
                raise InputError(f"the {side} of the join has no column {column!r}")
    if lateness_ms < 0 or buckets < 1:
        raise InputError(f"a join needs a lateness of at least 0 and a bucket: {lateness_ms} ms, {buckets} buckets")
    if window.policy:
        load_policy(window.policy)
    spark = child.sparkSession
    if spark.conf.get("spark.sql.streaming.stateStore.providerClass") != ROCKSDB:
        raise InputError(
            "windowed joins need the state store of RocksDB",
            hint=f"spark.sql.streaming.stateStore.providerClass = {ROCKSDB}",
        )


def key_text(columns: Sequence[str]) -> Column:
    """The texts of a key as one: each with its length before it, so that no two keys look the same."""
    texts = [_quote_column(column).cast("string") for column in columns]
    if len(texts) == 1:
        return texts[0]
    return F.concat(*(part for text in texts for part in (F.length(text).cast("string"), F.lit(":"), text)))


def _quote_column(column: str) -> Column:
    return F.col("`" + column.replace("`", "``") + "`")


def _dealt(frame: DataFrame, key: Sequence[str], time: str, side: int, numbers: Sequence[int]) -> DataFrame:
    """The records of a side, packed: a row for each bucket and Arrow batch."""
    text = key_text(key)
    columns = [_quote_column(column) for column in frame.columns]
    bucket = F.pmod(F.xxhash64(text), F.lit(len(numbers))).cast("int")
    prepared = frame.select(
        bucket.alias(_BUCKET),
        text.alias(KEY),
        _quote_column(time).cast("bigint").alias(TIME),
        F.xxhash64(*columns).alias(TIE),
        *(column.alias(f"{at}") for at, column in enumerate(columns)),
    )

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if len(batch):
                yield pack_batch(batch, side, numbers)

    return prepared.mapInArrow(pack, _PACKED)


def _schema(frame: DataFrame) -> pa.Schema:
    """The columns of packed records."""
    carried = to_arrow_schema(frame.schema)
    own = [pa.field(KEY, pa.string()), pa.field(TIME, pa.int64()), pa.field(TIE, pa.int64())]
    return pa.schema([*own, *(pa.field(f"{at}", field.type) for at, field in enumerate(carried))])


class _Blocks:
    """The cold records of a bucket, a block a value in the state store."""

    def __init__(self, state: MapState) -> None:
        self._state = state

    def get(self, side: int, block: int) -> pa.Table:
        found = self._state.getValue((side, block))
        assert found is not None
        return read_table(bytes(found[0]))

    def put(self, side: int, block: int, records: pa.Table) -> None:
        self._state.updateValue((side, block), (table_bytes(records, "zstd"),))

    def remove(self, side: int, block: int) -> None:
        self._state.removeKey((side, block))


class _Processor(StatefulProcessor):
    """Takes the packed records of a bucket, and gives packed pairs and a row of counts."""

    def __init__(self, child: pa.Schema, parent: pa.Schema, window: JoinWindow, lateness_ms: int, most: int) -> None:
        self._schemas = (child, parent)
        self._most = most
        self._window = window
        self._lateness_ms = lateness_ms

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("waiting", _STATE)
        self._cold = None
        if self._window.kind is WindowKind.LOSSLESS:
            self._cold = _Blocks(handle.getMapState("cold", "side INT, block BIGINT", "records BINARY"))

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        packs: tuple[list[pa.Table], list[pa.Table]] = ([], [])
        newest, untimed, keyless = [*Times()], 0, 0
        for row in rows:
            newest[row.side] = max(newest[row.side], row.newest)
            untimed += row.untimed
            keyless += row.keyless
            packs[row.side].append(read_table(row.records, self._schemas[row.side]))
        children, parents = (
            pa.concat_tables([schema.empty_table(), *packs[side]]) for side, schema in enumerate(self._schemas)
        )
        times = Times(*newest)
        state, step = take(
            self._before(), children, parents, times, self._window, self._lateness_ms, self._cold, most=self._most
        )
        values = values_of(state)
        self._state.update(values)
        size = sum(len(value) for value in values if isinstance(value, bytes))
        for first in range(0, len(step.children), _PAIRS_A_ROW):
            part = _beside(step.children.slice(first, _PAIRS_A_ROW), step.parents.slice(first, _PAIRS_A_ROW))
            yield Row(packed=table_bytes(part), **dict.fromkeys(_COUNTS, 0))
        came = len(children), len(parents), len(step.children), step.late, step.given_up, untimed, keyless
        counts = (*came, state.records, state.cold_records, len(state.keys), size)
        yield Row(packed=None, **dict(zip(_COUNTS, counts, strict=True)))

    def _before(self) -> WindowState:
        before = self._state.get()
        return empty_state(*self._schemas, self._window) if before is None else state_of(before)

    def close(self) -> None:
        pass


def _beside(children: pa.Table, parents: pa.Table) -> pa.Table:
    """Pairs as one table: the later of the two times, then the columns of both."""
    later = pc.max_element_wise(children.column(TIME), parents.column(TIME))
    columns = [table.column(name) for table in (children, parents) for name in table.column_names[len(OWN) :]]
    return pa.Table.from_arrays([later, *columns], [f"{at}" for at in range(len(columns) + 1)])


def _unpack_pairs(found: DataFrame, child: DataFrame, parent: DataFrame, time: str, name: str) -> DataFrame:
    """The pairs as rows; what was counted is observed on the way."""
    totals = [F.coalesce(F.sum(count), F.lit(0)).alias(count) for count in _COUNTS]
    packs = found.observe(name, *totals).where(F.col("packed").isNotNull()).select("packed")
    sides = ((CHILD_PREFIX, child), (PARENT_PREFIX, parent))
    fields = [StructField(prefix + field.name, field.dataType) for prefix, frame in sides for field in frame.schema]
    result = StructType([StructField(time, LongType()), *fields])
    return packs.mapInArrow(_unpacker(to_arrow_schema(result)), result)


def _unpacker(schema: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for pack in batch.column(0):
                pairs = read_table(pack.as_buffer())
                yield from pairs.rename_columns(schema.names).cast(schema).to_batches()

    return unpack
