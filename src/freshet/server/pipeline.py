"""A pipeline behind HTTP: Spark feeds its streams in the background, and its queries can be subscribed to."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Self

from freshet.runtime.metrics import Metrics
from freshet.runtime.pipeline_model import Pipeline
from freshet.runtime.progress import ShownReport
from freshet.runtime.run import PipelineRun
from freshet.runtime.spark_start import needs_spark, starting_spark
from freshet.runtime.sub_streams import posted_mapping
from freshet.server.logs import log_fields
from freshet.server.pipeline_rejects import PipelineRejects
from freshet.server.problems import Problem
from freshet.server.served import Served, serve_session
from freshet.server.settings import ServerSettings

_LOG = logging.getLogger("freshet.server.pipeline")


class LogView:
    """What a pipeline shows while it runs, as lines of the log."""

    def report(self, shown: ShownReport) -> None:
        _LOG.debug("report", extra=log_fields(query=shown.query, time=shown.time_ms, rows=shown.rows))

    def note(self, message: str) -> None:
        _LOG.info("%s", message)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Lines are out as soon as they are written."""


@contextmanager
def served_pipeline(pipeline: Pipeline, settings: ServerSettings) -> Iterator[Served]:
    """What serves a pipeline that runs until the end of the block. What goes wrong with it ends the server, and is
    raised at the end."""
    with starting_spark(pipeline) if needs_spark(pipeline) else nullcontext() as spark:
        view = LogView()
        counts = Metrics(pipeline.streams)
        with PipelineRun(pipeline, counts, view, is_served=True) as run:
            run.keep_reports(settings.limits.kept_bytes)
            folder = None if pipeline.checkpoint is None else pipeline.checkpoint.folder
            shared = serve_session(run.session, settings, folder)
            iris = {name: stream.iri for name, stream in pipeline.streams.items()}
            for stream in pipeline.streams.values():
                if stream.post and (mapping := posted_mapping(stream)) is not None:
                    shared.mappings.define(stream.iri, mapping)
            shared.fed_elsewhere = frozenset(stream.iri for stream in pipeline.streams.values() if not stream.post)
            rejects = PipelineRejects(pipeline.rejects, iris, counts, time.time_ns() // 1_000_000)
            shared.rejects.pipeline, shared.records.of_pipeline = rejects, rejects.records
            stopped = threading.Event()
            started = shared.started = Future()

            def work() -> None:
                if spark is not None:
                    view.note("starting Spark")
                try:
                    run.start(spark, until_done=False)
                except BaseException:
                    started.set_exception(Problem(503, "the pipeline could not be started"))
                    raise
                started.set_result(None)
                view.note("the pipeline runs")
                run.wait(stopped)

            background = _Background(work, lambda: shared.end())
            try:
                yield shared
            finally:
                stopped.set()
                background.join()
                shared.close()
            background.check()


class _Background:
    """A thread whose failure is kept."""

    def __init__(self, work: Callable[[], None], on_failure: Callable[[], None]) -> None:
        self._work = work
        self._on_failure = on_failure
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="freshet-pipeline", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error
            self._on_failure()

    def join(self) -> None:
        self._thread.join()

    def check(self) -> None:
        """Raise what went wrong."""
        if self._error is not None:
            raise self._error
