"""Spark's start, beside what a run has to import, load and register in the meantime."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from freshet.rml.sources import KafkaSource
from freshet.runtime.pipeline_model import KafkaSinkSection, Pipeline
from freshet.runtime.sub_streams import split_stream

if TYPE_CHECKING:
    from freshet.spark.session import SparkSession


@contextmanager
def starting_spark(pipeline: Pipeline) -> Iterator[Future[SparkSession]]:
    """Spark for a pipeline, started in a thread of its own while the graph is loaded and queries are registered."""
    from freshet.spark.jvm import start_jvm
    from freshet.spark.settings import all_settings

    config, master = dict(pipeline.spark.config), pipeline.spark.master
    if uses_kafka(pipeline):
        from freshet.spark.live.connector import kafka_settings

        config |= kafka_settings(config)
    jvm = start_jvm(all_settings(config), master)
    # Imported here: two threads that import at once can meet half of a module.
    from freshet.spark.session import spark_session

    def start() -> SparkSession:
        return spark_session(config, master=master, jvm=jvm)

    with ThreadPoolExecutor(1, thread_name_prefix="freshet-spark") as thread:
        spark = thread.submit(start)
        try:
            yield spark
        finally:
            if spark.exception() is None:
                spark.result().stop()


def needs_spark(pipeline: Pipeline) -> bool:
    """Whether Spark has anything to do: where all streams are fed by POST, it has not."""
    return uses_kafka(pipeline) or not all(stream.post for stream in pipeline.streams.values())


def uses_kafka(pipeline: Pipeline) -> bool:
    """Whether any stream or sink of a pipeline is a topic."""
    sinks = (sink for query in pipeline.queries.values() for sink in query.sinks)
    inputs = (given for stream in pipeline.streams.values() for each in split_stream(stream) for given in each.inputs)
    return any(isinstance(sink, KafkaSinkSection) for sink in sinks) or any(
        isinstance(given.source, KafkaSource) for given in inputs
    )
