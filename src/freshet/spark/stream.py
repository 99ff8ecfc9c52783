"""A stream of encoded batches: live records in, one Arrow table a micro-batch out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from freshet.mapper.compiled import CompiledMapping, compile_slice
from freshet.mapper.operations import FunctionTable, ReferenceShape
from freshet.mapper.rejects import write_rejects
from freshet.mapper.renderer import Renderer
from freshet.mapper.stream_join import SIDE, SIDES, JoinStep, StreamJoin
from freshet.rdf.batch import ORIGIN, RDF, RDF_IN_GRAPHS
from freshet.rml.mapping_slices import CHILD, PARENT, JoinSlice, MappingSlice
from freshet.rml.model import Call, Expression
from freshet.rml.sources import FolderSource, KafkaSource, LogicalSource, MqttSource
from freshet.rml.stream_inputs import StreamInput
from freshet.rml.term_walks import calls_in, calls_of, references_in
from freshet.rml.user_functions import UserFunction
from freshet.rml.views import ExpressionField, Field, ViewSource
from freshet.rml.window_state import KEY, TIE
from freshet.rml.windows import JoinWindow
from freshet.sources.columns import ARRIVED, FILE, LINE, REASON, TIME, kind_name, text_name
from freshet.sources.csv_header import files_with_other_header
from freshet.spark import records
from freshet.spark.line_numbers import without_line_numbers
from freshet.spark.live.open import Reading, open_documents
from freshet.spark.live.trouble import trouble_of
from freshet.spark.messages import message_records
from freshet.spark.running import RunningStream
from freshet.spark.stream_records import TimedRecords, Wanted, read_records
from freshet.spark.term_columns import SparkColumns
from freshet.spark.timed_lines import timed_records
from freshet.spark.window_join import CHILD_PREFIX, PARENT_PREFIX, key_text, window_join


class OnBatch(Protocol):
    """What gets the batches: the table has no rejected rows. `joined` is the step of a join in this process."""

    def __call__(
        self,
        name: str,
        number: int,
        table: pa.Table,
        *,
        records: int,
        rejected: int,
        seconds: float,
        joined: JoinStep | None,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """What a stream, or a sub-stream, is read from, and how it is mapped.

    There is one input, or those of a join's child and parent. Without a slice of a mapping it is timed N-Triples.
    `origins`: whether batches say where each record came from. `join_here`: whether pairs are found in this process
    instead of Spark's state store. `graphs`: whether statements come with the graphs that they are in.
    """

    name: str
    inputs: tuple[StreamInput, ...]
    mapping_slice: MappingSlice | JoinSlice | None = None
    blank_scope: str = ""
    wanted: frozenset[str] | None = None
    lateness_ms: int = 0
    window: JoinWindow | None = None
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    origins: bool = False
    join_here: bool = False
    graphs: bool = False


class EncodedStream:
    """A stream compiled to Spark columns. `layout` says how its batches make triples."""

    def __init__(self, spec: StreamSpec) -> None:
        self.spec = spec
        self._header = ""
        self._mapping: CompiledMapping | None = None
        if spec.mapping_slice is None:
            self.layout = RDF_IN_GRAPHS if spec.graphs else RDF
        else:
            self._mapping = compile_slice(
                spec.mapping_slice, spec.wanted, spec.blank_scope, FunctionTable(spec.functions)
            )
            self.layout = self._mapping.layout
        self.join: StreamJoin | None = None
        if isinstance(spec.mapping_slice, JoinSlice) and spec.join_here:
            assert self._mapping is not None
            self.join = StreamJoin(self._mapping, self._window(spec.mapping_slice), spec.lateness_ms)

    @property
    def fingerprint_inputs(self) -> str:
        """What a checkpoint depends on beside the layout: the records, what is referred to in them, how they join, and
        the code of the user's functions that are called.

        Where a source is (a folder, brokers, a host) may change: its data are expected to move with it.
        """
        inputs = [_describe_input(given) for given in self.spec.inputs]
        terms = () if self._mapping is None else self._mapping.terms
        mapping_slice = self.spec.mapping_slice
        calls = [call for term in terms for call in calls_of(term)]
        calls += [call for given in self.spec.inputs for call in _calls_of_fields(given.logical_source)]
        join = None
        if isinstance(mapping_slice, JoinSlice):
            conditions = mapping_slice.conditions
            join = (
                conditions,
                replace(self._window(mapping_slice), most_waiting=1),
            )  # limits change nothing in the state
            calls += [call for each in conditions for side in (each.child, each.parent) for call in calls_in(side)]
        called = {call.function.value for call in calls}
        code = sorted((name, own.code) for name, own in self.spec.functions.items() if name in called)
        kept: tuple[str, ...] = ()  # where what waits is kept
        if isinstance(mapping_slice, JoinSlice):
            kept = ("a bucket for each partition",) if self.join is None else ("joined here",)
        return repr((inputs, terms, join, code, *kept))

    def _window(self, join: JoinSlice) -> JoinWindow:
        return self.spec.window or join.window or JoinWindow()

    def start(
        self,
        spark: SparkSession,
        on_batch: OnBatch,
        *,
        checkpoint: Path,
        rejects: Path,
        until_done: bool,
        lasting: bool = True,
        last_batch: int = -1,
    ) -> RunningStream:
        """Read the sources, and hand over each micro-batch after the `last_batch` that was taken before. `lasting`:
        another run may continue it."""
        inputs = list(zip(self.spec.inputs, self._readings(spark, checkpoint, lasting), strict=True))

        def trouble() -> str:
            found = (trouble_of(given.source, reading.spool) for given, reading in inputs)
            return next(filter(None, found), "")

        join = self.join
        if join is not None:
            join.warm()
        in_spark = isinstance(self.spec.mapping_slice, JoinSlice) and join is None
        running = RunningStream(
            self.spec.name, trouble, joins=in_spark, counts=None if join is None else join.take_counts
        )

        def take(batch: DataFrame, number: int) -> None:
            nonlocal last_batch
            if number <= last_batch:  # of a query that ended before it noted that the batch was taken
                return
            began = time.perf_counter()
            step = None if join is None else join.step(batch.toArrow())
            table = self._with_headers_checked(batch.toArrow() if step is None else step.pairs)
            good = pc.is_null(table.column(REASON))
            bad = table.filter(pc.invert(good))
            if self.spec.origins:  # rejects look for their lines themselves
                bad = bad.set_column(bad.column_names.index(FILE), FILE, without_line_numbers(bad.column(FILE)))
            write_rejects(bad, rejects / self.spec.name / f"batch-{number}.json")
            kept = table.filter(good) if len(bad) else table
            if self.spec.origins:
                kept = kept.append_column(ORIGIN, kept.column(FILE))
            kept = kept.drop_columns([REASON, FILE, LINE])
            seconds = time.perf_counter() - began
            counts = {"records": len(table), "rejected": len(bad)}
            on_batch(self.spec.name, number, kept, **counts, seconds=seconds, joined=step)
            last_batch = number
            if join is not None and step is not None:
                join.keep(step)

        def begin() -> StreamingQuery | None:
            encoded = self._encoded([reading for _, reading in inputs])
            if encoded is None:
                return None
            writer = encoded.writeStream.foreachBatch(running.guard(take))
            writer = writer.option("checkpointLocation", str(checkpoint)).queryName(f"freshet {self.spec.name}")
            return (writer.trigger(availableNow=True) if until_done else writer).start()

        running.begin(begin, wait=not until_done)
        return running

    def _readings(self, spark: SparkSession, checkpoint: Path, lasting: bool) -> list[Reading]:
        """What was received but not taken is kept beside Spark's own checkpoint."""
        spools = checkpoint.parent.parent / "spool" / self.spec.name
        return [
            Reading(
                spark,
                spools / str(at),
                given.records_per_batch,
                given.files_per_batch,
                lasting,
                given.whole_files,
                self.spec.origins,
            )
            for at, given in enumerate(self.spec.inputs)
        ]

    def _select_for_driver(self, encoded: DataFrame) -> DataFrame:
        """The columns of a batch that go to the driver: the line only where it is needed for a reject, and the file
        where clients may ask which record an answer came from.

        Only the driver knows which CSV files have another header, so those always bring them.
        """
        rejected = F.lit(True) if self._header else F.col(REASON).isNotNull()
        file = F.col(FILE) if self.spec.origins else F.when(rejected, F.col(FILE)).alias(FILE)
        place: list[str | Column] = [file, F.when(rejected, F.col(LINE)).alias(LINE)]
        texts = [f"text_{k}" for k in range(len(self.layout.frames))]
        return encoded.select(TIME, ARRIVED, REASON, *place, *texts)

    def _with_headers_checked(self, table: pa.Table) -> pa.Table:
        """Reject the records of CSV files whose header is another than the first file's."""
        if not self._header:
            return table
        files = table.column(FILE)
        if self.spec.origins:
            files = without_line_numbers(files)
        other = files_with_other_header(pc.unique(files).to_pylist(), self._header)
        if not other:
            return table
        wrong = pc.is_in(files, pa.array(other, files.type))
        reasons = pc.if_else(wrong, f"the file's header is not {self._header}", table.column(REASON))
        return table.set_column(table.column_names.index(REASON), REASON, reasons)

    def _encoded(self, readings: list[Reading]) -> DataFrame | None:
        """The stream as encoded records; None while there is no file that shows its columns."""
        mapping = self._mapping
        if mapping is None:
            (given,), (reading,) = self.spec.inputs, readings
            documents = open_documents(given.source, reading)
            if given.rdf_format is not None:
                form, predicate = given.rdf_format, given.time_predicate
                return self._select_for_driver(message_records(documents, form, predicate, self.spec.blank_scope))
            one_line = isinstance(given.source, FolderSource) and not given.whole_files
            return self._select_for_driver(timed_records(documents, self.spec.blank_scope, one_line=one_line))
        if isinstance(self.spec.mapping_slice, JoinSlice):
            if self.join is not None:
                return self._both_sides(self.spec.mapping_slice, mapping, readings, self.join)
            frame, many = self._joined(self.spec.mapping_slice, mapping, readings)
            return self._select_for_driver(_encode(mapping, frame, many))
        wanted = Wanted(
            mapping.references, mapping.kinds, not _always_fits(mapping), self.spec.origins, mapping.functions
        )
        found = read_records(self.spec.inputs[0], wanted, readings[0])
        if found is None:
            return None
        self._header = found.header
        return self._select_for_driver(_encode(mapping, found.frame, {"": found.many}))

    def _both_sides(
        self, join_slice: JoinSlice, mapping: CompiledMapping, readings: list[Reading], join: StreamJoin
    ) -> DataFrame:
        """The records of both sides in one table, for a join in this process."""
        conditions = join_slice.conditions
        child = self._side(CHILD, [each.child for each in conditions], mapping, 0, readings[0])
        parent = self._side(PARENT, [each.parent for each in conditions], mapping, 1, readings[1])
        join.many = {CHILD: child.many, PARENT: parent.many}
        keys = [_key_name(at) for at in range(len(conditions))]
        frames = [_numbered_side(side.frame, number, keys) for number, side in enumerate((child, parent))]
        return frames[0].unionByName(frames[1], allowMissingColumns=True)

    def _joined(
        self, join: JoinSlice, mapping: CompiledMapping, readings: list[Reading]
    ) -> tuple[DataFrame, dict[str, frozenset[str]]]:
        """Pairs of records, and which references of each side have arrays.

        Records that cannot be read are among the rejects of the slices of their own sources; here they are counted, as
        those slices may need less of them.
        """
        child = self._side(CHILD, [each.child for each in join.conditions], mapping, 0, readings[0])
        parent = self._side(PARENT, [each.parent for each in join.conditions], mapping, 1, readings[1])
        keys = [_key_name(at) for at in range(len(join.conditions))]
        pairs = window_join(
            child.frame,
            parent.frame,
            child_key=keys,
            parent_key=keys,
            time=TIME,
            window=self._window(join),
            lateness_ms=self.spec.lateness_ms,
        )
        arrived = F.greatest(f"`{CHILD_PREFIX}{ARRIVED}`", f"`{PARENT_PREFIX}{ARRIVED}`")
        frame = pairs.withColumns(
            {
                ARRIVED: arrived,
                FILE: F.concat_ws(" ", f"`{CHILD_PREFIX}{FILE}`", f"`{PARENT_PREFIX}{FILE}`"),
                LINE: F.lit(None).cast("string"),
                REASON: F.lit(None).cast("string"),
            }
        )
        return frame, {CHILD: child.many, PARENT: parent.many}

    def _side(
        self, side: str, keys: list[Expression], mapping: CompiledMapping, at: int, reading: Reading
    ) -> TimedRecords:
        """The records of one side of a join, with a column for each key: what a condition's expression gives."""
        compared = frozenset(each for key in keys for each in references_in(key))
        own = frozenset(replace(each, side="") for each in mapping.references if each.side == side)
        kinds = frozenset(replace(each, side="") for each in mapping.kinds if each.side == side)
        found = read_records(
            self.spec.inputs[at], Wanted(own | compared, kinds, functions=mapping.functions), reading, single=False
        )
        assert found is not None
        # What cannot be read meets nothing for want of a time, and so is counted.
        readable = F.when(F.col(REASON).isNull(), F.col(TIME))
        frame = found.frame.withColumn(TIME, readable)
        # Of keys the kinds do not matter.
        renderer = Renderer(SparkColumns(mapping.functions), {"": ReferenceShape(found.many)}, nquads=False)
        for number, key in enumerate(keys):
            made = renderer.texts(key)
            text = renderer.join(made.pieces)
            if made.many:
                text = F.explode_outer(F.array_distinct(text))  # a record without a key is there once, to be counted
            frame = frame.withColumn(_key_name(number), text)
        names = {text_name(each) for each in own} | {kind_name(each) for each in kinds}
        kept = [records.quote_name(name) for name in frame.columns if name in names]
        places = [TIME, ARRIVED, FILE, *map(_key_name, range(len(keys)))]
        return TimedRecords(frame.select(*places, *kept), found.many & {each.text for each in own})


