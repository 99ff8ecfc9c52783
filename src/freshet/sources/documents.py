"""Documents of streams as records: messages, or lines of files and sockets, each cut by the iterator.

A JSON or XML document is one value or element. A CSV document is a header and the records below it, unless the header
is given: then each document is one record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.rdf.arrow import key_ranges, read_only
from freshet.rdf.errors import FreshetError, InputError, UnsupportedError
from freshet.rml.json_paths import read_path
from freshet.rml.sources import CsvDialect, FileSource, Formulation, LogicalSource
from freshet.sources.columns import ARRIVED, FILE, LINE, REASON, Column, Found, Plan, RecordShape, text_name
from freshet.sources.csv_text import CsvReader
from freshet.sources.json_text import JsonReader, json_shape
from freshet.sources.xml_files import xml_reader
from freshet.sources.xml_stream import RefusedError
from freshet.sources.xml_text import XmlReader, as_columns

_MOST_SHOWN = 1_000  # characters of a document that stand beside each of its records
_SHOWN_TOGETHER = 1 << 28


class Parsed(NamedTuple):
    """What is found in documents: the columns, the number of the document that each record is of, and the reasons.

    Where they are asked for, `lines` are those of documents at which records begin, or 0.
    """

    columns: list[Column]
    owners: NDArray[np.int64]
    reasons: pa.Array
    lines: NDArray[np.int64] | None = None


Parse = Callable[[pa.Array], Parsed]


def parsed_batch(batch: pa.RecordBatch, shape: RecordShape, parse: Parse, keep: bool) -> pa.RecordBatch:
    """The records of a batch of documents."""
    there = pc.not_equal(pc.ascii_trim_whitespace(pc.fill_null(batch.column(LINE), "")), "")
    batch = batch.filter(there) if there.false_count else batch
    columns, owners, reasons, numbers = _parse(batch.column(LINE), shape, parse)
    lines, files, arrived = batch.select([LINE, FILE, ARRIVED]).columns
    if owners.size != len(batch) or (owners != np.arange(len(batch))).any():
        places = pa.array(owners)
        lines, files, arrived = _texts_of(lines, owners), files.take(places), arrived.take(places)
    if numbers is not None:
        named = pc.binary_join_element_wise(files, pa.array(numbers).cast(pa.string()), "#L")
        files = pc.if_else(pa.array(numbers > 0), named, files)
    if not keep:
        rejected, nothing = pc.is_valid(reasons), pa.scalar(None, pa.string())
        lines, files = pc.if_else(rejected, lines, nothing), pc.if_else(rejected, files, nothing)
    return shape.batch(Found(columns, reasons, lines, files, arrived))


def _texts_of(documents: pa.Array, owners: NDArray[np.int64]) -> pa.Array:
    """The text of each record's document; its beginning where it has several records.

    Whole, a document of a megabyte with ten thousand records would be ten gigabytes.
    """
    shared = pa.array(np.bincount(owners, minlength=len(documents)) > 1)
    if shared.true_count:
        shown = min(_MOST_SHOWN, _SHOWN_TOGETHER // owners.size)
        starts = pc.utf8_slice_codeunits(documents.filter(shared), 0, shown)
        documents = pc.replace_with_mask(documents, shared, starts)
    return documents.take(pa.array(owners))


def _parse(documents: pa.Array, shape: RecordShape, parse: Parse) -> Parsed:
    """What is found in documents; those that are no UTF-8, which Spark lets pass, are rejected."""
    broken = np.zeros(len(documents), np.bool_)
    try:
        documents.validate(full=True)
    except pa.ArrowInvalid:
        broken = np.array([_is_broken(document) for document in documents.view(pa.binary()).to_pylist()])
    if not broken.any():
        return parse(documents)
    found = parse(documents.filter(pa.array(~broken)))
    rejected = dict.fromkeys(np.flatnonzero(broken).tolist(), "not UTF-8 text")
    return _with_rejected(shape, found._replace(owners=np.flatnonzero(~broken)[found.owners]), rejected)


def _is_broken(document: bytes) -> bool:
    try:
        document.decode()
    except UnicodeDecodeError:
        return True
    return False


def parser_of(source: LogicalSource, plan: Plan, header: list[str] | None = None) -> tuple[RecordShape, Parse]:
    """The columns of a stream's records, and what parses its documents."""
    match source.formulation:
        case Formulation.JSON:
            iterator = source.iterator or "$"
            shape = json_shape(plan.references, arrived=True)
            read_path(iterator)
            return shape, _JsonParser(JsonReader(shape, iterator, source.nulls, plan.limits))
        case Formulation.XML:
            reader = xml_reader(source, plan, arrived=True)
            return reader.shape, _XmlParser(reader)
        case Formulation.CSV:
            dialect = source.source.dialect if isinstance(source.source, FileSource) else CsvDialect()
            rows = CsvReader(RecordShape(plan.references), dialect, source.nulls, plan.limits, numbered=plan.numbered)
            if header is not None and (problem := rows.wanted_columns(header)[1]) is not None:
                raise InputError(problem)
            return RecordShape(plan.references, arrived=True), _CsvParser(rows, header)
    raise UnsupportedError(f"the reference formulation {source.formulation.value} in a stream")


