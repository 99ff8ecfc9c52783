"""Runs of pipelines in this process, in a Spark session that is there: to start another takes longer than most runs."""

from __future__ import annotations

import threading
from pathlib import Path

from pyspark.sql import SparkSession

from freshet.runtime.metrics import Metrics
from freshet.runtime.pipeline_file import read_pipeline
from freshet.runtime.progress import QuietProgress, summary
from freshet.runtime.run import PipelineRun


class Notes(QuietProgress):
    """What a run says on its way."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def run_to_the_end(file: Path, spark: SparkSession) -> str:
    """Run a pipeline to the end of its input; gives what `freshet run --until-done` would say."""
    pipeline, view = read_pipeline(file), Notes()
    metrics = Metrics(pipeline.streams)
    with PipelineRun(pipeline, metrics, view) as run:
        run.start(spark, until_done=True)
        run.wait(threading.Event())
    assert not run.session.failures
    return "\n".join([*view.notes, summary(metrics)])
