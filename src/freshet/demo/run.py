"""`make demo`: a town that lives for a while, watched by three queries."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from freshet.demo.city import Town
from freshet.demo.folder import IN, write_demo
from freshet.demo.live import write_live
from freshet.demo.observations import Faults
from freshet.rdf.errors import InputError
from freshet.runtime.metrics import Metrics
from freshet.runtime.pipeline_file import read_pipeline
from freshet.runtime.spark_start import starting_spark

# A record in ten thousand is broken and some come a little late, as in life.
FAULTS = Faults(malformed_rate=0.0001, disorder_ms=8_000)

# Ticks that are there when Spark starts: the first answer needs no more, and until it comes the town stands still. So
# what the run says of latency is that of a pipeline that is up.
AHEAD = 2


@contextmanager
def _set_at_end(event: threading.Event) -> Iterator[None]:
    try:
        yield
    finally:
        event.set()


def clear(folder: Path) -> None:
    """Take away an earlier demo, and nothing else."""
    if not folder.exists():
        return
    if not (folder / "city.ttl").is_file() and any(folder.iterdir()):
        raise InputError("is not empty and holds no earlier demo", file=str(folder), hint="choose another folder")
    shutil.rmtree(folder)


def _has_answered(metrics: Metrics) -> bool:
    """Whether a query has answered, or failed: then it is no use to wait for it."""
    return any(query.reports or query.failure for query in metrics.snapshot().queries.values())


def town_writer(
    folder: Path, town: Town, *, seconds: float, stopped: Callable[[], bool], ready: Callable[[], bool] = lambda: True
) -> threading.Thread:
    """A thread that writes a town's observations as they would arrive."""
    return threading.Thread(
        target=write_live,
        args=(folder / IN, town),
        kwargs={
            "seconds": seconds,
            "faults": FAULTS,
            "tick_seconds": 1.0,
            "ahead": AHEAD,
            "ready": ready,
            "stopped": stopped,
        },
    )


def run_demo(folder: Path, *, seconds: float, prepare: Callable[[], object] = lambda: None) -> None:
    """Write a town's observations as they would arrive, and run the pipeline over them. What there is to `prepare`
    before that is done while Spark starts."""
    clear(folder)
    town = write_demo(folder)
    pipeline = read_pipeline(folder / "pipeline.yaml")
    metrics = Metrics(pipeline.streams)
    stopping = threading.Event()
    writer = town_writer(folder, town, seconds=seconds, ready=lambda: _has_answered(metrics), stopped=stopping.is_set)
    with _set_at_end(stopping), starting_spark(pipeline) as spark:
        prepare()
        writer.start()  # what it writes ahead is there when Spark is
        from freshet.runtime.progress import progress, summary  # much to import, while the JVM starts
        from freshet.runtime.run import PipelineRun, stop_signals

        view = progress(metrics)
        view.note(f"A town wakes up in {folder}: traffic, parking and weather, and three questions about them.")
        view.note("Starting Spark ...")
        with PipelineRun(pipeline, metrics, view) as run:
            run.start(spark, until_done=False)
            with stop_signals() as stopped, view:
                while writer.is_alive() and not stopped.wait(0.1):
                    run.check()
                stopping.set()
                writer.join()
                run.drain()
    view.note(summary(metrics))
    view.note(f"All answers are in {folder / 'out'}, what could not be read in {folder / 'rejects'}.")
    view.note("To see the town in a browser: make demo ARGS=--web, or freshet demo --web.")
