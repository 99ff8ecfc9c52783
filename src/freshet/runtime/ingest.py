"""From encoded batches to reports: what happens on the driver for each micro-batch, and after a restart."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from freshet.native.coordinator import Engine
from freshet.native.stream import BEFORE_ALL_TIME, in_order
from freshet.rdf.batch import Layout, elements_of
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.results.report import Report
from freshet.runtime.batch_log import BatchLog, LogEntry, last_time
from freshet.runtime.display import show_term
from freshet.runtime.metrics import KEPT_ROWS, Metrics
from freshet.runtime.part_watermarks import PartWatermarks
from freshet.runtime.sinks import Sink

_MOST_BEHIND = 1_000_000  # elements that a query which waits for remote data may be behind before others wait for it
_MOST_WAITING = 2
_LOOK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class StreamIntake:
    """A stream, or a part of one: as batches name it (`name`), as queries name it (`iri`), as the pipeline file names
    it (`stream`), how its triples are made, and what of (`made_from`).
    """

    name: str
    iri: str
    layout: Layout
    stream: str
    lateness_ms: int = 0
    made_from: str = ""

    @property
    def fingerprint(self) -> str:
        """What must be the same for a run to go on with the batches and Spark's state of an earlier one."""
        return hashlib.blake2b(f"{self.layout!r}\n{self.made_from}".encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class _Batch:
    """A micro-batch on its way from the log to the engine."""

    stream: StreamIntake
    table: pa.Table
    records: int
    rejected: int
    seconds: float


class Ingest:
    """Takes batches of all streams into the log, then, one at a time, into the engine and the sinks.

    Once a batch is in the log Spark may go on: a thread of its own takes it from there, so that Spark works on the next
    batch meanwhile. When the engine falls behind by more than a few batches, Spark waits.
    """

    def __init__(self, engine: Engine, metrics: Metrics, log: BatchLog | None) -> None:
        self._engine = engine
        self._streams: Mapping[str, StreamIntake] = {}
        self._metrics = metrics
        self._log = log
        self._sinks: dict[str, list[Sink]] = {}
        self._order = threading.Lock()  # the log and the queue have one order
        self._waiting: queue.Queue[_Batch | None] = queue.Queue(_MOST_WAITING)
        self._worker: threading.Thread | None = None
        self._error: BaseException | None = None
        self._arrived_ms: int | None = None
        self._reported: dict[str, int] = {}  # reports of moments up to here were made before a restart
        self._restoring = False
        self._parts: dict[str, PartWatermarks] = {}  # of the streams that have several, by IRI
        self.engine_seconds = self.batch_seconds = 0.0

    def connect(self, query: str, sinks: list[Sink]) -> None:
        """Say where a query's reports go."""
        self._sinks[query] = sinks

    def open(self, streams: Mapping[str, StreamIntake], idle_ms: Mapping[str, int | None] | None = None) -> None:
        """Say what streams there are, and push the batches of an earlier run that windows may still need.

        `idle_ms` says for the IRI of a stream of several parts how long a silent part holds it back.
        """
        self._streams = streams
        for iri, idle in (idle_ms or {}).items():
            self._parts[iri] = PartWatermarks([each.name for each in streams.values() if each.iri == iri], idle)
        self._restore()
        self._worker = threading.Thread(target=self._work, name="freshet-engine", daemon=True)
        self._worker.start()

    def _restore(self) -> None:
        if self._log is None or not self._log.entries:
            return
        self._reported = self._log.entries[-1].passed
        self._restoring = True
        for entry, table in self._log.tables():
            stream = self._streams.get(entry.stream)
            if stream is None or entry.layout != stream.fingerprint:
                raise InputError(
                    f"the checkpoint was made with another mapping, source or window of the stream {entry.stream}:"
                    " choose a new checkpoint folder"
                )
            for iri, watermark_ms in entry.watermarks.items():
                if iri in self._engine.streams:
                    self._engine.advance(iri, watermark_ms)
            self._push(stream, table)
        self._engine.drain()
        self._restoring = False
        self._flush()

    def batch(self, name: str, number: int, table: pa.Table, *, records: int, rejected: int, seconds: float) -> None:
        """A micro-batch of a stream, as it comes from Spark. It is safe in the log when this returns."""
        began = time.perf_counter()
        self.check()
        stream = self._streams[name]
        with self._order:
            if self._log is not None:
                if number <= self._log.last_batch(name):
                    return
                self._write(stream, number, table)
            if (parts := self._parts.get(stream.iri)) is not None:
                parts.comes(name)
            seconds += time.perf_counter() - began
            self._waiting.put(_Batch(stream, table, records, rejected, seconds))

    def part_is(self, name: str, doing: str) -> None:
        """Hear what a part of a stream does: whether it `waits` for data, `works` on some, or has `ended`."""
        if (parts := self._parts.get(self._streams[name].iri)) is not None:
            match doing:
                case "waits":
                    parts.waits(name)
                case "works":
                    parts.works(name)
                case "ended":
                    parts.ended(name)

    def check(self) -> None:
        """Raise what went wrong with a batch, if anything did."""
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """The end of all input: every window that has content closes."""
        self._settle()
        self._arrived_ms = None
        self._engine.finish()
        self._flush()

    def close(self) -> None:
        """Take in what is waiting, and close the sinks."""
        try:
            self._settle()
        finally:
            for sinks in self._sinks.values():
                for sink in sinks:
                    sink.close()

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
                batch = self._waiting.get(timeout=_LOOK_SECONDS if self._parts else None)
            except queue.Empty:
                self._attempt(self._pass_silent_parts)
                continue
            if batch is None:
                return
            self._attempt(self._take, batch)
            self._attempt(self._pass_silent_parts)  # others may be held back while batches come without a pause

    def _attempt(self, step: Callable[..., None], *arguments: object) -> None:
        """After an error there is only room to be made, so that nobody waits for ever."""
        if self._error is None:
            try:
                step(*arguments)
            except BaseException as error:
                self._error = error

    def _pass_silent_parts(self) -> None:
        """Let streams go on that a part has held back which has ended or been silent for long enough."""
        for iri, parts in self._parts.items():
            level = parts.level()
            if level is not None and level > self._engine.streams[iri].watermark_ms:
                self._engine.advance(iri, level)
                self._flush()

    def _take(self, batch: _Batch) -> None:
        began = time.perf_counter()
        state = self._engine.streams[batch.stream.iri]
        late = state.late
        arrived = batch.table.column("arrived").to_numpy()
        self._arrived_ms = int(arrived.min()) if len(arrived) else None
        self._push(batch.stream, batch.table)
        if (parts := self._parts.get(batch.stream.iri)) is not None:
            parts.came(batch.stream.name)
        self._flush()
        if self._log is not None:
            self._trim(self._log)
        seconds = batch.seconds + time.perf_counter() - began
        self.batch_seconds += seconds
        self._metrics.batch(
            batch.stream.stream,
            records=batch.records,
            rejected=batch.rejected,
            late=state.late - late,
            watermark_ms=state.watermark_ms if state.elements else None,
            seconds=seconds,
        )

    def deliver(self, report: Report) -> None:
        """A report of the engine, to the sinks of its query."""
        reported = self._reported.get(report.query)
        sinks = self._sinks.get(report.query, [])
        if reported is not None and self._engine.moment(report.query) <= reported:
            for sink in sinks:
                sink.pass_over(report)
            return
        for sink in sinks:
            sink.deliver(report)
            if report.freshness is not None:  # it comes from a thread of its own, when no batch is there to flush it
                sink.flush()
        if self._restoring:
            return
        latency_ms = None if self._arrived_ms is None else max(0.0, time.time() * 1000 - self._arrived_ms)
        shown = report.shown
        self._metrics.report(
            report.query,
            time_ms=report.time_ms,
            variables=shown.variables,
            rows=len(shown.rows),
            first_rows=shown_rows(report, self._engine.dictionary),
            latency_ms=latency_ms,
            freshness=report.freshness,
        )

    def _push(self, stream: StreamIntake, table: pa.Table) -> None:
        began = time.perf_counter()
        with self._engine.dictionary.pins:  # nothing holds the elements' terms until the engine has them
            elements = elements_of(table, stream.layout, self._engine.dictionary)
            # Spark reads the files of a batch side by side, so the order inside a batch means nothing: time decides.
            self._engine.push(stream.iri, in_order([elements]) if len(elements.times) else elements)
        self._engine.forget()
        self._engine.drain(_MOST_BEHIND)
        # Records whose triples nobody wants move the watermark too.
        reached = last_time(table) - stream.lateness_ms
        if (parts := self._parts.get(stream.iri)) is not None:
            if len(table):
                parts.moved(stream.name, reached)
            level = parts.level()
            reached = BEFORE_ALL_TIME if level is None else level
        self._engine.advance(stream.iri, reached)
        self.engine_seconds += time.perf_counter() - began

    def _flush(self) -> None:
        for sinks in self._sinks.values():
            for sink in sinks:
                sink.flush()

    def _write(self, stream: StreamIntake, number: int, table: pa.Table) -> None:
        assert self._log is not None
        needed_ms = self._engine.needed_from()  # before `passed`: while it is asked for, the engine may go on
        self._log.append(
            LogEntry(
                sequence=self._log.next_sequence,
                stream=stream.name,
                batch=number,
                layout=stream.fingerprint,
                last_ms=last_time(table),
                watermarks={iri: state.watermark_ms for iri, state in self._engine.streams.items()},
                passed=self._engine.passed(),
                needed_ms=needed_ms,
            ),
            table,
        )

    def _trim(self, log: BatchLog) -> None:
        """Let go of batches that no window will need, also if the newest batch has to be taken again.

        What the stored graph has absorbed is needed for good.
        """
        absorbed = frozenset(
            stream.name for stream in self._streams.values() if self._engine.streams[stream.iri].absorb is not None
        )
        log.trim(log.entries[-1].needed_ms, absorbed)


def shown_rows(report: Report, dictionary: Dictionary) -> list[list[str]]:
    """The first few rows of a report, as text for the eye."""
    return [[show_term(term) for term in dictionary.decode_many(row)] for row in report.shown.rows[:KEPT_ROWS]]
