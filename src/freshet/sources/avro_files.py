"""Avro files: a record is a row, and references name its fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

from freshet.rdf.errors import InputError
from freshet.rml.sources import LogicalSource
from freshet.sources.columns import ROWS, Plan, RecordShape
from freshet.sources.typed import batch_of, places_of

# What fastavro raises of a file that is damaged, or none of Avro's.
BROKEN = (OSError, ValueError, EOFError, LookupError, TypeError)
_NESTED = ("record", "error", "array", "map")


@dataclass(frozen=True, slots=True)
class AvroTask:
    """Reads a file, some records at a time."""

    shape: RecordShape
    file: Path
    nulls: frozenset[str]
    keep: bool

    def __call__(self) -> Iterator[pa.RecordBatch]:
        name = self.file.absolute().as_uri()
        try:
            with self.file.open("rb") as stream:
                records = fastavro.reader(stream)
                names = fields_of(records.writer_schema, self.file)
                wanted = names if self.keep else list(self.shape.references)
                places = places_of(self.shape.references, wanted, str(self.file))
                rows: Iterator[Any] = iter(records)
                while some := [[row[each] for each in wanted] for row in islice(rows, ROWS)]:
                    yield batch_of(self.shape, some, places, self.nulls, name if self.keep else None)
        except BROKEN as error:
            yield self.shape.reject(f"cannot be read: {error}", None, name)


def avro_tasks(source: LogicalSource, files: list[Path], plan: Plan) -> tuple[RecordShape, list[AvroTask]]:
    """The columns and the tasks, one a file."""
    shape = RecordShape(plan.references, kinds=True)
    for file in files:
        schema = schema_of(file)
        names = fields_of(schema, file)
        for place in places_of(plan.references, names, str(file)):
            if _is_nested(schema["fields"][place]["type"]):
                what = "has values with a structure: the reference formulation rml:JSONPath reads those"
                raise InputError(f"the column {names[place]} {what}", file=str(file))
    return shape, [AvroTask(shape, file, source.nulls, plan.keep) for file in files]


def schema_of(file: Path) -> Any:
    """The schema that a file was written with."""
    try:
        with file.open("rb") as stream:
            return fastavro.reader(stream).writer_schema
    except BROKEN as error:
        raise InputError(f"cannot be read: {error}", file=str(file)) from None


def fields_of(schema: Any, file: Path) -> list[str]:
    """The names of a record's fields."""
    if not isinstance(schema, dict) or "fields" not in schema:
        raise InputError("has values that are no records", file=str(file))
    return [field["name"] for field in schema["fields"]]


def _is_nested(kind: Any) -> bool:
    if isinstance(kind, list):
        return any(_is_nested(each) for each in kind)
    if isinstance(kind, dict):
        return kind["type"] in _NESTED or (not isinstance(kind["type"], str) and _is_nested(kind["type"]))
    return False
