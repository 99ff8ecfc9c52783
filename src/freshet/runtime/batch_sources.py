"""The sources of a pipeline's streams: how their batches are journaled and pushed, and how far each has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from freshet.native.streams.stream import merge_in_order
from freshet.rdf.batch import ORIGIN, elements_of, elements_with_rows, graphs_of
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.runtime.intake import BatchPositions, StreamIntake, last_time
from freshet.runtime.journal import Header, JournalEntry
from freshet.runtime.origins import BatchOrigin
from freshet.runtime.sub_stream_watermarks import SubStreamWatermarks

if TYPE_CHECKING:
    from freshet.mapper.stream_join import StreamJoin
    from freshet.native.engine import Engine

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")  # a quarter of the bytes to bring to the disk


class BatchSources:
    """The streams, or sub-streams, by their ids, and how far each is.

    `idle_ms` says for the IRI of a stream how long a silent sub-stream holds it back. Those that are `going_on` go on
    with the wall clock when all of their sub-streams are silent.
    """

    def __init__(
        self,
        streams: Iterable[StreamIntake] = (),
        idle_ms: Mapping[str, int | None] | None = None,
        going_on: Collection[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.streams = {stream.sub_stream_id: stream for stream in streams}
        self.described = {name: stream.describe() for name, stream in self.streams.items()}
        self.sub_streams: dict[str, SubStreamWatermarks] = {}  # of those with several or with an idle time, by IRI
        self.last = BatchPositions()  # each stream's newest batch in the journal
        self.taken = BatchPositions()  # and in the engine
        for iri, idle in (idle_ms or {}).items():
            own = [each.sub_stream_id for each in self.streams.values() if each.iri == iri]
            self.sub_streams[iri] = SubStreamWatermarks(own, idle, goes_on=iri in going_on, clock=clock)

    @staticmethod
    def of(described: Sequence[Header], held: Iterable[str]) -> BatchSources:
        """The sources of an earlier run; `held` are the IRIs of streams with several sub-streams."""
        sources = BatchSources(map(StreamIntake.of, described), dict.fromkeys(held))
        sources.described = {fields["id"]: fields for fields in described}
        return sources

    def watermarks_of(self, name: str) -> SubStreamWatermarks | None:
        """The watermarks of the stream that a sub-stream belongs to; None where they are not needed."""
        return self.sub_streams.get(self.streams[name].iri)

    def several(self, engine: Engine, iri: str) -> SubStreamWatermarks | None:
        """The watermarks of a stream that has several sub-streams, and is only as far as these say."""
        return self.sub_streams.get(iri) if engine.streams[iri].held else None

    def take(self, engine: Engine, stream: StreamIntake, number: int, table: pa.Table, until_ms: int | None) -> None:
        """Push a batch, or all of it before a time, and advance the watermark of its stream or sub-stream."""
        with engine.dictionary.pins:  # nothing holds the elements' terms until the engine has them
            graphs = graphs_of(table, stream.layout, engine.dictionary)
            # Spark reads the files of a batch side by side, so the order inside a batch means nothing: time decides.
            if ORIGIN in table.column_names or graphs is not None:
                elements, rows = elements_with_rows(table, stream.layout, engine.dictionary)
                order = np.argsort(elements.times, kind="stable")
                whole, rows = Elements(*(column[order] for column in elements)), rows[order]
                graphs = None if graphs is None else graphs[rows]
                records = table.column(ORIGIN) if ORIGIN in table.column_names else None
                origin = BatchOrigin(stream.sub_stream_id, number, records, None if records is None else rows)
            else:
                elements = elements_of(table, stream.layout, engine.dictionary)
                whole = merge_in_order([elements]) if len(elements.times) else elements
                origin = BatchOrigin(stream.sub_stream_id, number)
            engine.push(stream.iri, whole, admitted=True, origin=origin, graphs=graphs)
        engine.collect_terms()
        # Records whose triples no query wants move the watermark too.
        reached = last_time(table) - stream.lateness_ms
        if self.several(engine, stream.iri) is None:
            engine.advance(stream.iri, reached)
        if len(table) and (watermarks := self.sub_streams.get(stream.iri)) is not None:
            watermarks.advance(stream.sub_stream_id, reached)
        self.taken.record(stream.sub_stream_id, number, until_ms)

    def replay(self, engine: Engine, entry: JournalEntry) -> StreamIntake:
        """Take a batch of the journal; gives the stream that it is of."""
        header = entry.header
        stream = self._same_stream(header["stream"], header["layout"])
        number, until_ms = header["batch"], header.get("until")
        body = pa.BufferReader(entry.body)
        self.take(engine, stream, number, pa.ipc.open_stream(body).read_all(), until_ms)
        if header.get("joined") and stream.join is not None:
            stream.join.replay(entry.sequence, pa.ipc.open_stream(body).read_all())
        self.last.record(stream.sub_stream_id, number, until_ms)
        return stream

    @property
    def joins(self) -> dict[str, StreamJoin]:
        """The joins in this process, by the ids of their sub-streams."""
        return {name: stream.join for name, stream in self.streams.items() if stream.join is not None}

    def describe(self) -> list[Header]:
        """What the streams are, and how far their batches have come into the engine."""
        return [
            {
                **fields,
                "batch": self.taken.whole.get(name),
                "piece": self.taken.pieces.get(name),
                "watermark_ms": None if (watermarks := self.watermarks_of(name)) is None else watermarks.mark(name),
            }
            for name, fields in self.described.items()
        ]

    def restore(self, described: Iterable[Header]) -> None:
        """Continue from what `describe` gave."""
        for fields in described:
            if fields.get("batch") is None and fields.get("piece") is None:
                continue
            stream = self._same_stream(fields["id"], fields["fingerprint"])
            for positions in (self.last, self.taken):
                if fields["batch"] is not None:
                    positions.whole[stream.sub_stream_id] = fields["batch"]
                if fields["piece"] is not None:
                    number, until_ms = fields["piece"]
                    positions.pieces[stream.sub_stream_id] = (number, until_ms)
            if fields["watermark_ms"] is not None and stream.iri in self.sub_streams:
                self.sub_streams[stream.iri].advance(stream.sub_stream_id, fields["watermark_ms"])

    def _same_stream(self, name: str, fingerprint: str) -> StreamIntake:
        """A stream that an earlier run had, if it is still the same."""
        stream = self.streams.get(name)
        if stream is None or fingerprint != self.described[name]["fingerprint"]:
            raise InputError(
                f"the checkpoint was made with another mapping, source or window of the stream {name}:"
                " choose a new checkpoint folder"
            )
        return stream


def pack_batch(
    stream: StreamIntake, number: int, table: pa.Table, until_ms: int | None, inputs: pa.Table | None = None
) -> tuple[Header, memoryview]:
    """A batch as an entry of the journal. Of one that was joined in this process the `inputs` are behind it."""
    header = {
        "kind": "batch",
        "stream": stream.sub_stream_id,
        "batch": number,
        "layout": stream.fingerprint,
        "latest_ms": last_time(table),
    }
    if until_ms is not None:
        header["until"] = until_ms
    if inputs is not None:
        header["joined"] = True
    sink = pa.BufferOutputStream()
    for part in (table,) if inputs is None else (table, inputs):
        with pa.ipc.new_stream(sink, part.schema, options=_COMPRESSED) as writer:
            writer.write_table(part)
    return header, memoryview(sink.getvalue())
