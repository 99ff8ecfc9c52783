"""Sheets of Excel and OpenDocument: the first row has the names of the columns, and references name those.

The iterator of the logical source names the sheet; without one it is the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from python_calamine import CalamineError, CalamineWorkbook

from freshet.rdf.errors import InputError
from freshet.rml.kinds import INTEGER, TIME
from freshet.rml.sources import CsvDialect, FileSource, LogicalSource
from freshet.sources.columns import ROWS, Limits, Plan, RecordShape
from freshet.sources.typed import NONE, Typed, batch_of, places_of, to_typed

_BROKEN = (CalamineError, OSError, ValueError, KeyError)


@dataclass(frozen=True, slots=True)
class SheetTask:
    """Reads a sheet, which is in memory as a whole."""

    shape: RecordShape
    file: Path
    sheet: str | None
    dialect: CsvDialect
    nulls: frozenset[str]
    keep: bool

    def __call__(self) -> Iterator[pa.RecordBatch]:
        name = self.file.absolute().as_uri()
        try:
            names, rows = read_sheet(self.file, self.sheet, self.dialect)
            places = places_of(self.shape.references, names, str(self.file))
            while some := list(islice(rows, ROWS)):
                yield batch_of(self.shape, some, places, self.nulls, name if self.keep else None)
        except (*_BROKEN, InputError) as error:
            yield self.shape.reject(f"cannot be read: {error}", None, name)


def sheet_tasks(
    source: LogicalSource, given: FileSource, files: list[Path], plan: Plan
) -> tuple[RecordShape, list[SheetTask]]:
    """The columns and the tasks, one a file."""
    shape = RecordShape(plan.references, kinds=True)
    for file in files:
        _check_size(file, plan.limits)
        try:
            names, _ = read_sheet(file, source.iterator, given.dialect)
        except _BROKEN as error:
            raise InputError(f"cannot be read: {error}", file=str(file)) from None
        places_of(plan.references, names, str(file))
    tasks = [SheetTask(shape, file, source.iterator, given.dialect, source.nulls, plan.keep) for file in files]
    return shape, tasks


def _check_size(file: Path, limits: Limits) -> None:
    if file.stat().st_size > limits.document_bytes:
        raise InputError(f"longer than {limits.document_bytes} bytes", file=str(file))


def read_sheet(file: Path, sheet: str | None, dialect: CsvDialect) -> tuple[list[str], Iterator[list[Typed]]]:
    """The names of the columns, and the rows that are not empty."""
    with CalamineWorkbook.from_path(file) as book:
        names = book.sheet_names
        if sheet is not None and sheet not in names:
            raise InputError(f"there is no sheet {sheet} among {', '.join(names)}", file=str(file))
        if not names:
            raise InputError("there is no sheet in it", file=str(file))
        found: Sequence[Sequence[Any]] = book.get_sheet_by_name(sheet or names[0]).to_python()
    rows = ([_cell(value) for value in row] for row in islice(found, dialect.skip_rows, None))
    filled = (row for row in rows if any(cell.text is not None for cell in row))
    if not dialect.header:
        width = len(found[0]) if found else 0
        return [f"_col.{number + 1}" for number in range(width)], filled
    return [cell.text or "" for cell in next(filled, [])], filled


def _cell(value: Any) -> Typed:
    """A cell. Sheets know numbers only: one without a fraction is an integer, as people see it."""
    match value:
        case "":
            return NONE
        case float() if value.is_integer() and abs(value) < 1e15:
            return Typed(str(int(value)), INTEGER)
        case timedelta():
            hours, rest = divmod(int(value.total_seconds()), 3600)
            return Typed(f"{hours:02}:{rest // 60:02}:{rest % 60:02}", TIME)
    return to_typed(value)
