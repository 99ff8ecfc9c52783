"""A stream of encoded batches: files in, one Arrow table a micro-batch out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from freshet.rdf.batch import Layout
from freshet.rdf.errors import InputError
from freshet.rml.model import Mapping, Reference
from freshet.rml.references import reference
from freshet.rml.sources import Formulation
from freshet.spark import records
from freshet.spark.csv_header import column_names, files_with_other_header, first_header
from freshet.spark.event_time import milliseconds
from freshet.spark.mapping import compile_mapping
from freshet.spark.rejects import write_rejects


class OnBatch(Protocol):
    """What gets the batches: the table has no rejected rows."""

    def __call__(
        self, name: str, number: int, table: pa.Table, *, records: int, rejected: int, seconds: float
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """What a stream is read from, and how."""

    name: str
    folder: Path
    format: str  # json, csv or timed-ntriples
    mapping: Mapping | None = None
    time_reference: str = ""
    time_form: str = "iso"
    pattern: str | None = None
    files_per_batch: int | None = None
    blank_scope: str = ""
    wanted: frozenset[str] | None = None


class EncodedStream:
    """A stream compiled to Spark columns. `layout` says how its batches make triples."""

    def __init__(self, spec: StreamSpec) -> None:
        self.spec = spec
        self._header = ""
        self._mapping = None
        if spec.mapping is None:
            self.layout = Layout(((0, 1, 2),), (("", ""),) * 3)
        else:
            self._mapping = compile_mapping(spec.mapping, spec.wanted, spec.blank_scope)
            wanted = Formulation.CSV if spec.format == "csv" else Formulation.JSON
            if self._mapping.formulation is not wanted:
                raise InputError(
                    f"the stream {spec.name} is {spec.format}, but this mapping's references are"
                    f" {self._mapping.formulation.value}",
                    file=spec.mapping.file,
                )
            self.layout = self._mapping.layout

    def start(
        self, spark: SparkSession, on_batch: OnBatch, *, checkpoint: Path, rejects: Path, until_done: bool
    ) -> RunningStream:
        """Read what comes, and hand over each micro-batch."""
        running = RunningStream(self.spec.name)

        def take(batch: DataFrame, number: int) -> None:
            began = time.perf_counter()
            table = self._with_headers_checked(batch.toArrow())
            good = pc.is_null(table.column(records.REASON))
            bad = table.filter(pc.invert(good))
            write_rejects(bad, rejects / self.spec.name / f"batch-{number}.json")
            kept = table.filter(good) if len(bad) else table
            kept = kept.drop_columns([records.REASON, records.FILE, records.LINE])
            seconds = time.perf_counter() - began
            on_batch(self.spec.name, number, kept, records=len(table), rejected=len(bad), seconds=seconds)

        def begin() -> StreamingQuery | None:
            encoded = self._encoded(spark)
            if encoded is None:
                return None
            writer = encoded.writeStream.foreachBatch(running.guard(take))
            writer = writer.option("checkpointLocation", str(checkpoint)).queryName(f"freshet {self.spec.name}")
            return (writer.trigger(availableNow=True) if until_done else writer).start()

        running.begin(begin, wait=not until_done)
        return running

    def _shipped(self) -> list[str | Column]:
        """The columns of a batch that go to the driver: line and file only where they are needed for a reject.

        Which CSV files have another header only the driver can tell, so CSV always brings them.
        """
        rejected = F.lit(True) if self.spec.format == "csv" else F.col(records.REASON).isNotNull()
        place = [F.when(rejected, F.col(name)).alias(name) for name in (records.FILE, records.LINE)]
        texts = [f"text_{k}" for k in range(len(self.layout.frames))]
        return [records.TIME, records.ARRIVED, records.REASON, *place, *texts]

    def _with_headers_checked(self, table: pa.Table) -> pa.Table:
        """Reject the records of CSV files whose header is another than the first file's."""
        if self.spec.format != "csv":
            return table
        files = table.column(records.FILE)
        other = files_with_other_header(pc.unique(files).to_pylist(), self._header)
        if not other:
            return table
        wrong = pc.is_in(files, pa.array(other, files.type))
        reasons = pc.if_else(wrong, f"the file's header is not {self._header}", table.column(records.REASON))
        return table.set_column(table.column_names.index(records.REASON), records.REASON, reasons)

    def _encoded(self, spark: SparkSession) -> DataFrame | None:
        """The stream as encoded records; None while there is no file to tell what its columns are."""
        spec = self.spec
        read = records.lines(spark, str(spec.folder), spec.pattern, spec.files_per_batch)
        if self._mapping is None:
            return self._timed(read)
        time_reference = reference(spec.time_reference, self._mapping.formulation)
        moment = milliseconds(records.field(time_reference), spec.time_form)
        if spec.format == "json":
            parsed = self._json(read, time_reference)
            moment = F.coalesce(F.col(records.TIME), moment)
        else:
            header = first_header(spec.folder, spec.pattern)
            if header is None:
                return None
            self._header = header
            self._check_columns(column_names(header), time_reference)
            parsed = records.csv_records(records.without_blank_lines(read), header, column_names(header))
        timed = parsed.withColumn(records.TIME, moment)
        missing = F.when(F.col(records.TIME).isNull(), F.lit(f"no event time in {spec.time_reference}"))
        timed = timed.withColumn(records.REASON, F.coalesce(F.col(records.REASON), missing))
        return self._mapping.encode(timed).select(*self._shipped())

    def _json(self, read: DataFrame, time_reference: Reference) -> DataFrame:
        mapping = self._mapping
        assert mapping is not None
        in_kernel = self.spec.time_form == "iso"
        return records.json_records(
            read,
            mapping.references if in_kernel else mapping.references | {time_reference},
            kinds=mapping.kinds,
            time=time_reference if in_kernel else None,
            may_be_rejected=not (in_kernel and mapping.always_fits),
        )

    def _check_columns(self, columns: list[str], time_reference: Reference) -> None:
        assert self._mapping is not None
        for wanted in (time_reference, *sorted(self._mapping.references, key=str)):
            if wanted.text not in columns:
                raise InputError(
                    f"there is no column {wanted}; the header has {', '.join(columns)}", file=str(self.spec.folder)
                )

    def _timed(self, read: DataFrame) -> DataFrame:
        scope = self.spec.blank_scope

        def split(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield _split_batch(batch, scope)

        return records.without_blank_lines(read).mapInArrow(split, _SPLIT_SCHEMA).select(*self._shipped())


_SPLIT_SCHEMA = (
    "line STRING, file STRING, arrived BIGINT, time BIGINT, text_0 STRING, text_1 STRING, text_2 STRING, reason STRING"
)


def _split_batch(batch: pa.RecordBatch, scope: str) -> pa.RecordBatch:
    from freshet.rdf.ntriples import split_timed

    made = split_timed(batch.column("line"), blank_scope=scope)
    kept = [batch.column(name) for name in ("line", "file", "arrived")]
    made_columns = [made.times, made.subjects, made.predicates, made.objects, made.reasons]
    columns = [*kept, *(column.cast(pa.string()) if at else column for at, column in enumerate(made_columns))]
    names = ["line", "file", "arrived", "time", "text_0", "text_1", "text_2", "reason"]
    # Comments are neither records nor rejects.
    return pa.RecordBatch.from_arrays(columns, names=names).filter(
        pc.or_(pc.is_valid(made.times), pc.is_valid(made.reasons))
    )


class RunningStream:
    """A stream that Spark runs. An error of the batch's taker is kept as it was, for `check` to raise."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._query: StreamingQuery | None = None
        self._begin: Callable[[], StreamingQuery | None] | None = None
        self._error: BaseException | None = None
        self._take: Callable[[DataFrame, int], None] | None = None

    def begin(self, start: Callable[[], StreamingQuery | None], *, wait: bool) -> None:
        """Start the query; if it cannot start yet and is to `wait`, try again whenever somebody looks at it."""
        self._query = start()
        self._begin = start if wait and self._query is None else None

    def guard(self, take: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        """The taker of batches as Spark calls it. Spark never lets go of what it calls; `stop` lets go of the taker."""
        self._take = take

        def guarded(batch: DataFrame, number: int) -> None:
            try:
                if self._take is not None:
                    self._take(batch, number)
                    return
            except BaseException as error:
                self._error = error
            # Spark must see that the batch was not taken; why, is told by `check`.
            raise RuntimeError("the batch was not taken")

        return guarded

    @property
    def active(self) -> bool:
        return self._begin is not None or (self._query is not None and self._query.isActive)

    def check(self) -> None:
        """Raise what has gone wrong, if anything has."""
        if self._begin is not None:
            self.begin(self._begin, wait=True)
        if self._query is None or self._query.isActive:
            return
        if self._error is not None:
            raise self._error
        if (failed := self._query.exception()) is not None:
            raise RuntimeError(f"the stream {self.name} failed: {str(failed).splitlines()[0]}")

    def drain(self) -> None:
        """Until everything that is there now has been taken."""
        self.check()
        if self._query is not None:
            self._query.processAllAvailable()

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()
        self._take = self._begin = None
