"""Rows of Parquet, ORC, Arrow and Avro as JSON documents, where references are JSONPath and reach into values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from freshet.rdf.errors import FreshetError, UnsupportedError
from freshet.rml.json_paths import read_path
from freshet.rml.sources import ARROW_FORMS, AVRO_FORMS, FileSource, LogicalSource
from freshet.sources.columns import ROWS, Plan, RecordShape, Task
from freshet.sources.files import files_of
from freshet.sources.json_files import warm_json
from freshet.sources.json_text import JsonReader, json_shape
from freshet.sources.table_files import check_installed


@dataclass(frozen=True, slots=True)
class NestedTask:
    """Reads a file; each row is a document."""

    reader: JsonReader
    file: Path

    def __call__(self) -> Iterator[pa.RecordBatch]:
        name = self.file.absolute().as_uri()
        try:
            yield from self.reader.line_batches(name, map(_lines, _rows(self.file)))
        except (OSError, ValueError, EOFError, LookupError, TypeError, pa.ArrowException, FreshetError) as error:
            yield self.reader.shape.reject(f"cannot be read: {error}", None, name)


def nested_tasks(source: LogicalSource, given: FileSource, plan: Plan) -> tuple[RecordShape, Sequence[Task]]:
    """The columns and the tasks, one a file."""
    iterator = source.iterator or "$"
    read_path(iterator)
    reader = JsonReader(json_shape(plan.references), iterator, source.nulls, plan.limits, given.encoding, plan.keep)
    files = files_of(given)
    for file in files:
        suffix = file.suffix.lower()
        if suffix not in (*ARROW_FORMS, *AVRO_FORMS):
            raise UnsupportedError(f"JSONPath over {suffix or 'this'} files", file=str(file))
        check_installed(suffix, file)
    warm_json(reader)
    return reader.shape, [NestedTask(reader, file) for file in files]


def _rows(file: Path) -> Iterator[list[dict[str, Any]]]:
    """The rows of a file, some at a time."""
    if file.suffix.lower() in AVRO_FORMS:
        import fastavro

        with file.open("rb") as stream:
            records = fastavro.reader(stream)
            while some := list(islice(records, ROWS)):
                yield some  # type: ignore[misc]
        return
    from freshet.sources.arrow_files import Groups, outline, read_groups

    _, count = outline(file)
    for batch in read_groups(Groups(file, 0, count), None):
        yield from (batch.slice(at, ROWS).to_pylist() for at in range(0, len(batch), ROWS))


def _lines(rows: list[dict[str, Any]]) -> bytes:
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
    return b"".join(orjson.dumps(row, default=_json_value, option=options) for row in rows)


def _json_value(value: Any) -> Any:
    match value:
        case Decimal():
            return orjson.Fragment(f"{value:f}")
        case bytes():
            return value.hex().upper()
    return str(value)
