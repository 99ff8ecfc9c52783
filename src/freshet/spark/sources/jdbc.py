"""Tables and queries of databases through Spark's JDBC, as Catalyst expressions."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from freshet.rdf.errors import InputError
from freshet.rml.kinds import BINARY, BOOLEAN, DATE, DATETIME, DECIMAL, INTEGER, NOTHING, REAL, STRING
from freshet.rml.sources import DatabaseSource, Formulation, LogicalSource
from freshet.sources.columns import FILE, LINE, REASON, Plan, kind_name, text_name
from freshet.sources.typed import places_of
from freshet.spark import records

_FETCHED = 10_000  # rows that a driver fetches at once


def jdbc_records(spark: SparkSession, source: LogicalSource, given: DatabaseSource, plan: Plan) -> records.Records:
    """The rows of a table or a query."""
    table = _table(spark, source, given)
    places = places_of(plan.references, table.columns, given.url, sql=True)
    nothing = F.lit(None).cast("string")
    columns = [nothing.alias(LINE), nothing.alias(FILE), nothing.alias(REASON)]
    if plan.keep:
        columns[:2] = [F.to_json(F.struct("*")).alias(LINE), F.lit(given.url).alias(FILE)]
    kinds = []
    for reference, place in zip(plan.references, places, strict=True):
        column = F.col("`" + table.columns[place].replace("`", "``") + "`")
        text, kind = _typed(column, table.schema.fields[place].dataType)
        if source.nulls:
            text = F.when(~text.isin(*sorted(source.nulls)), text)
        columns.append(text.alias(text_name(reference)))
        kinds.append(F.when(text.isNull(), NOTHING).otherwise(kind).cast("tinyint").alias(kind_name(reference)))
    return records.Records(table.select(*columns, *kinds), frozenset())


def _table(spark: SparkSession, source: LogicalSource, given: DatabaseSource) -> DataFrame:
    asked = (source.iterator or "").strip().rstrip(";").strip()
    if not asked:
        raise InputError("a logical source of a database needs a table or a query")
    options = {"url": given.url, "driver": given.driver, "user": given.user, "password": given.password}
    reader = spark.read.format("jdbc").option("fetchsize", _FETCHED).option("preferTimestampNTZ", True)
    for name, value in options.items():
        reader = reader if value is None else reader.option(name, value)
    what = "query" if source.formulation is Formulation.QUERY else "dbtable"
    try:
        return reader.option(what, asked).load()
    except PySparkException as error:
        raise InputError(f"{asked}: {_first_line(str(error))}", file=given.url) from None
    except Py4JJavaError as error:  # what the driver of the database raises
        raise InputError(f"{asked}: {_first_line(str(error.java_exception))}", file=given.url) from None


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "no reason given")


def _typed(column: Column, kind: T.DataType) -> tuple[Column, int]:
    """A column as text, and the kind that its type stands for."""
    text = column.cast("string")
    match kind:
        case T.BooleanType():
            return text, BOOLEAN
        case T.DecimalType():
            return text, DECIMAL
        case T.IntegralType():
            return text, INTEGER
        case T.FractionalType():
            return text, REAL
        case T.DateType():
            return text, DATE
        case T.TimestampNTZType() | T.TimestampType():
            return F.replace(text, F.lit(" "), F.lit("T")), DATETIME
        case T.BinaryType():
            return F.hex(column), BINARY
        case _:
            return text, STRING
