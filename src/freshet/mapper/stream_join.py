"""A join of two live streams in this process: records of both sides in, mapped pairs out, and what waits for more.

Records come in the tables of micro-batches, those of both sides in one. Pairs are found by the kernels that the join
in Spark's state store calls (`rml/window_state.py`), and mapped as any records are. The state after a batch is kept
only when the batch was taken, with the number of its entry in the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from freshet.mapper.arrow_columns import ArrowColumns
from freshet.mapper.arrow_texts import NULL_TEXT, spread, text_scalar
from freshet.mapper.compiled import CompiledMapping
from freshet.rml.join_clock import NEVER, Times
from freshet.rml.join_counts import JoinCounts
from freshet.rml.mapping_slices import CHILD, PARENT
from freshet.rml.window_bytes import STATE_FIELDS, read_table, state_of, table_bytes, values_of
from freshet.rml.window_state import KEY, OWN, TIE, WindowState, empty_state, take, warm
from freshet.rml.windows import JoinWindow, WindowKind
from freshet.sources.columns import ARRIVED, FILE, LINE, REASON, TIME

SIDE = "side"
SIDES = (CHILD, PARENT)  # by the number in SIDE
_SHARED = (SIDE, KEY, TIME, TIE, ARRIVED, FILE)  # columns that records of both sides have
_PAIRS_AT_ONCE = 65_536
_SPACE = text_scalar(" ")


class JoinSnapshot(NamedTuple):
    """What waits after the batch of an entry of the journal; -1 where there is no journal."""

    sequence: int
    state: WindowState


@dataclass(slots=True)
class JoinStep:
    """What a micro-batch came with and what it gave. `sequence` is its entry in the journal, if there is one."""

    inputs: pa.Table
    pairs: pa.Table
    counts: JoinCounts
    state: WindowState
    sequence: int = -1


class StreamJoin:
    """The join of a sub-stream. `many` says which references of each side have arrays."""

    def __init__(self, mapping: CompiledMapping, window: JoinWindow, lateness_ms: int) -> None:
        self._mapping = mapping
        # In memory nothing is gained by setting aside what has waited for long.
        lossless = window.kind is WindowKind.LOSSLESS
        self._window = replace(window, kind=WindowKind.SLIDING, size=window.upper) if lossless else window
        self._lateness_ms = lateness_ms
        self.many: Mapping[str, frozenset[str]] = {side: frozenset() for side in SIDES}
        self._kept: JoinSnapshot | None = None
        self._counts: JoinCounts | None = None

    def warm(self) -> None:
        """Compile what the window needs, or take it from the cache."""
        warm(self._window)

    def step(self, inputs: pa.Table) -> JoinStep:
        """What a micro-batch gives. Nothing is kept of it until `keep`."""
        step, counts, after = self._take_inputs(inputs)
        return JoinStep(inputs, self._mapped(step.children, step.parents), counts, after)

    def keep(self, step: JoinStep) -> None:
        """The batch of a step was taken."""
        self._kept = JoinSnapshot(step.sequence, step.state)
        self._counts = step.counts if self._counts is None else self._counts.then(step.counts)

    def take_counts(self) -> JoinCounts | None:
        """What was counted since this was asked last; None where nothing came."""
        counts, self._counts = self._counts, None
        return counts

    # ---- what outlives the process

    @property
    def snapshot(self) -> JoinSnapshot | None:
        """What waits now; None where nothing ever came."""
        return self._kept

    def restore(self, snapshot: JoinSnapshot) -> None:
        self._kept = snapshot

    def replay(self, sequence: int, inputs: pa.Table) -> None:
        """Take in what an entry of the journal came with, unless the snapshot has it."""
        if self._kept is None or sequence > self._kept.sequence:
            self._kept = JoinSnapshot(sequence, self._take_inputs(inputs)[2])

    # ---- a batch

    def _take_inputs(self, inputs: pa.Table) -> tuple[_Met, JoinCounts, WindowState]:
        sides = [inputs.filter(pc.equal(inputs.column(SIDE), number)) for number in range(len(SIDES))]
        newest = Times(*(_newest(side) for side in sides))
        timed = [side.filter(pc.is_valid(side.column(TIME))) for side in sides]
        usable = [side.filter(pc.is_valid(side.column(KEY))) for side in timed]
        untimed = len(inputs) - sum(map(len, timed))
        keyless = sum(map(len, timed)) - sum(map(len, usable))
        children, parents = (_own_columns(side, name) for side, name in zip(usable, SIDES, strict=True))
        before = self._kept.state if self._kept else empty_state(children.schema, parents.schema, self._window)
        after, step = take(before, children, parents, newest, self._window, self._lateness_ms)
        counts = JoinCounts(
            len(children), len(parents), len(step.children), untimed, keyless, step.late, step.given_up, after.records
        )
        return _Met(step.children, step.parents), counts, after

    def _mapped(self, children: pa.Table, parents: pa.Table) -> pa.Table:
        """The pairs, each with the texts of its terms, and the reason where it makes no term."""
        pairs = _beside(children, parents)
        parts = [self._rendered(part) for part in _parts(pairs)]
        return pa.concat_tables(parts)

    def _rendered(self, pairs: pa.RecordBatch) -> pa.Table:
        texts, reasons = self._mapping.texts(
            self._mapping.renderer(ArrowColumns(pairs, self._mapping.functions), self.many)
        )
        size = len(pairs)
        reason = spread(pc.coalesce(*reasons) if reasons else NULL_TEXT, size)
        beside = {name: pairs.column(name) for name in (TIME, ARRIVED, FILE)}
        columns = {name: spread(text, size) for name, text in texts.items()}
        return pa.table({**beside, LINE: pa.nulls(size, pa.string()), REASON: reason, **columns})


class _Met(NamedTuple):
    """The records of pairs, those of both sides beside each other."""

    children: pa.Table
    parents: pa.Table


def _newest(records: pa.Table) -> int:
    newest = pc.max(records.column(TIME)).as_py()
    return NEVER if newest is None else int(newest)


def _own_columns(records: pa.Table, side: str) -> pa.Table:
    """The columns of a side's records, as those of its pairs are called."""
    own = [name for name in records.column_names if name not in _SHARED and name.startswith(f"{side} ")]
    columns = [records.column(name) for name in (*OWN, ARRIVED, FILE, *own)]
    return pa.table(columns, names=[*OWN, f"{side} {ARRIVED}", f"{side} {FILE}", *own])


