"""Bounded sources as records: what a mapping's logical source has, a row a record."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from freshet.mapper.open import tasks_of
from freshet.mapper.operations import FunctionTable
from freshet.rml.percent import percent_encoded
from freshet.rml.sources import DatabaseSource, LogicalSource
from freshet.sources.columns import DEFAULT_LIMITS, Limits, Plan, RecordShape, Task, encoded_name, kind_name, text_name
from freshet.sources.open import needs_jdbc
from freshet.spark.functions import send_users
from freshet.spark.records import Records, spark_schema
from freshet.spark.sources.jdbc import jdbc_records


def open_records(
    spark: SparkSession,
    source: LogicalSource,
    references: Collection[str],
    *,
    encoded: Collection[str] = (),
    keep: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    functions: FunctionTable | None = None,
) -> Records:
    """The records of a file or a database, with what the references find in each.

    What those in `encoded` find is wanted percent-encoded, as it stands in an IRI: `Records.encoded` says for which of
    them there is such a column; the others have their text. `keep` asks for text and file of every record; otherwise
    only rejected ones have them. What is known to be wrong before anything runs (a missing file, a missing column, a
    path that is none) is an error that names it.
    """
    plan = Plan(tuple(sorted({*references, *encoded})), keep, limits, spark.sparkContext.defaultParallelism)
    given = source.source
    if isinstance(given, DatabaseSource) and needs_jdbc(given):
        return jdbc_records(spark, source, given, plan)
    if functions is not None:
        send_users(functions)
    return run_tasks(spark, *tasks_of(source, plan, functions), frozenset(references), frozenset(encoded))


def run_tasks(
    spark: SparkSession, shape: RecordShape, tasks: Sequence[Task], plain: frozenset[str], encoded: frozenset[str]
) -> Records:
    """Records of tasks that Spark runs, each in one of its own."""
    chosen = sorted(encoded - shape.many)
    dropped = [name for each in chosen if each not in plain for name in (text_name(each), kind_name(each))]
    dropped = [name for name in dropped if name in shape.names]
    fields = [field for field in spark_schema(shape) if field.name not in dropped]
    fields += [T.StructField(encoded_name(each), T.StringType()) for each in chosen]

    def run(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for made in tasks[number]():
                    yield _with_encoded(made, chosen, dropped)

    slices = min(len(tasks), 64 * spark.sparkContext.defaultParallelism)
    frame = spark.range(0, len(tasks), 1, slices).mapInArrow(run, T.StructType(fields))
    return Records(frame, shape.many, frozenset(chosen))


def _with_encoded(made: pa.RecordBatch, chosen: Sequence[str], dropped: Sequence[str]) -> pa.RecordBatch:
    """Records with the columns of encoded texts, without those that only they need."""
    for each in chosen:
        made = made.append_column(encoded_name(each), percent_encoded(made.column(text_name(each))))
    return made.drop_columns(dropped) if dropped else made