class _JsonParser:
    def __init__(self, reader: JsonReader) -> None:
        self._reader = reader
        self._whole = read_path(reader.iterator).steps == ()

    def __call__(self, documents: pa.Array) -> Parsed:
        data, starts, ends = key_ranges(documents)
        ranges = read_only(data), starts, ends
        every = np.arange(len(documents))
        if self._whole:
            good, columns = self._reader.found_in(ranges, objects_only=True)
            reasons = pc.if_else(good, pa.scalar(None, pa.string()), "not a JSON object")
            return Parsed(columns, every, reasons)
        cut = self._reader.cut(ranges)
        _, columns = self._reader.found_in(cut.records, objects_only=False)
        rejected = {int(number): "not JSON" for number in np.flatnonzero(~cut.good)}
        none = pa.nulls(cut.owners.size, pa.string())
        return _with_rejected(self._reader.shape, Parsed(columns, cut.owners, none), rejected)


class _XmlParser:
    def __init__(self, reader: XmlReader) -> None:
        self._reader = reader

    def __call__(self, documents: pa.Array) -> Parsed:
        rejected: dict[int, str] = {}
        owners: list[int] = []
        numbers: list[int] = []
        found: list[list[list[str]]] = [[] for _ in self._reader.shape.references]
        for number, document in enumerate(documents.to_pylist()):
            try:
                text = document.encode()
                records = self._reader.records_of(text, "utf-8")
                columns, lines = self._reader.columns(records)
            except RefusedError as error:
                rejected[number] = str(error)
                continue
            for values, more in zip(found, columns, strict=True):
                values += more
            owners += [number] * len(lines)
            if self._reader.numbered:
                numbers += [line or 0 for line in self._reader.lines_of(records, text)]
        all_lines = np.array(numbers, np.int64) if self._reader.numbered else None
        none = pa.nulls(len(owners), pa.string())
        parsed = Parsed(as_columns(found), np.array(owners, np.int64), none, all_lines)
        return _with_rejected(self._reader.shape, parsed, rejected)


class _CsvParser:
    def __init__(self, reader: CsvReader, header: list[str] | None) -> None:
        self._reader = reader
        self._header = header

    def __call__(self, documents: pa.Array) -> Parsed:
        if self._header is None:
            return self._with_headers(documents)
        data, starts, ends = key_ranges(documents)
        columns, reasons = self._reader.lines((read_only(data), starts, ends), self._header)
        again = pa.array(np.full(len(documents), bool(columns)))
        for (texts, _), reference in zip(columns, self._reader.shape.references, strict=True):
            again = pc.and_(again, pc.fill_null(pc.equal(texts, reference), False))
        if not again.true_count:
            return Parsed(columns, np.arange(len(documents)), reasons)
        kept = pc.invert(again)
        owners = np.flatnonzero(kept.to_numpy(zero_copy_only=False))
        return Parsed([(texts.filter(kept), None) for texts, _ in columns], owners, reasons.filter(kept))

    def _with_headers(self, documents: pa.Array) -> Parsed:
        shape, parts, owners = self._reader.shape, [], []
        for number, document in enumerate(documents.to_pylist()):
            some = list(self._document(document))
            parts += some
            owners += [number] * sum(len(each) for each in some)
        table = pa.Table.from_batches(parts) if parts else pa.Table.from_batches([shape.reject("", None, "")])[:0]
        table = table.combine_chunks()
        columns: list[Column] = [(_combine(table.column(text_name(each))), None) for each in shape.references]
        lines = None
        if self._reader.numbered:  # the documents have no names for the reader, so a file is `#L5`
            named = table.column(FILE).to_pylist()
            lines = np.array([int(each[2:]) if each else 0 for each in named], np.int64)
        return Parsed(columns, np.array(owners, np.int64), _combine(table.column(REASON)), lines)

    def _document(self, document: str) -> Iterator[pa.RecordBatch]:
        """The records of a document that begins with its header."""
        count = 0
        try:
            for batch in self._reader.batches("", iter([document.encode()])):
                count += len(batch)
                yield batch
        except FreshetError as error:
            yield self._reader.shape.reject(str(error), None, "")
            return
        if not count:
            yield self._reader.shape.reject("a header without a record below it", None, "")


def _combine(column: pa.ChunkedArray) -> pa.Array:
    joined = column.combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks)


def _with_rejected(shape: RecordShape, found: Parsed, rejected: dict[int, str]) -> Parsed:
    """What is found, and a record for each document that is rejected."""
    if not rejected:
        return found
    empty = shape.empty_columns(len(rejected))
    joined: list[Column] = [
        (
            pa.concat_arrays([texts, no_texts]),
            pa.concat_arrays([kinds, no_kinds]) if kinds is not None and no_kinds is not None else None,
        )
        for (texts, kinds), (no_texts, no_kinds) in zip(found.columns, empty, strict=True)
    ]
    owners = np.concatenate([found.owners, np.array(list(rejected), np.int64)])
    reasons = pa.concat_arrays([found.reasons, pa.array(list(rejected.values()), pa.string())])
    lines = None if found.lines is None else np.concatenate([found.lines, np.zeros(len(rejected), np.int64)])
    return Parsed(joined, owners, reasons, lines)
