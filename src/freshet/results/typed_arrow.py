"""Answers as Arrow with typed columns; see `freshet.results.column_reader`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from operator import is_

import numpy as np
import pyarrow as pa

from freshet.rdf.arrow import read_only
from freshet.results.answers import AnswerBatch, joined
from freshet.results.arrow import report_metadata
from freshet.results.column_reader import EMPTY, ColumnReader, decoded
from freshet.results.report import Answer, BooleanAnswer, Report
from freshet.results.terms import dictionary_of, shown_rows

_MILLISECONDS = pa.timestamp("ms")


def typed_batch(answer: Answer | Report) -> pa.RecordBatch:
    """The answer as one batch; see `Readable.to_arrow` for the types."""
    if isinstance(answer, BooleanAnswer):
        return pa.record_batch({"boolean": pa.array([answer.value])})
    shown = shown_rows(answer)
    if not shown.variables:  # Arrow takes the number of rows from columns, or from structs that have none
        structs = pa.StructArray.from_buffers(pa.struct([]), len(shown.rows), [None])
        batch = pa.RecordBatch.from_struct_array(structs)
    else:
        dictionary = dictionary_of(answer)
        found = [decoded(ColumnReader().read(ids, dictionary)) for ids in read_only(shown.rows.T)]
        fields = [field.with_name(name) for name, (field, _) in zip(shown.variables, found, strict=True)]
        batch = pa.record_batch([values for _, values in found], schema=pa.schema(fields))
    return batch.replace_schema_metadata(report_metadata(answer)) if isinstance(answer, Report) else batch


class BatchReader:
    """Reads the batches of one query. Several threads may ask it; terms that it has read before are not read again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: list[ColumnReader] = []
        self._fields: list[pa.Field] = []  # of the last batch
        self._schema = pa.schema([])

    def read(self, batch: AnswerBatch) -> tuple[pa.Schema, list[pa.Array]]:
        """All reports of a batch; see `AnswerBatch.to_arrow`."""
        variables, rows, offsets = batch.shown
        first, end = offsets.item(0), offsets.item(-1)
        if len(batch) == 1:  # as it mostly is where little comes: what takes NumPy a step for all is half of the work
            times = np.empty(end - first, np.int64)
            times.fill(batch.moments.item() >> 1)
        else:
            times = np.repeat(batch.times, offsets[1:] - offsets[:-1])
        if end - first != len(rows):
            rows = rows[first:end]
        with self._lock:
            if len(self._readers) < len(variables):
                self._readers = [ColumnReader() for _ in variables]
            if batch.log is None or batch.triples is not None:
                columns = read_only(rows.T)
                found = [reader.read(ids, batch.dictionary) for reader, ids in zip(self._readers, columns, strict=True)]
            else:
                log, start = batch.log
                place = slice(start + first, start + end)
                found = [reader.read_log(log, at, place, batch.dictionary) for at, reader in enumerate(self._readers)]
            schema = self._schema_of(batch, variables, [field for field, _ in found])
        times_column = pa.Array.from_buffers(_MILLISECONDS, len(times), [None, pa.py_buffer(times)])
        return schema, [times_column, *[values for _, values in found]]

    def _schema_of(self, batch: AnswerBatch, variables: tuple[str, ...], fields: list[pa.Field]) -> pa.Schema:
        """That of the last batch, if its columns were the same: to make one takes longer than to read a few rows."""
        if not (self._fields and all(map(is_, fields, self._fields))):
            named = [field.with_name(name) for name, field in zip(variables, fields, strict=True)]
            about = {"query": batch.query, "stream": batch.output.name.lower()}
            self._schema = pa.schema([pa.field(_time_name(variables), _MILLISECONDS), *named], metadata=about)
            self._fields = fields
        return self._schema


def _reader_of(batch: AnswerBatch) -> BatchReader:
    memory = batch.memory
    if memory is None:
        return BatchReader()
    reader = memory.reader
    if reader is None:
        reader = memory.reader = BatchReader()
    return reader


def answer_batch(batch: AnswerBatch) -> pa.RecordBatch:
    """All reports of a batch; see `AnswerBatch.to_arrow`."""
    schema, columns = _reader_of(batch).read(batch)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def answer_table(batches: Sequence[AnswerBatch], columns: tuple[str, ...]) -> pa.Table:
    """Batches of one query as one table; where there are none, an empty one with these columns besides the times."""
    if not batches:
        return _empty_table(columns)
    batch = batches[0] if len(batches) == 1 else joined(batches)
    schema, arrays = _reader_of(batch).read(batch)
    return pa.Table.from_arrays(arrays, schema=schema)


@lru_cache
def _empty_table(columns: tuple[str, ...]) -> pa.Table:
    fields = [pa.field(_time_name(columns), _MILLISECONDS), *(EMPTY.with_name(name) for name in columns)]
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in fields], schema=pa.schema(fields))


def _time_name(columns: tuple[str, ...]) -> str:
    """A name for the times of reports that no other column has."""
    name = "time"
    while name in columns:
        name = f"report_{name}"
    return name
