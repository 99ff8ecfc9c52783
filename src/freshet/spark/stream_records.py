"""Records of live sources with their event times: what streams map and join."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from freshet.mapper.operations import FunctionTable
from freshet.rdf.errors import InputError
from freshet.rml.model import Reference
from freshet.rml.references import names_of, reference
from freshet.rml.sources import FolderSource, Formulation, LogicalSource
from freshet.rml.stream_inputs import ARRIVAL, StreamInput
from freshet.rml.views import read_source, record_key
from freshet.sources.columns import ARRIVED, LINE, REASON, TIME
from freshet.sources.csv_header import column_names, first_header
from freshet.spark import records
from freshet.spark.live.documents import not_text
from freshet.spark.live.open import Reading, open_documents
from freshet.spark.sources.documents import parse_documents


class Wanted(NamedTuple):
    """What is asked of records: references, of which ones the kinds too, whether any record may be rejected, and
    whether the file is asked of all of them. `functions` are those that fields of views may call."""

    references: frozenset[Reference]
    kinds: frozenset[Reference] = frozenset()
    may_be_rejected: bool = True
    origins: bool = False
    functions: FunctionTable | None = None


class TimedRecords(NamedTuple):
    """Records with TIME and REASON; the references in `many` have arrays. `header` is that of CSV files in a folder."""

    frame: DataFrame
    many: frozenset[str]
    header: str = ""


def read_records(given: StreamInput, wanted: Wanted, reading: Reading, *, single: bool = True) -> TimedRecords | None:
    """The records of a live source; None while there is no file that shows the columns.

    `single` says that one header is enough for a folder of CSV files, since their headers are checked elsewhere.
    """
    assert given.logical_source is not None
    arrival = given.time_form == ARRIVAL
    time = None if arrival else _time(given, given.logical_source)
    asked = wanted.references if time is None else wanted.references | {time}
    header = ""
    many: frozenset[str] = frozenset()
    if _is_plain_json(given.logical_source, asked):
        in_kernel = time is not None and given.time_form == "iso"
        parsed = records.json_records(
            open_documents(given.source, reading),
            wanted.references if in_kernel else asked,
            kinds=wanted.kinds,
            time=time if in_kernel else None,
            may_be_rejected=wanted.may_be_rejected or not in_kernel,
            origins=wanted.origins,
        )
    elif single and _is_csv_lines(given):
        assert isinstance(given.source, FolderSource)
        found = first_header(given.source.folder, given.source.pattern)
        if found is None:
            return None
        header = found
        _check_columns(column_names(header), asked, given.source)
        lines = records.without_blank_lines(open_documents(given.source, reading))
        parsed = records.csv_records(lines, header, column_names(header), given.logical_source.nulls)
    else:
        documents = open_documents(given.source, reading._replace(whole_files=_takes_whole_files(given)))
        numbered = wanted.origins and isinstance(given.source, FolderSource)
        texts = sorted(each.text for each in asked)
        read = parse_documents(documents, given.logical_source, texts, numbered=numbered, functions=wanted.functions)
        parsed, many = read.frame, read.many
    return TimedRecords(_add_times(parsed, given, time, many), many, header)


def _time(given: StreamInput, source: LogicalSource) -> Reference:
    """The reference to a record's time: in what is read, also where the records are those of a view."""
    found = reference(given.time_reference, read_source(source).formulation)
    return replace(found, text=record_key(source, found.text))


def _add_times(parsed: DataFrame, given: StreamInput, time: Reference | None, many: frozenset[str]) -> DataFrame:
    """Add TIME, and the reason where there is none."""
    if time is None:
        moment: Column = F.col(ARRIVED)
    else:
        text = records.field(time)
        moment = milliseconds(F.get(text, F.lit(0)) if time.text in many else text, given.time_form)
        if TIME in parsed.columns:
            moment = F.coalesce(F.col(TIME), moment)
    timed = parsed.withColumn(TIME, moment)
    missing = F.when(F.col(TIME).isNull(), F.lit(f"no event time in {given.time_reference}"))
    reasons = [F.col(REASON), missing]
    if not isinstance(given.source, FolderSource):
        reasons.insert(0, not_text(F.col(LINE)))
    return timed.withColumn(REASON, F.coalesce(*reasons))


def _is_plain_json(logical_source: LogicalSource, references: Iterable[Reference]) -> bool:
    """Whether a kernel reads it whole: a document is a record, and references follow names, none into another."""
    if (
        logical_source.formulation is not Formulation.JSON
        or (logical_source.iterator or "$") != "$"
        or logical_source.nulls
    ):
        return False
    paths = [names_of(each.text) for each in references]
    if any(path is None for path in paths):
        return False
    known = {path for path in paths if path is not None}
    return not any(path[:at] in known for path in known for at in range(1, len(path)))


def _is_csv_lines(given: StreamInput) -> bool:
    logical_source = given.logical_source
    return (
        isinstance(given.source, FolderSource)
        and logical_source is not None
        and logical_source.formulation is Formulation.CSV
    )


def _takes_whole_files(given: StreamInput) -> bool:
    assert given.logical_source is not None
    formulation = read_source(given.logical_source).formulation
    return given.whole_files or formulation in (Formulation.XML, Formulation.CSV)


def _check_columns(columns: list[str], references: Iterable[Reference], source: FolderSource) -> None:
    for wanted in sorted(references, key=str):
        if wanted.text not in columns:
            raise InputError(
                f"there is no column {wanted}; the header has {', '.join(columns)}", file=str(source.folder)
            )


def milliseconds(text: Column, form: str) -> Column:
    """A time written as `iso`, `epoch_ms` or `epoch_s`; null where it cannot be read."""
    if form == "epoch_ms":
        return text.try_cast("bigint")
    if form == "epoch_s":
        return (text.try_cast("decimal(18,6)") * 1000).try_cast("bigint")
    # Spark would also read a time of day, as today's; a date and a time it must be.
    whole = F.substring(text, 11, 1).isin("T", " ")
    return F.when(whole, F.unix_millis(text.try_cast("timestamp")))
