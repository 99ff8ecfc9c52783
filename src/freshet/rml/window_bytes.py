"""Records to be joined, and what waits of them, as bytes: Arrow's IPC format, for shuffles and state stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.kernels.join_windows import NEVER
from freshet.rml.join_clock import JoinClock, Times
from freshet.rml.window_state import KEY, TIME, WindowState

# What a state store keeps of a bucket.
STATE_FIELDS = (
    ("children", "BINARY"),
    ("parents", "BINARY"),
    ("keys", "BINARY"),
    ("clock", "BINARY"),
    ("first", "BIGINT"),
    ("memory", "BINARY"),
)


def table_bytes(table: pa.Table, compression: str | None = None) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def read_table(data: Any, schema: pa.Schema | None = None) -> pa.Table:
    """The table of an Arrow stream, with the columns typed as `schema` says."""
    table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    return table if schema is None else table.cast(schema)


def pack_batch(batch: pa.RecordBatch, side: int, numbers: Sequence[int]) -> pa.RecordBatch:
    """A batch of records, whose first column says in which bucket each belongs, as one row a bucket.

    A row also has the largest time of the batch and, in one of the buckets, how many records have none, and how many
    of the others have no key. Records without a time or a key meet nothing and are left out.
    """
    times = batch.column(TIME)
    newest = pc.max(times).as_py()
    usable = batch.filter(pc.and_(pc.is_valid(times), pc.is_valid(batch.column(KEY))))
    buckets = usable.column(0).to_numpy(zero_copy_only=False)
    dealt = usable.take(pa.array(np.argsort(buckets, kind="stable"))).drop_columns(usable.schema.names[:1])
    ends = np.cumsum(np.bincount(buckets, minlength=len(numbers)))
    parts = [
        table_bytes(pa.Table.from_batches([dealt.slice(end - count, count)]))
        for end, count in zip(ends.tolist(), np.diff(ends, prepend=0).tolist(), strict=True)
    ]
    count = len(numbers)
    untimed, keyless = np.zeros(count, np.int64), np.zeros(count, np.int64)
    untimed[0] = times.null_count
    keyless[0] = len(batch) - times.null_count - len(usable)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(numbers, pa.int32()),
            pa.array([side] * count, pa.int8()),
            pa.array([int(NEVER) if newest is None else newest] * count, pa.int64()),
            pa.array(untimed),
            pa.array(keyless),
            pa.array(parts, pa.binary()),
        ],
        names=["bucket", "side", "newest", "untimed", "keyless", "records"],
    )


def values_of(state: WindowState) -> tuple[bytes, bytes, bytes, bytes, int, bytes]:
    """The values of STATE_FIELDS."""
    tables = (table_bytes(table) for table in (state.children, state.parents, state.keys))
    children, parents, keys = tables
    clock = np.array([*state.clock.newest, *state.clock.heard, state.clock.reached], np.int64).tobytes()
    return children, parents, keys, clock, state.first, state.memory.astype(np.float64).tobytes()


def state_of(values: Sequence[Any]) -> WindowState:
    """The state that these values of STATE_FIELDS are of."""
    children, parents, keys, clock, first, memory = values
    child_table, parent_table, key_table = (read_table(bytes(table)) for table in (children, parents, keys))
    times = np.frombuffer(bytes(clock), np.int64).tolist()
    join_clock = JoinClock(Times(*times[:2]), Times(*times[2:4]), times[4])
    remembered = np.frombuffer(bytes(memory), np.float64)
    return WindowState(child_table, parent_table, key_table, join_clock, first, remembered)