def _beside(children: pa.Table, parents: pa.Table) -> pa.Table:
    """Pairs as one table: the later of the two times and arrivals, both files, and the columns of both."""
    both = {name: table.column(name) for table in (children, parents) for name in table.column_names[len(OWN) :]}
    arrived, files = ([both.pop(f"{side} {name}") for side in SIDES] for name in (ARRIVED, FILE))
    joined = pc.binary_join_element_wise(*files, _SPACE, null_handling="skip")
    shared = {
        TIME: pc.max_element_wise(children.column(TIME), parents.column(TIME)),
        ARRIVED: pc.max_element_wise(*arrived),
        FILE: joined,
    }
    return pa.table({**shared, **both})


def _parts(pairs: pa.Table) -> Iterator[pa.RecordBatch]:
    """The pairs, some at a time, so that no column of texts is too large; one part where there are none."""
    for first in range(0, max(len(pairs), 1), _PAIRS_AT_ONCE):
        whole = pairs.slice(first, _PAIRS_AT_ONCE).combine_chunks()
        columns = [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns]
        yield pa.RecordBatch.from_arrays(columns, names=whole.column_names)


def snapshot_bytes(snapshot: JoinSnapshot) -> bytes:
    """A snapshot as an Arrow stream of one row."""
    names = [name for name, _ in STATE_FIELDS]
    columns = [
        pa.array([value], pa.int64() if isinstance(value, int) else pa.large_binary())
        for value in values_of(snapshot.state)
    ]
    table = pa.table([pa.array([snapshot.sequence]), *columns], names=["sequence", *names])
    return table_bytes(table, "lz4")


def snapshot_of(data: bytes) -> JoinSnapshot:
    (row,) = read_table(data).to_pylist()
    return JoinSnapshot(row["sequence"], state_of([row[name] for name, _ in STATE_FIELDS]))
