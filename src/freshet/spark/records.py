"""Records of a source as columns of texts, with the reason where a line cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from freshet.rdf.arrow import repeat
from freshet.rdf.errors import UnsupportedError
from freshet.rml.json_lines import TimeReference, path_tree, read_lines
from freshet.rml.model import Reference
from freshet.rml.references import names_of
from freshet.sources.columns import ARRIVED, FILE, LINE, REASON, TIME, RecordShape, encoded_name, kind_name, text_name
from freshet.spark.line_numbers import BLOCK, with_line_numbers

_PARSED, _CORRUPT = "parsed", "_corrupt"


class Records(NamedTuple):
    """A row a record. The columns of the references in `many` are arrays, without nulls; the others are plain."""

    frame: DataFrame
    many: frozenset[str]
    encoded: frozenset[str] = frozenset()  # the references that have a column of percent-encoded texts


def spark_schema(shape: RecordShape) -> T.StructType:
    """The columns of records with their types, as Spark has them."""
    several = {column(each) for each in shape.many for column in (text_name, kind_name)}

    def kind_of(name: str) -> T.DataType:
        if name in (LINE, FILE, REASON):
            return T.StringType()
        if name == ARRIVED:
            return T.LongType()
        plain = T.ByteType() if name.startswith(kind_name("")) else T.StringType()
        return T.ArrayType(plain) if name in several else plain

    return T.StructType([T.StructField(name, kind_of(name)) for name in shape.names])


def lines(
    spark: SparkSession,
    folder: str,
    pattern: str | None,
    files_per_batch: int | None,
    *,
    whole: bool = False,
    numbered: bool = False,
) -> DataFrame:
    """The lines of the files in a folder, or whole files, as a stream: the text, the file (where lines are `numbered`,
    with the number of the line), and when the file was last modified."""
    reader = spark.readStream.format("text").option("wholetext", whole)
    if pattern is not None:
        reader = reader.option("pathGlobFilter", pattern)
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    columns = [
        F.col("value").alias(LINE),
        F.col("_metadata.file_path").alias(FILE),
        F.unix_millis(F.col("_metadata.file_modification_time")).alias(ARRIVED),
    ]
    found = reader.load(folder)
    if numbered and not whole:
        return with_line_numbers(found.select(*columns, F.col("_metadata.file_block_start").alias(BLOCK)))
    return found.select(*columns)


def without_blank_lines(records: DataFrame) -> DataFrame:
    """Lines with something else than spaces."""
    return records.where(F.trim(F.col(LINE)) != "")


def json_records(
    records: DataFrame,
    references: Iterable[Reference],
    *,
    kinds: Iterable[Reference],
    time: Reference | None,
    may_be_rejected: bool,
    origins: bool = False,
) -> DataFrame:
    """JSON lines as the texts of what is referred to, with the `kinds` that are asked for (`kernels/json_values.py`).

    `time` is the reference that finds event times of the ISO form: those that the kernel can read are in TIME; unless
    it is among the references there is a text only for the others. Line and file stay beside a record as long as it may
    be rejected later: always, or only until its time is read. With `origins` the file stays beside all of them.
    """
    wanted = frozenset(references)
    chosen = sorted(wanted if time is None else wanted | {time}, key=str)
    kinded = [each for each in chosen if each in frozenset(kinds)]
    tree = path_tree([_names(each) for each in chosen])
    moment = None if time is None else TimeReference(chosen.index(time), time in wanted)
    fields = [f"{quote_name(text_name(each))} STRING" for each in chosen]
    fields += [f"{quote_name(kind_name(each))} TINYINT" for each in kinded]
    names = [LINE, FILE, ARRIVED, REASON, TIME, *map(text_name, chosen), *map(kind_name, kinded)]

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = read_lines(batch.column(LINE), tree, moment)
            places = [batch.column(LINE), batch.column(FILE)]
            reasons = pa.nulls(len(batch), pa.string())
            if found.good.false_count:
                reasons = _where(pc.invert(found.good), repeat("not a JSON object", len(batch)))
            if not may_be_rejected:
                line, file = (_where(pc.is_null(found.times), place) for place in places)
                places = [line, places[1] if origins else file]
            columns = [*places, batch.column(ARRIVED), reasons, found.times, *found.texts]
            columns += [found.kinds[chosen.index(each)] for each in kinded]
            made = pa.RecordBatch.from_arrays(columns, names=names)
            yield made.filter(_not_blank(batch.column(LINE))) if found.good.false_count else made

    schema = f"{LINE} STRING, {FILE} STRING, {ARRIVED} BIGINT, {REASON} STRING, {TIME} BIGINT"
    return records.mapInArrow(parse, ", ".join([schema, *fields]))


def _where(wanted: pa.Array, strings: pa.Array) -> pa.Array:
    """Strings where they are wanted, null elsewhere."""
    if not wanted.true_count:
        return pa.nulls(len(strings), strings.type)
    return pc.if_else(wanted, strings, pa.nulls(len(strings), strings.type))


def _not_blank(lines: pa.Array) -> pa.Array:
    return pc.binary_length(pc.ascii_trim(lines, " ")).cast(pa.bool_())


def quote_name(name: str) -> str:
    """A column's name as it stands in SQL."""
    return "`" + name.replace("`", "``") + "`"


def csv_records(records: DataFrame, header: str, columns: list[str], nulls: Iterable[str]) -> DataFrame:
    """CSV lines parsed to all columns of the header, as text; lines equal to the header are skipped.

    An empty field is an empty text, unless the empty text is one of those that stand for nothing.
    """
    schema = ", ".join([f"{quote_name(name)} STRING" for name in columns] + [f"{_CORRUPT} STRING"])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT, "escape": '"'}
    parsed = records.where(F.col(LINE) != header).withColumn(_PARSED, F.from_csv(F.col(LINE), F.lit(schema), options))
    ragged = F.when(F.col(_PARSED)[_CORRUPT].isNotNull(), F.lit(f"not a CSV record of {len(columns)} fields"))
    reason = F.coalesce(F.when(~F.is_valid_utf8(F.col(LINE)), F.lit("not UTF-8 text")), ragged)
    fields = {text_name(Reference(name)): _csv_field(name, sorted(nulls)) for name in columns}
    return parsed.withColumn(REASON, reason).withColumns(fields)


def _csv_field(name: str, nulls: list[str]) -> Column:
    text = F.coalesce(F.col(_PARSED).getField(name), F.lit(""))
    good = F.col(REASON).isNull()
    return F.when(good & ~text.isin(nulls) if nulls else good, text)


def _names(reference: Reference) -> tuple[str, ...]:
    names = names_of(reference.text)
    if names is None:
        raise UnsupportedError(f"the reference {reference} is not supported in streams yet")
    return names


def field(reference: Reference) -> Column:
    """The text of a reference in parsed records."""
    return F.col(field_name(reference))


def encoded_column(reference: Reference) -> Column:
    """The text of a reference as it stands in an IRI, where the records bring it."""
    return F.col(quote_name(encoded_name(reference)))


def field_name(reference: Reference) -> str:
    """The name of that column as it stands in SQL."""
    return quote_name(text_name(reference))


def kind(reference: Reference) -> Column:
    """What kind of JSON value a reference has found."""
    return F.col(quote_name(kind_name(reference)))
