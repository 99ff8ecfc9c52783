"""Records that are pushed into a stream, mapped in this process: JSON, CSV and XML as Spark maps them in pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.mapper.arrow_columns import ArrowColumns
from freshet.mapper.arrow_texts import NULL_TEXT, first_texts, is_true, spread, text_scalar
from freshet.mapper.compiled import CompiledMapping, compile_slice
from freshet.mapper.event_times import event_times
from freshet.mapper.open import parser_of, tasks_of
from freshet.rdf.arrow import numbers, string_array
from freshet.rdf.batch import Layout
from freshet.rdf.deadline import current
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.mapping_slices import JoinSlice, MappingSlice, slice_mapping
from freshet.rml.model import Mapping
from freshet.rml.reader import read_mapping, read_mapping_text
from freshet.rml.references import reference
from freshet.rml.sources import CsvDialect, FileSource, Formulation, LogicalSource
from freshet.rml.views import read_source, record_key, with_read_source
from freshet.sources.columns import ARRIVED, FILE, LINE, REASON, TIME, Plan, RecordShape, text_name
from freshet.sources.documents import Parse, parsed_batch

_PIECE = 1 << 16  # records that are mapped at a time
TIME_FORMS = ("iso", "epoch_ms", "epoch_s")


@dataclass(frozen=True, slots=True)
class StreamMapping:
    """The mapping of a stream, in Turtle, and which reference says when a record happened; without one that is when
    it arrives. A mapping of the operator's own has its `file`, which may be YARRRML."""

    text: str
    time_reference: str = ""
    time_form: str = "iso"
    file: str = field(default="", compare=False)


class Rejected(NamedTuple):
    """Why a record makes no triples, and its text."""

    reason: str
    record: str


class MappedRecords(NamedTuple):
    """What records make: tables with a row a record, and how each makes triples."""

    tables: list[tuple[pa.Table, Layout]]
    records: int
    rejected: list[Rejected]


class _Slice(NamedTuple):
    """The statements of records that one iterator cuts."""

    source: LogicalSource
    compiled: CompiledMapping
    shape: RecordShape
    parse: Parse


