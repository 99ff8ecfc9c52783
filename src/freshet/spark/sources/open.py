"""Bounded sources as records: what a mapping's logical source has, a row a record."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from freshet.rdf.errors import UnsupportedError
from freshet.rml.sources import FileSource, Formulation, LogicalSource
from freshet.spark.sources.columns import DEFAULT_LIMITS, Limits, Plan, Records, Shape, Task
from freshet.spark.sources.csv_files import csv_tasks
from freshet.spark.sources.json_files import json_tasks


def open_records(
    spark: SparkSession,
    source: LogicalSource,
    references: Collection[str],
    *,
    keep: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Records:
    """The records of a file or a database, with what the references find in each.

    `keep` asks for text and file of every record; otherwise only rejected ones have them. What can be told to be wrong
    before anything runs (a missing file, a missing column, a path that is none) is an error that names it.
    """
    plan = Plan(tuple(sorted(set(references))), keep, limits, spark.sparkContext.defaultParallelism)
    return run_tasks(spark, *tasks_of(source, plan))


def tasks_of(source: LogicalSource, plan: Plan) -> tuple[Shape, Sequence[Task]]:
    """The columns of a source, and the tasks that read it."""
    if isinstance(source.source, FileSource):
        match source.formulation:
            case Formulation.CSV:
                return csv_tasks(source, source.source, plan)
            case Formulation.JSON:
                return json_tasks(source, source.source, plan)
    raise UnsupportedError(f"{source.formulation} of {type(source.source).__name__}")


def run_tasks(spark: SparkSession, shape: Shape, tasks: Sequence[Task]) -> Records:
    """Records of tasks that Spark runs, each in one of its own."""

    def run(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from tasks[number]()

    slices = min(len(tasks), 64 * spark.sparkContext.defaultParallelism)
    frame = spark.range(0, len(tasks), 1, slices).mapInArrow(run, shape.schema)
    return Records(frame, shape.many)
