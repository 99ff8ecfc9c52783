"""A pipeline file, run: Spark feeds the engine batch by batch until the input ends or it is stopped."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from freshet.native.streams.element_log import MOST_ELEMENTS
from freshet.rdf.wording import show_count
from freshet.results.answers import AnswerBatch
from freshet.rml.join_counts import JoinCounts
from freshet.rml.mapping_slices import JoinSlice, join_name
from freshet.runtime.checkpoint import Checkpoint, needs_everything
from freshet.runtime.display import show_dropped, show_freshness
from freshet.runtime.ingest import Ingest, shown_rows
from freshet.runtime.intake import StreamIntake
from freshet.runtime.join_notes import JoinNotes
from freshet.runtime.kafka_sink import KafkaSink
from freshet.runtime.ldes_sink import LdesSink
from freshet.runtime.metrics import Metrics
from freshet.runtime.pipeline_model import (
    AbsorbSection,
    FileSinkSection,
    KafkaSinkSection,
    LdesSinkSection,
    Pipeline,
    QuerySection,
    Stream,
)
from freshet.runtime.progress import Progress, ShownReport, progress, summary
from freshet.runtime.query_failure import QueryFailure
from freshet.runtime.query_graphs import check_graphs
from freshet.runtime.run_id import run_id
from freshet.runtime.session import Session
from freshet.runtime.session_checks import AbsorbOption
from freshet.runtime.sinks import FileSink, Sink
from freshet.runtime.spark_offsets import go_back
from freshet.runtime.spark_start import uses_kafka
from freshet.runtime.sub_streams import carried_predicates, split_stream, user_functions
from freshet.runtime.warming import warm_kernels
from freshet.spark.live.topics import TopicToWrite
from freshet.syntax.parser import parse_query

if TYPE_CHECKING:
    from freshet.runtime.report_log import ReportLog
    from freshet.spark.running import RunningStream
    from freshet.spark.session import SparkSession
    from freshet.spark.stream import EncodedStream

_POLL_SECONDS = 0.05
_LOOKS_A_COUNT = 40
_KEPT_MS = 10_000
_SILENT_SOURCE_MS = 10_000  # how long a silent source holds back the others of its stream, where nothing is said


def run_pipeline(pipeline: Pipeline, spark: Future[SparkSession], *, until_done: bool) -> bool:
    """Run a pipeline, and say at the end what was done. False where a query failed on the way."""
    metrics = Metrics(pipeline.streams)
    view = progress(metrics)
    with PipelineRun(pipeline, metrics, view) as run:
        view.note("starting Spark")
        run.start(spark, until_done=until_done)
        with stop_signals() as stopped, view:
            run.wait(stopped)
    for state in run.session.engine.streams.values():
        for line in show_dropped(state):
            view.note(line)
    view.note(summary(metrics))
    if metrics.snapshot().rejected:
        view.note(f"rejected records and their reasons are in {pipeline.rejects}")
    return not run.session.failures


class PipelineRun:
    """One run of a pipeline: the graph is loaded and the queries registered at once, without Spark; then it is started,
    waited for, and closed."""

    def __init__(self, pipeline: Pipeline, metrics: Metrics, view: Progress, *, is_served: bool = False) -> None:
        """If it `is_served`, queries can come while it runs: so triples that no query reads yet are made too."""
        self._pipeline = pipeline
        self._is_served = is_served
        self._view = view
        self._metrics = metrics
        self._closing = ExitStack()
        self._running: list[RunningStream] = []
        self._troubles: dict[str, str] = {}
        self._reported_waiting: set[str] = set()
        self._kafka_sinks: list[KafkaSink] = []
        self._joins: dict[str, str] = {}  # what joins are called, by the id of their sub-stream
        self._join_notes = JoinNotes(metrics)
        self._looks = 0
        self._folder = None if pipeline.checkpoint is None else pipeline.checkpoint.folder
        checkpoint = self._checkpoint = self._opened_checkpoint()
        stored = None if checkpoint is None else checkpoint.dataset
        self.session = session = Session(
            history=pipeline.history_ms,
            why_elements=MOST_ELEMENTS if is_served else 0,
            on_failure=self._failed,
            services=pipeline.services.settings(),
            stored=stored,
            window_bytes=pipeline.window_bytes,
        )
        durable = None
        if checkpoint is None:
            for graph in pipeline.graph:
                session.load(graph.file, graph=graph.iri)
        else:
            durable = session.journal_to(checkpoint)
            durable.recover((str(graph.file), graph.iri) for graph in pipeline.graph)
            for problem in checkpoint.problems:
                view.note(problem)
        self._sub_streams = {name: split_stream(stream) for name, stream in pipeline.streams.items()}
        for name, stream in pipeline.streams.items():
            held = len(self._sub_streams[name]) > 1
            session.stream(
                stream.iri,
                lateness_ms=stream.lateness_ms,
                absorb=_absorb_option(stream),
                held=held,
                graphs=stream.graphs,
            )
            session.engine.streams[stream.iri].carries = carried_predicates(self._sub_streams[name])
            if stream.post:
                session.engine.streams[stream.iri].idle_ms = stream.idle_ms or 0
        resume = checkpoint is not None and not checkpoint.is_new
        self.ingest = Ingest(session.engine, metrics, durable)
        session.engine.on_silent_evaluation = self.ingest.silent_evaluation
        self._run_id = run_id(self._folder)
        if not resume:
            self._check_graphs()
        for key, query in pipeline.queries.items():
            file = str(query.file) if query.file else None
            text = query.text or ""
            registered = session.register(
                text,
                name=query.name,
                rename=True,
                file=file,
                on_batch=self.ingest.deliver,
                report=query.report,
                every_ms=query.every_ms,
                accuracy=query.accuracy,
                latency_ms=query.latency_ms,
            )
            own = (registered.parsed and registered.parsed.name) or key
            if own != query.name and any(other.name == own for other in pipeline.queries.values()):
                view.note(f"the query '{key}' reports as {query.name}, because another has the name {own}")
            self.ingest.connect(registered.name, self._sinks(registered.name, query, resume))
            if checkpoint is not None and session.engine.keeps_everything(registered.name):
                view.note(needs_everything(registered.name))

    def _check_graphs(self) -> None:
        """Every graph that a query names is there. What the journal adds is there once it is replayed."""
        for query in self._pipeline.queries.values():
            text, file = query.text or "", str(query.file) if query.file else None
            check_graphs(self.session, parse_query(text, file=file), text, file=file)

    def keep_reports(self, most_bytes: int) -> None:
        """Keep the newest reports of all queries, for subscribers: before the start, so that nothing is missed."""
        folder = None if self._folder is None else self._folder / "reports"
        log = self.session.keep_reports(most_bytes, folder=folder)
        for query in self.session.queries():
            self.ingest.add_sink(query.name, LogSink(log))

    def start(self, spark: SparkSession | Future[SparkSession] | None, *, until_done: bool) -> None:
        """Take up an earlier run if there is one, and start the streams. Without Spark where nothing needs it."""
        pipeline = self._pipeline
        _keep_memory()
        warm_kernels()  # while the JVM starts
        if isinstance(spark, Future):
            spark = spark.result()
        elif spark is not None and uses_kafka(pipeline):
            from freshet.spark.live.connector import add_connector

            add_connector(spark)
        # Mappings are compiled to columns, and those need Spark.
        streams = {
            encoded.spec.name: (name, encoded)
            for name in pipeline.streams
            for encoded in self._encode_sub_streams(name)
        }
        self._joins = {
            sub_stream_id: f"{join_name(encoded.spec.mapping_slice)} ({sub_stream_id}, {_place(encoded)})"
            for sub_stream_id, (_, encoded) in streams.items()
            if isinstance(encoded.spec.mapping_slice, JoinSlice)
        }
        for join in self._joins.values():
            self._metrics.add_join_counts(join, JoinCounts())  # a join without any records is shown too
        if spark is not None:
            self._open_kafka_sinks(spark)
        self.ingest.open(
            {key: self._intake(name, encoded) for key, (name, encoded) in streams.items()},
            {
                stream.iri: None if until_done else stream.idle_ms or _SILENT_SOURCE_MS
                for name, stream in pipeline.streams.items()
                if len(self._sub_streams[name]) > 1 or (stream.idle_ms is not None and not stream.post)
            },
            {
                stream.iri
                for stream in pipeline.streams.values()
                if stream.idle_ms is not None and not stream.post and not until_done
            },
        )
        if self._checkpoint is not None and not self._checkpoint.is_new:
            self._check_graphs()
        self._take_up_added()
        for problem in self.ingest.join_problems():
            self._view.note(problem)
        for changed in self.ingest.changed_queries():
            self._view.note(
                f"query {changed}: is new, or was changed, since the checkpoint was made; its first windows have of"
                " what came before only what the checkpoint still keeps"
            )
        if self._folder is None:
            home = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="freshet-")))
        else:
            home = self._folder
        self._closing.callback(self._stop)
        for sub_stream_id in streams:
            if self._folder is not None and go_back(
                home / "spark" / sub_stream_id, self.ingest.last_batch(sub_stream_id)
            ):
                self._view.note(f"stream {sub_stream_id}: what was damaged is read again from its source")

        def start_stream(encoded: EncodedStream) -> None:
            assert spark is not None, "a stream that is read needs it"
            running = encoded.start(
                spark,
                self.ingest.batch,
                checkpoint=home / "spark" / encoded.spec.name,
                rejects=pipeline.rejects,
                until_done=until_done,
                lasting=self._folder is not None,
                last_batch=self.ingest.last_batch(encoded.spec.name),
            )
            self._running.append(running)

        # At once: the analysis of a plan keeps a single core busy.
        with ThreadPoolExecutor(len(streams) or 1, thread_name_prefix="freshet-start") as threads:
            list(threads.map(start_stream, [encoded for _, encoded in streams.values()]))

    def _take_up_added(self) -> None:
        """What clients registered and declared in an earlier run is there again."""
        if not self._is_served:
            return
        self.session.watch_streams()
        if self._checkpoint is not None and self.session.report_log is not None:
            self.session.report_log.go_on(query.name for query in self.session.queries())

    def wait(self, stopped: threading.Event) -> None:
        """Until the input has ended, in which case all windows close, or until it is stopped."""
        is_fed = any(stream.post for stream in self._pipeline.streams.values())  # and so never ends
        while is_fed or any(stream.active for stream in self._running):
            if stopped.wait(_POLL_SECONDS):
                return
            self.check()
        self.check()
        self._count_joins(now=True)
        self.ingest.finish()

    def check(self) -> None:
        """Raise what has gone wrong, if anything has, and say what keeps streams from being read."""
        self.ingest.check()
        for stream in self._running:
            stream.check()
            if (trouble := stream.trouble()) != self._troubles.get(stream.name, ""):
                self._troubles[stream.name] = trouble
                self._view.note(f"stream {stream.name}: {trouble or 'can be read again'}")
            self.ingest.note_activity(stream.name, stream.activity())
        self._report_waiting(self.ingest.waiting_for_room())
        if self._checkpoint is not None and self._checkpoint.trouble != self._troubles.get("", ""):
            self._troubles[""] = self._checkpoint.trouble
            self._view.note(self._checkpoint.trouble or "checkpoints can be written again")
        self._count_joins()

    def _report_waiting(self, waiting: set[str]) -> None:
        """Report streams that wait for others because windows are full: each once, however often it waits."""
        for name in sorted(waiting - self._reported_waiting):
            self._reported_waiting.add(name)
            self._view.note(f"stream {name}: waits for other streams, as windows have no room ('window_memory')")

    def _opened_checkpoint(self) -> Checkpoint | None:
        section = self._pipeline.checkpoint
        return None if section is None else Checkpoint(section.folder, every_seconds=section.every_ms / 1000)

    def _count_joins(self, *, now: bool = False) -> None:
        """What joins have found, and what they have not; Spark is not asked all the time."""
        self._looks = 0 if now else (self._looks + 1) % _LOOKS_A_COUNT
        if self._looks:
            return
        for stream in self._running:
            counts = stream.join_counts()
            if counts is None:
                continue
            if counts.late:
                self._metrics.late(stream.name.partition(".")[0], counts.late)
            if counts.given_up:
                self._view.note(
                    f"stream {stream.name}: gave up {show_count(counts.given_up, 'record')} that waited to be joined,"
                    " as more wait than may ('most_waiting')"
                )
            if note := self._join_notes.add_counts(self._joins[stream.name], counts):
                self._view.note(note)

    def drain(self) -> None:
        """Take everything that is there, then close all windows."""
        for stream in self._running:
            stream.drain()
        self.ingest.finish()

    def _failed(self, failure: QueryFailure) -> None:
        self._metrics.failed(failure.query, failure.reason)
        self._view.note(str(failure))

    def _stop(self) -> None:
        self.ingest.end_waits()
        self.session.close()  # first, so that no batch waits for a query that waits for remote data
        for stream in self._running:
            stream.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._closing.close()
        finally:
            self.session.close()
            self.ingest.close()

    def _encode_sub_streams(self, name: str) -> Iterator[EncodedStream]:
        """The sub-streams of a stream, compiled. The only one of a stream has its name."""
        from freshet.spark.stream import EncodedStream, StreamSpec

        stream, sub_streams = self._pipeline.streams[name], self._sub_streams[name]
        for number, sub_stream in enumerate(sub_streams, 1):
            yield EncodedStream(
                StreamSpec(
                    name=name if len(sub_streams) == 1 else f"{name}.{number}",
                    inputs=sub_stream.inputs,
                    mapping_slice=sub_stream.mapping_slice,
                    blank_scope=self.session.blank_scope(stream.iri),
                    wanted=None if self._is_served else self.session.engine.wanted_predicates(stream.iri),
                    lateness_ms=stream.lateness_ms,
                    window=sub_stream.window,
                    functions=user_functions(stream),
                    origins=self._is_served if stream.origins is None else stream.origins,
                    join_here=_joins_here(stream, self._pipeline.spark.master),
                    graphs=stream.graphs,
                )
            )

    def _intake(self, name: str, encoded: EncodedStream) -> StreamIntake:
        stream = self._pipeline.streams[name]
        return StreamIntake(
            encoded.spec.name,
            stream.iri,
            encoded.layout,
            name,
            stream.lateness_ms,
            encoded.fingerprint_inputs,
            encoded.join,
        )

    def _open_kafka_sinks(self, spark: SparkSession) -> None:
        from freshet.spark.live.kafka_writer import KafkaWriter

        for sink in self._kafka_sinks:
            sink.open(KafkaWriter(spark, sink.topic))

    def _sinks(self, name: str, query: QuerySection, resume: bool) -> list[Sink]:
        made: list[Sink] = []
        for sink in query.sinks:
            if isinstance(sink, FileSinkSection):
                made.append(FileSink(sink.folder, resume=resume))
            elif isinstance(sink, LdesSinkSection):
                made.append(LdesSink(sink.ldes.folder, resume=resume, per_page=sink.ldes.members))
            elif isinstance(sink, KafkaSinkSection):
                topic = TopicToWrite(",".join(sink.kafka.brokers), sink.kafka.topic, tuple(sink.kafka.options.items()))
                to_topic = KafkaSink(topic, name, run=self._run_id, resume=resume)
                self._kafka_sinks.append(to_topic)
                made.append(to_topic)
            else:
                made.append(ViewSink(self._view))
        return made


class LogSink:
    """Reports in a log, which leaves out those that it has already."""

    def __init__(self, log: ReportLog) -> None:
        self._log = log

    def deliver(self, batch: AnswerBatch) -> None:
        self._log.add(batch)

    def skip(self, batch: AnswerBatch) -> None:
        """The log has them."""

    def flush(self) -> None:
        """Subscribers have been notified."""

    def sync(self) -> None:
        self._log.sync()

    def close(self) -> None:
        self._log.sync()


class ViewSink:
    """Reports on the console, by way of the progress view."""

    def __init__(self, view: Progress) -> None:
        self._view = view

    def deliver(self, batch: AnswerBatch) -> None:
        for number, time_ms in enumerate(batch.times.tolist()):
            count, rows = shown_rows(batch, number)
            freshness = show_freshness(batch.freshness)
            self._view.report(ShownReport(batch.query, time_ms, batch.shown[0], count, rows, freshness))

    def skip(self, batch: AnswerBatch) -> None:
        """They were shown before the restart."""

    def flush(self) -> None:
        """Lines are out as soon as they are written."""

    def sync(self) -> None:
        """What was shown was shown."""

    def close(self) -> None:
        """The view closes itself."""


def _joins_here(stream: Stream, master: str) -> bool:
    """Whether the pairs of a stream's joins are found in this process."""
    on = "auto" if stream.join is None else stream.join.on
    return master.startswith("local") if on == "auto" else on == "driver"


def _place(encoded: EncodedStream) -> str:
    return "in Spark's state store" if encoded.join is None else "on the driver"


def _absorb_option(stream: Stream) -> AbsorbOption:
    absorb = stream.absorb
    if not isinstance(absorb, AbsorbSection):
        return absorb or False
    kinds = {"latest": absorb.latest, "predicates": absorb.predicates, "keep": absorb.keep}
    return {name: given for name, given in kinds.items() if given is not None}


def _keep_memory() -> None:
    """Let Arrow keep the memory of a batch for the next.

    Its usual allocator gives it back, and the system clears it before it is given out again.
    """
    with suppress(NotImplementedError):  # not every build of Arrow has jemalloc
        pa.set_memory_pool(pa.jemalloc_memory_pool())
        pa.jemalloc_set_decay_ms(_KEPT_MS)


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, instead of ending the process where it stands.

    To be entered once Spark is up, since Spark puts a handler of its own.
    """
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
