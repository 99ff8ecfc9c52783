"""Records of a source as columns of texts, with the reason where a line cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from freshet.rml.json_lines import path_tree, read_lines
from freshet.rml.model import Reference

LINE, FILE, ARRIVED, REASON = "line", "file", "arrived", "reason"
_PARSED, _CORRUPT = "parsed", "_corrupt"


def lines(spark: SparkSession, folder: str, pattern: str | None, files_per_batch: int | None) -> DataFrame:
    """The lines of the files in a folder, as a stream: the text, the file, and when the file was last modified."""
    reader = spark.readStream.format("text")
    if pattern is not None:
        reader = reader.option("pathGlobFilter", pattern)
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    return (
        reader.load(folder)
        .select(
            F.col("value").alias(LINE),
            F.col("_metadata.file_path").alias(FILE),
            F.unix_millis(F.col("_metadata.file_modification_time")).alias(ARRIVED),
        )
        .where(F.trim(F.col(LINE)) != "")
    )


def json_records(records: DataFrame, references: Iterable[Reference]) -> DataFrame:
    """JSON lines as the texts of what is referred to, with the kind of each (`freshet.kernels.json_values`).

    The lines stay beside them, since a record may be rejected later.
    """
    chosen = tuple(references)
    tree = path_tree(chosen)
    texts = ", ".join(f"{_quoted(column_name(each))} STRING, {_quoted(_kind_name(each))} TINYINT" for each in chosen)

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = read_lines(batch.column(LINE), tree)
            reasons = pc.if_else(found.good, pa.scalar(None, pa.string()), "not a JSON object")
            columns = [batch.column(LINE), batch.column(FILE), batch.column(ARRIVED), reasons]
            names = [LINE, FILE, ARRIVED, REASON]
            for reference, text, kinds in zip(chosen, found.texts, found.kinds, strict=True):
                columns += [text, kinds]
                names += [column_name(reference), _kind_name(reference)]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    return records.mapInArrow(parse, f"{LINE} STRING, {FILE} STRING, {ARRIVED} BIGINT, {REASON} STRING, {texts}")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def csv_records(records: DataFrame, header: str, columns: list[str]) -> DataFrame:
    """CSV lines parsed to all columns of the header, as text; lines equal to the header are passed over."""
    schema = ", ".join([f"{_quoted(name)} STRING" for name in columns] + [f"{_CORRUPT} STRING"])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = records.where(F.col(LINE) != header).withColumn(_PARSED, F.from_csv(F.col(LINE), F.lit(schema), options))
    reason = F.when(F.col(_PARSED)[_CORRUPT].isNotNull(), F.lit(f"not a CSV record of {len(columns)} fields"))
    fields = {column_name(Reference((name,))): F.col(_PARSED).getField(name) for name in columns}
    return parsed.withColumns({REASON: reason, **fields})


def column_name(reference: Reference) -> str:
    """The column of a reference's text."""
    return f"text of {reference}"


def _kind_name(reference: Reference) -> str:
    return f"kind of {reference}"


def field(reference: Reference) -> Column:
    """The text of a reference in parsed records."""
    return F.col(_quoted(column_name(reference)))


def kind(reference: Reference) -> Column:
    """What kind of JSON value a reference has found."""
    return F.col(_quoted(_kind_name(reference)))
