"""CSV files as tasks: a large one that is UTF-8 as it is becomes several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from freshet.rdf.errors import FreshetError, InputError
from freshet.rml.sources import FileSource, LogicalSource
from freshet.sources.columns import Plan, RecordShape
from freshet.sources.csv_text import CsvReader
from freshet.sources.file_ranges import FileRange, byte_blocks, csv_ranges, head_of, range_size
from freshet.sources.files import DAMAGED, contents, files_of, is_plain


@dataclass(frozen=True, slots=True)
class CsvTask:
    """Reads a file, or a range of one whose header is known."""

    reader: CsvReader
    source: FileSource
    file_range: FileRange
    header: list[str] | None = None

    def __call__(self) -> Iterator[pa.RecordBatch]:
        name = self.file_range.file.absolute().as_uri()
        try:
            if self.header is not None:
                yield from self.reader.batches(name, byte_blocks(self.file_range), self.header, self.file_range.start)
                return
            for name, blocks in contents(self.file_range.file, self.source):
                yield from self.reader.batches(name, blocks)
        except (*DAMAGED, FreshetError) as error:
            yield self.reader.shape.reject(f"cannot be read: {error}", None, name)


def csv_tasks(source: LogicalSource, given: FileSource, plan: Plan) -> tuple[RecordShape, Sequence[CsvTask]]:
    """The columns and the tasks. The header of the first file must have every column that is referred to."""
    shape = RecordShape(plan.references)
    reader = CsvReader(shape, given.dialect, source.nulls, plan.limits, given.encoding, plan.keep, plan.numbered)
    files = files_of(given)
    size = range_size(files, plan.cores)
    _first_header(reader, given, files[0])
    warm_csv(reader)
    tasks = []
    for file in files:
        if plan.numbered or not is_plain(given, file) or file.stat().st_size <= size:
            tasks.append(CsvTask(reader, given, FileRange(file)))
            continue
        header, first = _header(reader, given, file)
        if header is None:
            tasks.append(CsvTask(reader, given, FileRange(file)))
            continue
        ranges = csv_ranges(file, size, first, reader.marks, plan.limits.record_bytes)
        tasks += [CsvTask(reader, given, file_range, header) for file_range in ranges]
    return shape, tasks


def _first_header(reader: CsvReader, source: FileSource, file: Path) -> None:
    try:
        header, _ = _header(reader, source, file)
    except (*DAMAGED, InputError) as error:
        raise InputError(f"cannot be read: {error}", file=str(file)) from None
    if not header:
        raise InputError("there is no header in it", file=str(file))
    _, problem = reader.wanted_columns(header)
    if problem is not None:
        raise InputError(problem, file=str(file))


def _header(reader: CsvReader, source: FileSource, file: Path) -> tuple[list[str] | None, int]:
    """The names of the columns, and at which byte of the file records begin."""
    head = head_of(file, source, lambda head: reader.header(head, False)[0] is not None, reader.limits.record_bytes)
    names, at = reader.header(head, True)
    with file.open("rb") as stream:
        marked = stream.read(3) == b"\xef\xbb\xbf"
    return names, at + 3 * marked if at else 0


def warm_csv(reader: CsvReader) -> int:
    """Read a record as the reader will, so that kernels are compiled before Spark's workers start, and not by each.

    Gives the number of records.
    """
    names = list(reader.shape.references) or ["a"]
    text = reader.dialect.delimiter.join("x" for _ in names).encode()
    return sum(len(batch) for batch in reader.batches("", iter([text]), names))