class RecordMapper:
    """Maps documents. Where a mapping has several sources of one formulation, a document is one of each."""

    def __init__(self, declared: StreamMapping, blank_scope: str) -> None:
        self.declared = declared
        if declared.time_form not in TIME_FORMS:
            raise InputError(f"times are written as {', '.join(TIME_FORMS)}, not as {declared.time_form}")
        mapping = read_mapping(declared.file) if declared.file else read_mapping_text(declared.text, "mapping")
        _refuse_targets(mapping)
        maps = [replace(each, source=_as_posted(each.source)) for each in mapping.triples_maps]
        self._slices: dict[Formulation, list[_Slice]] = {}
        for mapping_slice in slice_mapping(replace(mapping, triples_maps=tuple(maps))):
            if isinstance(mapping_slice, JoinSlice):
                raise UnsupportedError("records that are posted are not joined: use a pipeline", file=mapping.file)
            formulation = read_source(mapping_slice.source).formulation
            self._slices.setdefault(formulation, []).append(self._compile(mapping_slice, blank_scope))

    @property
    def formulations(self) -> tuple[Formulation, ...]:
        """The formulations of which it takes documents."""
        return tuple(self._slices)

    def sources_of(self, formulation: Formulation) -> int:
        """In how many ways it cuts documents of a formulation."""
        return len(self._slices[formulation])

    def _compile(self, mapping_slice: MappingSlice, blank_scope: str) -> _Slice:
        compiled = compile_slice(mapping_slice, None, blank_scope)
        texts = {each.text for each in compiled.references}
        if time := self._time(mapping_slice.source):
            texts.add(time)
        shape, parse = parser_of(mapping_slice.source, Plan(tuple(sorted(texts)), keep=True))
        return _Slice(mapping_slice.source, compiled, shape, parse)

    def _time(self, source: LogicalSource) -> str:
        """The reference to a record's time: in what is read, also where the records are those of a view."""
        given = self.declared.time_reference
        return record_key(source, reference(given, read_source(source).formulation).text) if given else ""

    def map(
        self, documents: Sequence[str], formulation: Formulation, arrived_ms: int, time_ms: int | None = None
    ) -> MappedRecords:
        """What documents make, within the current deadline. `time_ms` is the time of all records, whatever they say."""
        size = len(documents)
        beside = [string_array(documents), spread(NULL_TEXT, size), numbers(np.full(size, arrived_ms))]
        batch = pa.RecordBatch.from_arrays(beside, names=[LINE, FILE, ARRIVED])
        tables: list[tuple[pa.Table, Layout]] = []
        rejected: list[Rejected] = []
        records = 0
        for each in self._slices[formulation]:
            parsed = parsed_batch(batch, each.shape, each.parse, keep=True)
            records += len(parsed)
            for first in range(0, len(parsed) or 1, _PIECE):
                current().check()
                piece = parsed.slice(first, _PIECE)
                table, bad = self._mapped(each, piece, self._times(each, piece, time_ms))
                tables.append((table, each.compiled.layout))
                rejected += bad
        return MappedRecords(tables, records, rejected)

    def map_file(self, file: Path, formulation: Formulation, *, numbered: bool = False) -> Iterator[MappedRecords]:
        """What the records of a file make, some thousand at a time. The tables have FILE, `numbered` with the line of
        each record.

        Where a mapping has several sources of the formulation, the file is read for one after the other.
        """
        for each in self._slices[formulation]:
            source = with_read_source(
                each.source, lambda read: replace(read, source=replace(_file_source(read), path=file))
            )
            plan = Plan(each.shape.references, keep=True, numbered=numbered)
            _, tasks = tasks_of(source, plan)
            for task in tasks:
                for batch in task():
                    arrived = spread(pa.scalar(0, pa.int64()), len(batch))
                    times = self._times(each, batch, None)
                    table, bad = self._mapped(each, batch.append_column(ARRIVED, arrived), times)
                    yield MappedRecords([(table, each.compiled.layout)], len(batch), bad)

    def _times(self, each: _Slice, parsed: pa.RecordBatch, time_ms: int | None) -> pa.Array:
        if time_ms is not None:
            return numbers(np.full(len(parsed), time_ms))
        time = self._time(each.source)
        if not time:
            return parsed.column(ARRIVED)
        texts = parsed.column(text_name(time))
        if time in each.shape.many:
            texts = first_texts(texts)
        return event_times(texts, self.declared.time_form)

    def _mapped(self, each: _Slice, parsed: pa.RecordBatch, times: pa.Array) -> tuple[pa.Table, list[Rejected]]:
        renderer = each.compiled.renderer(ArrowColumns(parsed), {"": each.shape.many})
        texts, wrong = each.compiled.texts(renderer)
        no_time = text_scalar(f"no event time in {self.declared.time_reference}")
        missing = pc.if_else(is_true(pc.is_null(times)), no_time, NULL_TEXT)
        reasons = spread(pc.coalesce(parsed.column(REASON), missing, *wrong), len(parsed))
        columns: dict[str, Any] = {name: spread(text, len(parsed)) for name, text in texts.items()}
        table = pa.table({TIME: times, ARRIVED: parsed.column(ARRIVED), FILE: parsed.column(FILE), **columns})
        if reasons.null_count == len(reasons):
            return table, []
        bad = pc.is_valid(reasons)
        shown = zip(reasons.filter(bad).to_pylist(), parsed.column(LINE).filter(bad).to_pylist(), strict=True)
        return table.filter(pc.is_null(reasons)), [Rejected(*row) for row in shown]


def _as_posted(source: LogicalSource) -> LogicalSource:
    """The same records, out of what is posted: where the mapping would read them from does not matter."""
    return with_read_source(source, lambda read: replace(read, source=_file_source(read)))


def _file_source(source: LogicalSource) -> FileSource:
    dialect = source.source.dialect if isinstance(source.source, FileSource) else CsvDialect()
    return FileSource(Path("posted"), dialect=dialect)


def _refuse_targets(mapping: Mapping) -> None:
    for triples_map in mapping.triples_maps:
        if any(each.targets for each in triples_map.terms):
            raise UnsupportedError(
                f"{triples_map.name} has a logical target, and streams write to none", file=mapping.file
            )
