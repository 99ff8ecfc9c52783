"""How far the batches of a pipeline's streams have come, as checkpoints keep it, and what a journal has after that."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from freshet.native.coordinator import Engine
from freshet.rdf.errors import InputError
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.checkpoint_manifest import State
from freshet.runtime.intake import BatchPositions, StreamIntake
from freshet.runtime.journal import JournalEntry
from freshet.runtime.sub_stream_watermarks import SubStreamWatermarks


class IntakeState:
    """The streams, or sub-streams, by their ids, and how far each is."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.streams: Mapping[str, StreamIntake] = {}
        self.queries: dict[str, str] = {}  # what each was registered with
        self.changed: list[str] = []  # those that the checkpoint did not have, or had otherwise
        self.sub_streams: dict[str, SubStreamWatermarks] = {}  # of the streams that have several, by IRI
        self.last = BatchPositions()  # each stream's newest batch in the journal
        self.taken = BatchPositions()  # and in the engine

    def open(self, streams: Mapping[str, StreamIntake], idle_ms: Mapping[str, int | None]) -> None:
        """Say what streams there are, and of those with several sub-streams how long a silent one holds them back."""
        self.streams = streams
        for iri, idle in idle_ms.items():
            own = [each.sub_stream_id for each in streams.values() if each.iri == iri]
            self.sub_streams[iri] = SubStreamWatermarks(own, idle)

    def watermarks_of(self, name: str) -> SubStreamWatermarks | None:
        """The watermarks of the stream that a sub-stream belongs to; None where that has only one."""
        return self.sub_streams.get(self.streams[name].iri)

    def check_stream(self, name: str, layout: str) -> StreamIntake:
        """A stream that an earlier run had, if it is still the same."""
        stream = self.streams.get(name)
        if stream is None or layout != stream.fingerprint:
            raise InputError(
                f"the checkpoint was made with another mapping, source or window of the stream {name}:"
                " choose a new checkpoint folder"
            )
        return stream

    def describe(self) -> State:
        """Everything but the graph, as it is between two batches."""
        return {
            "streams": {iri: [state.watermark_ms, *state.counts] for iri, state in self._engine.streams.items()},
            "queries": dict(self.queries),
            "batches": [
                [name, number, self.streams[name].fingerprint, self._mark_of(name)]
                for name, number in self.taken.whole.items()
            ],
            "pieces": [
                [name, *piece, self.streams[name].fingerprint, self._mark_of(name)]
                for name, piece in self.taken.pieces.items()
            ],
        }

    def restore(self, state: State) -> None:
        """Take up what `describe` gave in an earlier run."""
        before = state.get("queries", self.queries)  # older checkpoints have none: nothing has changed
        self.changed = [name for name, definition in self.queries.items() if before.get(name) != definition]
        for name, number, layout, mark_ms in state.get("batches", ()):
            stream = self.check_stream(name, layout)
            self.last.whole[name] = self.taken.whole[name] = number
            self._restore_mark(stream, mark_ms)
        for name, number, until_ms, layout, mark_ms in state.get("pieces", ()):
            self._restore_mark(self.check_stream(name, layout), mark_ms)
            self.last.pieces[name] = self.taken.pieces[name] = (number, until_ms)
        for iri, (watermark_ms, *counts) in state.get("streams", {}).items():
            if iri in self._engine.streams:
                known = self._engine.streams[iri]
                known.go_on_counting(*counts)
                self._engine.advance(iri, watermark_ms)

    def _mark_of(self, name: str) -> int | None:
        watermarks = self.watermarks_of(name)
        return None if watermarks is None else watermarks.mark(name)

    def _restore_mark(self, stream: StreamIntake, mark_ms: int | None) -> None:
        if mark_ms is not None and stream.iri in self.sub_streams:
            self.sub_streams[stream.iri].advance(stream.sub_stream_id, mark_ms)


def entries_as_done(checkpoint: Checkpoint) -> Iterator[JournalEntry]:
    """The batches that are to be replayed, and in between how far streams of several sub-streams went on.

    These went on after one batch was done and before another, though that was in the journal before.
    """
    advances = deque(JournalEntry(*each, b"") for each in checkpoint.headers if each[1]["kind"] == "advance")

    def advances_before(sequence: int) -> Iterator[JournalEntry]:
        while advances and advances[0].header["after"] < sequence:
            yield advances.popleft()

    for entry in checkpoint.entries():
        if entry.header["kind"] == "batch":
            yield from advances_before(entry.sequence)
            yield entry
    yield from advances_before(checkpoint.journal.next_sequence)
