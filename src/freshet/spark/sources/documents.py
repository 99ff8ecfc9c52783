"""Documents of streams as records, on Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from freshet.mapper.open import parser_of
from freshet.mapper.operations import FunctionTable
from freshet.rml.sources import LogicalSource
from freshet.sources.columns import ARRIVED, DEFAULT_LIMITS, FILE, LINE, Limits, Plan
from freshet.sources.documents import parsed_batch
from freshet.spark.functions import send_users
from freshet.spark.records import Records, spark_schema


def parse_documents(
    documents: DataFrame,
    source: LogicalSource,
    references: Collection[str],
    *,
    header: list[str] | None = None,
    keep: bool = True,
    numbered: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    functions: FunctionTable | None = None,
) -> Records:
    """The records of documents, which have LINE, FILE and ARRIVED; these stay beside each record.

    `keep=False`: text and file only of what is rejected. `numbered`: with the lines of CSV and XML
    records. `header`: the columns of CSV documents of one record each; one that is the header itself is skipped.
    Documents with nothing in them but spaces are none.
    """
    plan = Plan(tuple(sorted(set(references))), keep, limits, numbered=numbered)
    if functions is not None:
        send_users(functions)
    shape, parse = parser_of(source, plan, header, functions)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield parsed_batch(batch, shape, parse, keep)

    needed = documents.select(LINE, FILE, ARRIVED)
    return Records(needed.mapInArrow(run, spark_schema(shape)), shape.many)
