"""Micro-batches on their way into the engine: of which stream they are, and how far each stream's batches have come."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from freshet.native.moments import BEFORE_ALL_TIME
from freshet.rdf.batch import Layout, Slot
from freshet.rdf.terms import term_from_key, term_key
from freshet.runtime.journal import Header

if TYPE_CHECKING:
    from freshet.mapper.stream_join import StreamJoin


@dataclass(frozen=True, slots=True)
class StreamIntake:
    """A stream, or a sub-stream, on its way into the engine.

    `sub_stream_id` is in its batches and in the journal, `iri` in queries, `pipeline_name` in the pipeline file.
    `fingerprint_inputs` says what its triples are made of, beside the layout. `join` finds its pairs, where that is
    done in this process.
    """

    sub_stream_id: str
    iri: str
    layout: Layout
    pipeline_name: str
    lateness_ms: int = 0
    fingerprint_inputs: str = ""
    join: StreamJoin | None = None

    @property
    def fingerprint(self) -> str:
        """What must be the same for a run to go on with the batches and Spark's state of an earlier one."""
        return hashlib.blake2b(f"{self.layout!r}\n{self.fingerprint_inputs}".encode(), digest_size=16).hexdigest()

    def describe(self) -> Header:
        """All that is needed to make triples of the stream's batches again, without its mapping."""
        return {
            "id": self.sub_stream_id,
            "iri": self.iri,
            "triples": [[_slot_text(slot) for slot in triple] for triple in self.layout.triples],
            "frames": self.layout.frames,
            "graph": self.layout.graph,
            "pipeline_name": self.pipeline_name,
            "lateness_ms": self.lateness_ms,
            "fingerprint": self.fingerprint,
        }

    @staticmethod
    def of(fields: Header) -> StreamIntake:
        """The stream that `describe` gave these of, but for its fingerprint."""
        triples = tuple((_slot(one), _slot(two), _slot(three)) for one, two, three in fields["triples"])
        layout = Layout(triples, tuple((before, after) for before, after in fields["frames"]), fields.get("graph"))
        return StreamIntake(fields["id"], fields["iri"], layout, fields["pipeline_name"], fields["lateness_ms"])


def _slot_text(slot: Slot) -> int | str:
    return slot if isinstance(slot, int) else term_key(slot)


def _slot(text: int | str) -> Slot:
    return text if isinstance(text, int) else term_from_key(text)


@dataclass(frozen=True, slots=True)
class JournaledBatch:
    """A micro-batch on its way from the journal to the engine; `sequence` is its entry there."""

    stream: StreamIntake
    number: int
    sequence: int
    table: pa.Table
    records: int
    rejected: int
    seconds: float
    until_ms: int | None  # all of the batch before this time is in with it; None: all is
    promised_bytes: int


class GoOn(NamedTuple):
    """Nothing before a time is on the way: see `Admission`."""

    to_ms: int


class BatchPositions:
    """The newest batch of each stream, by number; and of one that came in part, up to before what time it came."""

    def __init__(self) -> None:
        self.whole: dict[str, int] = {}
        self.pieces: dict[str, tuple[int, int]] = {}

    def record(self, name: str, number: int, until_ms: int | None) -> None:
        """A batch came whole, or all of it before a time."""
        if until_ms is None:
            self.whole[name] = number
            self.pieces.pop(name, None)
        else:
            self.pieces[name] = (number, until_ms)

    def rest(self, name: str, number: int, table: pa.Table) -> pa.Table:
        """What of a batch has not come yet."""
        began, until_ms = self.pieces.get(name, (-1, 0))
        return table.filter(pa.array(table.column("time").to_numpy() >= until_ms)) if began == number else table


def last_time(table: pa.Table) -> int:
    """The largest event time in an encoded batch."""
    times = table.column("time").to_numpy()
    return int(times.max()) if len(times) else BEFORE_ALL_TIME
