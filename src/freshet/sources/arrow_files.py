"""Parquet, ORC and Arrow files: a task for each run of row groups, stripes or batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from freshet.rdf.errors import InputError
from freshet.rml.sources import LogicalSource
from freshet.sources.columns import ROWS, Found, Plan, RecordShape
from freshet.sources.file_ranges import range_size
from freshet.sources.typed import places_of
from freshet.sources.typed_columns import check_column, typed_column


class Groups(NamedTuple):
    """The groups of a file from one number up to another, which are read one after the other."""

    file: Path
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class ArrowTask:
    """Reads groups of a file, with the columns that are asked for."""

    shape: RecordShape
    groups: Groups
    nulls: frozenset[str]
    keep: bool

    def __call__(self) -> Iterator[pa.RecordBatch]:
        name = self.groups.file.absolute().as_uri()
        try:
            for batch in read_groups(self.groups, list(self.shape.references) if not self.keep else None):
                for at in range(0, len(batch), ROWS):
                    yield self._records(batch.slice(at, ROWS), name)
        except (pa.ArrowException, OSError) as error:
            yield self.shape.reject(f"cannot be read: {error}", None, name)

    def _records(self, batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
        columns = [typed_column(batch.column(each), self.nulls) for each in self.shape.references]
        nothing = pa.nulls(len(batch), pa.string())
        lines = files = nothing
        if self.keep:
            lines = pa.array([repr(tuple(row.values())) for row in batch.to_pylist()], pa.string())
            files = pa.array([name] * len(batch), pa.string())
        return self.shape.batch(Found(columns, nothing, lines, files))


def arrow_tasks(source: LogicalSource, files: list[Path], plan: Plan) -> tuple[RecordShape, Sequence[ArrowTask]]:
    """The columns and the tasks."""
    shape = RecordShape(plan.references, kinds=True)
    size = range_size(files, plan.cores)
    tasks = []
    for file in files:
        schema, count = outline(file)
        for place in places_of(plan.references, schema.names, str(file)):
            check_column(schema.names[place], schema.types[place], str(file))
        step = max(1, count * size // max(1, file.stat().st_size))
        groups = [Groups(file, first, min(first + step, count)) for first in range(0, count, step)]
        tasks += [ArrowTask(shape, each, source.nulls, plan.keep) for each in groups]
    return shape, tasks


def outline(file: Path) -> tuple[pa.Schema, int]:
    """The columns of a file, and how many groups it has."""
    try:
        match file.suffix.lower():
            case ".parquet":
                from pyarrow.parquet import ParquetFile

                with ParquetFile(file) as opened:
                    return opened.schema_arrow, opened.num_row_groups
            case ".orc":
                from pyarrow.orc import ORCFile

                opened = ORCFile(file)
                return opened.schema, opened.nstripes
            case _:
                with pa.memory_map(str(file)) as mapped:
                    opened = pa.ipc.open_file(mapped)
                    return opened.schema, opened.num_record_batches
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"cannot be read: {error}", file=str(file)) from None


def read_groups(groups: Groups, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    """The rows of some groups, in batches; all columns where none are named."""
    numbers = range(groups.first, groups.stop)
    match groups.file.suffix.lower():
        case ".parquet":
            from pyarrow.parquet import ParquetFile

            with ParquetFile(groups.file) as opened:
                yield from opened.iter_batches(ROWS, list(numbers), columns)
        case ".orc":
            from pyarrow.orc import ORCFile

            opened = ORCFile(groups.file)
            yield from (opened.read_stripe(number, columns) for number in numbers)
        case _:
            with pa.memory_map(str(groups.file)) as mapped:
                opened = pa.ipc.open_file(mapped)
                batches = (opened.get_batch(number) for number in numbers)
                yield from (batch if columns is None else batch.select(columns) for batch in batches)
