"""From encoded batches to reports: what happens on the driver for each micro-batch."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from freshet.native.engine import Engine
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.rdf.errors import BudgetError, InputError
from freshet.results.answers import AnswerBatch
from freshet.results.report import Freshness
from freshet.runtime.admission import Admission, Piece
from freshet.runtime.batch_sources import BatchSources
from freshet.runtime.display import show_term
from freshet.runtime.durable_session import DurableSession
from freshet.runtime.intake import GoOn, JournaledBatch, StreamIntake
from freshet.runtime.metrics import KEPT_ROWS, Metrics
from freshet.runtime.sinks import Sink

if TYPE_CHECKING:
    from freshet.mapper.stream_join import JoinStep

_MOST_WAITING = 2
_LOOK_SECONDS = 0.25


class Ingest:
    """Takes batches of all streams into the journal, then, one at a time, into the engine and the sinks.

    Once a batch is in the journal Spark may go on: a worker thread takes it from there, so that Spark works on the
    next batch meanwhile. When the engine falls behind by more than a few batches, Spark waits.
    """

    def __init__(
        self,
        engine: Engine,
        metrics: Metrics,
        durable: DurableSession | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`durable` has recovered the stored graph of an earlier run, where there is a checkpoint."""
        self._engine = engine
        self._clock = clock
        self._sources = BatchSources()
        self._metrics = metrics
        self._durable = durable
        self._sinks: dict[str, list[Sink]] = {}
        self._order = threading.Lock()  # the journal and the queue have one order
        self._waiting: queue.Queue[JournaledBatch | GoOn | None] = queue.Queue(_MOST_WAITING)
        self._admission = Admission(engine.window_room, lambda to_ms: self._waiting.put(GoOn(to_ms)))
        self._worker: threading.Thread | None = None
        self._error: BaseException | None = None
        self._arrived_ms: int | None = None
        self.engine_seconds = self.batch_seconds = 0.0

    def connect(self, query: str, sinks: list[Sink]) -> None:
        """Say where a query's reports go."""
        self._sinks[query] = sinks

    def add_sink(self, query: str, sink: Sink) -> None:
        """Another place where a query's reports go."""
        self._sinks.setdefault(query, []).append(sink)

    def changed_queries(self) -> list[str]:
        """The queries that the checkpoint did not have, or had with another definition."""
        return [] if self._durable is None else self._durable.changed_queries

    def join_problems(self) -> list[str]:
        """What waited to be joined and could not be taken up, a line each."""
        return [] if self._durable is None else self._durable.join_problems

    def open(
        self,
        streams: Mapping[str, StreamIntake],
        idle_ms: Mapping[str, int | None] | None = None,
        going_on: Collection[str] = (),
    ) -> None:
        """Say what streams there are, and push the batches of an earlier run that windows may still need.

        `idle_ms` says for the IRI of a stream how long a silent sub-stream holds it back. Those that are `going_on`
        go on with the wall clock when all of their sub-streams are silent.
        """
        self._sources = BatchSources(streams.values(), idle_ms, going_on, clock=self._clock)
        if self._durable is not None:
            self._durable.resume(self._sources, self._skip, self._sync)
            self._flush()
        self._admission.open(streams)
        self._worker = threading.Thread(target=self._work, name="freshet-engine", daemon=True)
        self._worker.start()

    def last_batch(self, name: str) -> int:
        """The number of a stream's newest batch that is safe; -1 where there is none."""
        return self._sources.last.whole.get(name, -1)

    def batch(
        self,
        name: str,
        number: int,
        table: pa.Table,
        *,
        records: int,
        rejected: int,
        seconds: float,
        joined: JoinStep | None = None,
    ) -> None:
        """A micro-batch of a stream, as it comes from Spark. It is safe in the journal when this returns, with what was
        `joined` in this process to make it.

        It waits while windows have no room for it; what fits goes in before the rest.
        """
        began = time.perf_counter()
        self.check()
        stream = self._sources.streams[name]
        if self._durable is not None and number <= self.last_batch(name):
            return
        for piece in self._pieces(stream, self._sources.last.rest(name, number, table)):
            of_piece = records if piece.until_ms is None else len(piece.table)
            records -= of_piece
            seconds += time.perf_counter() - began
            last = piece.until_ms is None
            self._enter(stream, number, piece, of_piece, rejected if last else 0, seconds, joined if last else None)
            began, seconds = time.perf_counter(), 0.0

    def _pieces(self, stream: StreamIntake, table: pa.Table) -> Iterator[Piece]:
        try:
            yield from self._admission.pieces(stream, table, lambda: self._metrics.waits(stream.pipeline_name))
        except BudgetError as error:
            self._error = self._error or error
            raise

    def _enter(
        self,
        stream: StreamIntake,
        number: int,
        piece: Piece,
        records: int,
        rejected: int,
        seconds: float,
        joined: JoinStep | None,
    ) -> None:
        with self._order:
            sequence = -1
            if self._durable is not None:
                inputs = None if joined is None else joined.inputs
                sequence = self._durable.write_batch(stream, number, piece.table, piece.until_ms, inputs)
                if joined is not None:
                    joined.sequence = sequence
            self._sources.last.record(stream.sub_stream_id, number, piece.until_ms)
            if (watermarks := self._sources.sub_streams.get(stream.iri)) is not None:
                watermarks.batch_enqueued(stream.sub_stream_id)
            self._waiting.put(
                JournaledBatch(stream, number, sequence, piece.table, records, rejected, seconds, *piece[1:])
            )

    def waiting_for_room(self) -> set[str]:
        """The streams, or sub-streams, that have a batch for which windows have no room yet."""
        return set(self._admission.waiting())

    def end_waits(self) -> None:
        """Have no batch wait for room any longer: the run ends, and they are brought again by the next."""
        self._admission.end_waits(InputError("the run has ended"))

    def note_activity(self, name: str, doing: str) -> None:
        """Note what a sub-stream does: whether it `waits` for data, `works` on some, or has `ended`."""
        self._admission.is_doing(name, doing)
        if (watermarks := self._sources.watermarks_of(name)) is not None:
            match doing:
                case "waits":
                    watermarks.note_waiting(name)
                case "works":
                    watermarks.note_working(name)
                case "ended":
                    watermarks.note_ended(name)

    def check(self) -> None:
        """Raise what went wrong with a batch, if anything did."""
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """The end of all input: every window that has content closes."""
        self._settle()
        self._arrived_ms = None
        if self._durable is None:
            self._engine.finish()
        else:
            self._durable.finish_run()
        self._flush()

    def close(self) -> None:
        """Take in what is waiting, close the sinks, and make a last checkpoint.

        Where the session is closed, what queries with their own threads have not reported yet is replayed by the
        next run.
        """
        try:
            self._settle()
            if self._durable is not None:
                self._engine.drain()
        finally:
            try:
                for sinks in self._sinks.values():
                    for sink in sinks:
                        sink.close()
            except BaseException as error:
                self._error = self._error or error
                raise
            finally:
                if self._durable is not None:
                    self._durable.close_run(whole=self._error is None)

    def _settle(self) -> None:
        """Wait until every batch so far has gone through, and end the thread."""
        if self._worker is not None:
            self._waiting.put(None)
            self._worker.join()
            self._worker = None
        self.check()

    def _work(self) -> None:
        while True:
            try:
                batch = self._waiting.get(timeout=_LOOK_SECONDS if self._sources.sub_streams else None)
            except queue.Empty:
                self._attempt(self._pass_silent_sub_streams)
                continue
            if batch is None:
                return
            if isinstance(batch, GoOn):
                self._attempt(self._go_on, batch.to_ms)
                self._admission.note_taken()
                continue
            self._attempt(self._take, batch)
            self._admission.note_taken(batch.promised_bytes)
            self._attempt(self._pass_silent_sub_streams)  # others may be held back while batches come without a pause

    def _attempt(self, step: Callable[..., None], *arguments: object) -> None:
        """After an error batches are only dropped, so that no thread waits forever."""
        if self._error is None:
            try:
                step(*arguments)
            except BaseException as error:
                self._error = error

    def _pass_silent_sub_streams(self) -> None:
        """Let streams go on that are held back by a sub-stream which has ended or been silent for long enough.

        One that has never brought anything has no time of its own, and goes with those that it is joined with.
        """
        for iri, watermarks in self._sources.sub_streams.items():
            level = self._engine.partner_watermark(iri) if watermarks.is_unheard() else watermarks.level()
            if self._advance_to(iri, level):
                self._flush()

    def _advance_to(self, iri: str, level: int | None) -> bool:
        """Advance a stream as far as its sub-streams say. That depends on the wall clock, so it is journaled."""
        if level is None or level <= self._engine.streams[iri].watermark_ms:
            return False
        if self._durable is None:
            self._engine.advance(iri, level)
        else:
            self._durable.advance_between(iri, level)
        return True

    def _go_on(self, to_ms: int) -> None:
        """Streams that wait for room with nothing before a time come as far as they would with what waits, those that
        have ended as far as any.
        """
        waiting = {name for name, first_ms in self._admission.waiting().items() if first_ms >= to_ms}
        for stream in self._sources.streams.values():
            if stream.sub_stream_id not in waiting and not self._admission.has_ended(stream.sub_stream_id):
                continue
            reached = to_ms - stream.lateness_ms if stream.sub_stream_id in waiting else to_ms
            watermarks = self._sources.several(self._engine, stream.iri)
            if watermarks is not None and stream.sub_stream_id in waiting:
                watermarks.advance(stream.sub_stream_id, reached)
            self._advance_to(stream.iri, reached if watermarks is None else watermarks.level())
        self._engine.drain()  # a query that waits for remote data may have room to make
        self._flush()

    def _take(self, batch: JournaledBatch) -> None:
        began = time.perf_counter()
        state = self._engine.streams[batch.stream.iri]
        late = state.late
        arrived = batch.table.column("arrived").to_numpy()
        self._arrived_ms = int(arrived.min()) if len(arrived) else None
        pushing = time.perf_counter()
        content = (batch.stream, batch.number, batch.table, batch.until_ms)
        if self._durable is None:
            self._sources.take(self._engine, *content)
        else:
            self._durable.take_batch(batch.sequence, *content)
        self.engine_seconds += time.perf_counter() - pushing
        self._engine.service_threads.hold_back()
        if (watermarks := self._sources.sub_streams.get(batch.stream.iri)) is not None:
            self._advance_to(batch.stream.iri, watermarks.level())
            watermarks.batch_done(batch.stream.sub_stream_id)
        room = self._admission.count(batch.stream.iri)
        self._metrics.windows_hold(room.held_bytes, room.whole_bytes)
        self._flush()
        seconds = batch.seconds + time.perf_counter() - began
        self.batch_seconds += seconds
        self._metrics.batch(
            batch.stream.pipeline_name,
            records=batch.records,
            rejected=batch.rejected,
            late=state.late - late,
            watermark_ms=state.watermark_ms if state.elements and state.watermark_ms > BEFORE_ALL_TIME else None,
            seconds=seconds,
        )

    def deliver(self, batch: AnswerBatch) -> None:
        """Reports of the engine, to the sinks of their query."""
        of_batch = threading.current_thread() is self._worker  # which flushes; a client's post has a thread of its own
        for sink in self._sinks.get(batch.query, []):
            sink.deliver(batch)
            if not of_batch and not self._is_restoring:
                sink.flush()
        if self._is_restoring:
            return
        arrived_ms = self._arrived_ms if of_batch or batch.freshness is not None else None
        latency_ms = None if arrived_ms is None else max(0.0, time.time() * 1000 - arrived_ms)
        names, _, offsets = batch.shown
        last_count, first_rows = shown_rows(batch, len(batch) - 1)
        self._metrics.report(
            batch.query,
            time_ms=int(batch.times[-1]),
            variables=names,
            rows=last_count,
            first_rows=first_rows,
            latency_ms=latency_ms,
            freshness=batch.freshness,
            earlier=len(batch) - 1,
            earlier_rows=int(offsets[-2] - offsets[0]),
        )

    def silent_evaluation(self, query: str, freshness: Freshness) -> None:
        """A query with remote data was evaluated and had nothing to report, perhaps because an endpoint is gone."""
        if not self._is_restoring:
            self._metrics.silent_evaluation(query, freshness)

    @property
    def _is_restoring(self) -> bool:
        return self._durable is not None and self._durable.is_restoring

    def _skip(self, batch: AnswerBatch) -> None:
        """Reports that were delivered before a restart."""
        for sink in self._sinks.get(batch.query, []):
            sink.skip(batch)

    def _flush(self) -> None:
        for sinks in self._sinks.values():
            for sink in sinks:
                sink.flush()

    def _sync(self) -> None:
        for sinks in self._sinks.values():
            for sink in sinks:
                sink.sync()


def shown_rows(batch: AnswerBatch, number: int) -> tuple[int, list[list[str]]]:
    """How many rows a report of a batch has, and the first few as text for the eye."""
    _, rows, offsets = batch.shown
    first, end = int(offsets[number]), int(offsets[number + 1])
    few = rows[first : min(end, first + KEPT_ROWS)]
    return end - first, [[show_term(term) for term in batch.dictionary.decode_many(row)] for row in few]
