"""Lines of timed N-Triples as the columns of encoded records."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from freshet.sources.columns import ARRIVED, FILE, LINE
from freshet.spark import records

SCHEMA = (
    "line STRING, file STRING, arrived BIGINT, time BIGINT, text_0 STRING, text_1 STRING, text_2 STRING, text_3 STRING,"
    " reason STRING"
)


def timed_records(documents: DataFrame, blank_scope: str, *, one_line: bool) -> DataFrame:
    """Each line of each document as a timed triple, or with the reason why it is none."""

    def split(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield timed_columns(batch, blank_scope)

    if not one_line:
        lines = F.explode(F.split(F.col(LINE), "\r?\n")).alias(LINE)
        documents = documents.select(lines, FILE, ARRIVED)
    return records.without_blank_lines(documents).mapInArrow(split, SCHEMA)


def timed_columns(batch: pa.RecordBatch, scope: str) -> pa.RecordBatch:
    """The same of a batch of lines."""
    from freshet.rdf.ntriples import split_timed

    made = split_timed(batch.column("line"), blank_scope=scope)
    kept = [batch.column(name) for name in ("line", "file", "arrived")]
    made_columns = [made.times, made.subjects, made.predicates, made.objects, made.graphs, made.reasons]
    columns = [*kept, *(column.cast(pa.string()) if at else column for at, column in enumerate(made_columns))]
    names = ["line", "file", "arrived", "time", "text_0", "text_1", "text_2", "text_3", "reason"]
    # Comments are neither records nor rejects.
    return pa.RecordBatch.from_arrays(columns, names=names).filter(
        pc.or_(pc.is_valid(made.times), pc.is_valid(made.reasons))
    )
