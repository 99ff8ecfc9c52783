"""A pipeline file, run: Spark feeds the engine batch by batch until the input ends or somebody stops it."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from freshet.results.report import Report
from freshet.runtime.batch_log import BatchLog
from freshet.runtime.ingest import Ingest, StreamIntake, shown_rows
from freshet.runtime.metrics import Metrics
from freshet.runtime.pipeline_file import read_pipeline
from freshet.runtime.pipeline_model import ContinuousQuery, FilesSink, Pipeline, Stream
from freshet.runtime.progress import Progress, progress, summary
from freshet.runtime.session import QueryFailure, Session
from freshet.runtime.sinks import FileSink, Sink
from freshet.runtime.warming import warm_kernels

if TYPE_CHECKING:
    from freshet.spark.stream import EncodedStream, RunningStream

_POLL_SECONDS = 0.05
_KEPT_MS = 10_000


def run_pipeline(path: Path, *, until_done: bool) -> bool:
    """Check a pipeline file, run it, and say at the end what was done. False where a query failed on the way."""
    pipeline = read_pipeline(path)
    metrics = Metrics(pipeline.streams)
    view = progress(metrics)
    with PipelineRun(pipeline, metrics, view) as run:
        view.note("starting Spark")
        run.start(until_done=until_done)
        with stop_signals() as stopped, view:
            run.wait(stopped)
    view.note(summary(metrics))
    return not run.session.failures


class PipelineRun:
    """One run of a pipeline: the graph is loaded and the queries registered at once, without Spark; then it is started,
    waited for, and closed."""

    def __init__(self, pipeline: Pipeline, metrics: Metrics, view: Progress) -> None:
        self._pipeline = pipeline
        self._view = view
        self._metrics = metrics
        self._closing = ExitStack()
        self._running: list[RunningStream] = []
        self.session = session = Session(on_failure=self._failed)
        session.load(*pipeline.graph)
        for stream in pipeline.streams.values():
            session.stream(stream.iri, lateness_ms=stream.lateness_ms, absorb=_absorbed(stream))
        log = BatchLog(pipeline.checkpoint / "batches") if pipeline.checkpoint else None
        resume = log is not None and bool(log.entries)
        self.ingest = Ingest(session.engine, metrics, log)
        for name, query in pipeline.queries.items():
            file = str(query.file) if query.file else None
            registered = session.register(
                query.text or "",
                name=name,
                file=file,
                on_report=self.ingest.deliver,
                report=query.report,
                every_ms=query.every_ms,
            )
            self.ingest.connect(registered.name, self._sinks(query, resume))
        self._streams = {name: self._encoded(name, stream) for name, stream in pipeline.streams.items()}

    def start(self, *, until_done: bool, spark: Any = None) -> None:
        """Take up an earlier run if there is one, start Spark unless it is given, and start the streams."""
        from freshet.spark.session import spark_session

        pipeline = self._pipeline
        _keep_memory()
        # While the JVM starts there is time to get the kernels ready.
        warming = threading.Thread(target=warm_kernels, name="freshet-warming")
        warming.start()
        if spark is None:
            spark = spark_session(pipeline.spark.config, master=pipeline.spark.master)
            self._closing.callback(spark.stop)
        warming.join()
        self.ingest.open(
            {
                name: StreamIntake(name, pipeline.streams[name].iri, stream.layout)
                for name, stream in self._streams.items()
            }
        )
        if pipeline.checkpoint is None:
            home = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="freshet-")))
        else:
            home = pipeline.checkpoint
        self._closing.callback(self._stop)
        for name, stream in self._streams.items():
            self._running.append(
                stream.start(
                    spark,
                    self.ingest.batch,
                    checkpoint=home / "spark" / name,
                    rejects=pipeline.rejects,
                    until_done=until_done,
                )
            )

    def wait(self, stopped: threading.Event) -> None:
        """Until the input has ended, in which case all windows close, or until somebody asks to stop."""
        while any(stream.active for stream in self._running):
            if stopped.wait(_POLL_SECONDS):
                return
            self.check()
        self.check()
        self.ingest.finish()

    def check(self) -> None:
        """Raise what has gone wrong, if anything has."""
        self.ingest.check()
        for stream in self._running:
            stream.check()

    def drain(self) -> None:
        """Take everything that is there, then close all windows."""
        for stream in self._running:
            stream.drain()
        self.ingest.finish()

    def _failed(self, failure: QueryFailure) -> None:
        self._metrics.failed(failure.query, failure.reason)
        self._view.note(str(failure))

    def _stop(self) -> None:
        for stream in self._running:
            stream.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()
        self.ingest.close()

    def _encoded(self, name: str, stream: Stream) -> EncodedStream:
        from freshet.rml.reader import read_mapping
        from freshet.spark.stream import EncodedStream, StreamSpec

        return EncodedStream(
            StreamSpec(
                name=name,
                folder=stream.source.folder,
                format=stream.source.format,
                mapping=read_mapping(stream.mapping) if stream.mapping else None,
                time_reference=stream.time.reference if stream.time else "",
                time_form=stream.time.form if stream.time else "",
                pattern=stream.source.pattern,
                files_per_batch=stream.source.files_per_batch,
                blank_scope=self.session.blank_scope(stream.iri),
                wanted=self.session.engine.wanted_predicates(stream.iri),
            )
        )

    def _sinks(self, query: ContinuousQuery, resume: bool) -> list[Sink]:
        return [
            FileSink(sink.folder, self.session.dictionary, resume=resume)
            if isinstance(sink, FilesSink)
            else ViewSink(self._view, self.session)
            for sink in query.sinks
        ]


class ViewSink:
    """Reports on the console, by way of the progress view."""

    def __init__(self, view: Progress, session: Session) -> None:
        self._view = view
        self._session = session

    def deliver(self, report: Report) -> None:
        rows = shown_rows(report, self._session.dictionary)
        shown = report.shown
        self._view.report(report.query, report.time_ms, shown.variables, len(shown.rows), rows)

    def pass_over(self, report: Report) -> None:
        """It was shown before the restart."""

    def flush(self) -> None:
        """Lines are out as soon as they are written."""

    def close(self) -> None:
        """The view closes itself."""


def _absorbed(stream: Stream) -> bool | tuple[str, ...]:
    return True if stream.absorb == "all" else stream.absorb or False


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
