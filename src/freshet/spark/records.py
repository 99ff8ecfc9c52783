"""Records of a source as columns: lines parsed by Spark, with the reason where one cannot be."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from freshet.rdf.errors import UnsupportedError
from freshet.rml.model import Reference

LINE, FILE, ARRIVED, REASON, PARSED = "line", "file", "arrived", "reason", "parsed"
_CORRUPT = "_corrupt"


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


def json_records(records: DataFrame, references: Iterable[Reference], natural: frozenset[Reference]) -> DataFrame:
    """JSON lines parsed to the fields that are referred to; `natural` ones keep their JSON type, others are text."""
    schema = _json_schema(references, natural)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT, "allowSingleQuotes": "false"}
    line = F.col(LINE)
    parsed = records.withColumn(PARSED, F.from_json(line, schema, options))
    # The parser stops at the end of the first value; what follows it on the line must not be lost unseen.
    flat = F.octet_length(F.substring_index(line, "}", 1)) + 1 == F.octet_length(line)
    one_value = flat | (F.json_array_length(F.concat(F.lit("["), line, F.lit("]"))) == 1)
    broken = F.col(PARSED).isNull() | F.col(PARSED)[_CORRUPT].isNotNull() | ~F.coalesce(one_value, F.lit(False))
    return parsed.withColumn(REASON, F.when(broken, F.lit("not a JSON object")))


def _json_schema(references: Iterable[Reference], natural: frozenset[Reference]) -> str:
    tree: dict[str, object] = {}
    for reference in references:
        branch = tree
        for step in reference.path[:-1]:
            inner = branch.setdefault(step, {})
            if not isinstance(inner, dict):
                raise UnsupportedError(f"the reference {reference} goes into what another reference takes as a value")
            branch = inner
        if isinstance(branch.get(reference.path[-1]), dict):
            raise UnsupportedError(f"the reference {reference} takes as a value what another reference goes into")
        branch[reference.path[-1]] = "VARIANT" if reference in natural else "STRING"
    return f"STRUCT<{', '.join([*_fields(tree), f'{_CORRUPT}: STRING'])}>"


def _fields(tree: dict[str, object]) -> list[str]:
    return [
        f"{_quoted(name)}: STRUCT<{', '.join(_fields(kind))}>" if isinstance(kind, dict) else f"{_quoted(name)}: {kind}"
        for name, kind in tree.items()
    ]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def csv_records(records: DataFrame, header: str, columns: list[str]) -> DataFrame:
    """CSV lines parsed to all columns of the header, as text; lines equal to the header are passed over."""
    schema = ", ".join([f"{_quoted(name)} STRING" for name in columns] + [f"{_CORRUPT} STRING"])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = records.where(F.col(LINE) != header).withColumn(PARSED, F.from_csv(F.col(LINE), F.lit(schema), options))
    reason = F.when(F.col(PARSED)[_CORRUPT].isNotNull(), F.lit(f"not a CSV record of {len(columns)} fields"))
    return parsed.withColumn(REASON, reason)


def field(reference: Reference) -> Column:
    """The column of a reference in parsed records."""
    column = F.col(PARSED)
    for step in reference.path:
        column = column.getField(step)
    return column
