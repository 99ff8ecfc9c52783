"""JSON files as tasks: one of lines that is UTF-8 as it is becomes several where it is large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from freshet.rdf.errors import FreshetError, InputError
from freshet.rml.json_paths import read_path
from freshet.rml.sources import FileSource, LogicalSource
from freshet.sources.columns import Limits, Plan, RecordShape
from freshet.sources.file_ranges import FileRange, first_line, head_of, line_blocks, line_ranges, range_size
from freshet.sources.files import DAMAGED, contents, files_of, is_plain
from freshet.sources.json_documents import document_batches
from freshet.sources.json_text import JsonReader, are_lines, json_shape


@dataclass(frozen=True, slots=True)
class JsonTask:
    """Reads a file, or a range of one of which it is known that it has a document a line."""

    reader: JsonReader
    source: FileSource
    file_range: FileRange

    def __call__(self) -> Iterator[pa.RecordBatch]:
        name = self.file_range.file.absolute().as_uri()
        try:
            if self.file_range.stop is not None:
                yield from self.reader.line_batches(name, line_blocks(self.file_range), first_line(self.file_range))
                return
            for name, blocks in contents(self.file_range.file, self.source):
                yield from self._file(name, blocks)
        except (*DAMAGED, FreshetError) as error:
            yield self.reader.shape.reject(f"cannot be read: {error}", None, name)

    def _file(self, name: str, blocks: Iterator[bytes]) -> Iterator[pa.RecordBatch]:
        head, limit = b"", self.reader.limits.record_bytes
        while not _shows_form(head) and len(head) <= limit and (block := next(blocks, None)) is not None:
            head += block
        if are_lines(head):
            yield from self.reader.line_batches(name, _chain_blocks(head, blocks))
        else:
            yield from document_batches(self.reader, name, _chain_blocks(head, blocks))


def _chain_blocks(head: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from blocks


def _shows_form(head: bytes) -> bool:
    """Whether there are three lines with something in them."""
    return sum(1 for line in head.split(b"\n")[:-1] if line.strip()) >= 3


def json_tasks(source: LogicalSource, given: FileSource, plan: Plan) -> tuple[RecordShape, Sequence[JsonTask]]:
    """The columns and the tasks."""
    iterator = source.iterator or "$"
    read_path(iterator)
    shape = json_shape(plan.references)
    reader = JsonReader(shape, iterator, source.nulls, plan.limits, given.encoding, plan.keep, plan.numbered)
    files = files_of(given)
    size = range_size(files, plan.cores)
    warm_json(reader)
    tasks = []
    for file in files:
        is_cut = not plan.numbered and is_plain(given, file)
        if is_cut and file.stat().st_size > size and _is_of_lines(file, given, plan.limits):
            tasks += [JsonTask(reader, given, file_range) for file_range in line_ranges(file, size)]
        else:
            tasks.append(JsonTask(reader, given, FileRange(file)))
    return reader.shape, tasks


def _is_of_lines(file: Path, source: FileSource, limits: Limits) -> bool:
    try:
        return are_lines(head_of(file, source, _shows_form, limits.record_bytes))
    except DAMAGED as error:
        raise InputError(f"cannot be read: {error}", file=str(file)) from None


def warm_json(reader: JsonReader) -> int:
    """Read lines and a document as the reader will, likewise. Gives the number of records."""
    lines = list(reader.line_batches("", iter([b"{}\n{}\n"])))
    return sum(len(batch) for batch in [*lines, *document_batches(reader, "", iter([b"{}"]))])
