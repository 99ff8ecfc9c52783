"""Texts of a CSV file by the texts of another of its columns: `lookup` of mappings, on both targets."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from freshet.rdf.errors import InputError


class LookupFile(NamedTuple):
    """A file with a delimiter, and the numbers of the columns that are searched and given, from 0 on."""

    path: str
    from_column: str
    to_column: str
    delimiter: str = ","


def look_up(texts: pa.Array, file: LookupFile) -> pa.Array:
    """For each text what stands in the first row that has it; null where none has."""
    keys, values = _columns(file, _modified(file.path))
    return values.take(pc.index_in(texts, value_set=keys, skip_nulls=True))


@lru_cache(maxsize=16)
def _columns(file: LookupFile, _modified_ns: int) -> tuple[pa.Array, pa.Array]:
    """The distinct texts of one column, and what stands beside the first of each."""
    if len(file.delimiter) != 1:
        raise InputError(f"the delimiter of a lookup is one character, not {file.delimiter!r}")
    try:
        key, value = int(file.from_column), int(file.to_column)
    except ValueError:
        raise InputError(
            f"the columns of a lookup are numbers from 0 on, not {file.from_column!r} and {file.to_column!r}"
        ) from None
    if min(key, value) < 0:
        raise InputError("the columns of a lookup are numbers from 0 on")
    found: dict[str, str] = {}
    try:
        with open(file.path, encoding="utf-8-sig", newline="") as stream:
            for row in csv.reader(stream, delimiter=file.delimiter):
                if max(key, value) < len(row):
                    found.setdefault(row[key], row[value])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read: {error}", file=file.path) from None
    return pa.array(found.keys(), pa.string()), pa.array(found.values(), pa.string())


def _modified(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