def _numbered_side(frame: DataFrame, number: int, keys: list[str]) -> DataFrame:
    """The records of a side as `StreamJoin` wants them. Ties are broken by what records are."""
    own = [name for name in frame.columns if name not in (TIME, ARRIVED, FILE, *keys)]
    return frame.select(
        F.lit(number).cast("byte").alias(SIDE),
        key_text(keys).alias(KEY),
        TIME,
        F.xxhash64(*(records.quote_name(name) for name in frame.columns)).alias(TIE),
        ARRIVED,
        FILE,
        *(F.col(records.quote_name(name)).alias(f"{SIDES[number]} {name}") for name in own),
    )


def _encode(mapping: CompiledMapping, parsed: DataFrame, many: Mapping[str, frozenset[str]]) -> DataFrame:
    """Add the texts of every term, and the reason where a record makes something that is no IRI."""
    texts, reasons = mapping.texts(mapping.renderer(SparkColumns(mapping.functions), many))
    return parsed.withColumns({**texts, REASON: F.coalesce(F.col(REASON), *reasons)})


def _always_fits(mapping: CompiledMapping) -> bool:
    """Whether every record that can be read makes its terms; otherwise some may make what is no IRI."""
    return not mapping.texts(mapping.renderer(SparkColumns(mapping.functions)))[1]


def _describe_input(given: StreamInput) -> tuple[object, ...]:
    logical, source = given.logical_source, given.source
    topic = source.topic if isinstance(source, KafkaSource | MqttSource) else None
    cutting = None if logical is None else _describe_records(logical)
    kept = (type(source).__name__, topic, cutting, given.time_reference, given.time_form, given.whole_files)
    return kept if given.rdf_format is None else (*kept, given.rdf_format, given.time_predicate)


def _describe_records(logical: LogicalSource) -> tuple[object, ...]:
    """How documents are cut into records."""
    if isinstance(view := logical.source, ViewSource):
        return str(logical.formulation), _describe_fields(view.fields), _describe_records(view.on)
    return str(logical.formulation), logical.iterator, sorted(logical.nulls), sorted(logical.namespaces)


def _describe_fields(fields: tuple[Field, ...]) -> tuple[object, ...]:
    return tuple(
        (
            each.name,
            each.expression if isinstance(each, ExpressionField) else _describe_records(each.records),
            _describe_fields(each.fields),
        )
        for each in fields
    )


def _calls_of_fields(source: LogicalSource | None) -> Iterator[Call]:
    """The calls in the fields of views."""
    if source is not None and isinstance(view := source.source, ViewSource):
        yield from _calls_in_fields(view.fields)
        yield from _calls_of_fields(view.on)


def _calls_in_fields(fields: tuple[Field, ...]) -> Iterator[Call]:
    for each in fields:
        if isinstance(each, ExpressionField):
            yield from calls_in(each.expression)
        yield from _calls_in_fields(each.fields)


def _key_name(number: int) -> str:
    return f"key {number}"
