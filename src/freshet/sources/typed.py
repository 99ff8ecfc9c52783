"""Values that have types, of databases and of RDF, as texts with their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from freshet.rdf.errors import InputError
from freshet.rml.kinds import BINARY, BOOLEAN, INTEGER, NOTHING, REAL, STRING
from freshet.sources.columns import Column, Found, RecordShape


class Typed(NamedTuple):
    """A text and its kind."""

    text: str | None
    kind: int


NONE = Typed(None, NOTHING)


def to_typed(value: Any) -> Typed:
    """A value of Python as text."""
    match value:
        case Typed():
            return value
        case None:
            return NONE
        case bool():
            return Typed("true" if value else "false", BOOLEAN)
        case int():
            return Typed(str(value), INTEGER)
        case float():
            return Typed(repr(value), REAL)
        case bytes():
            return Typed(value.hex().upper(), BINARY)
        case _:
            return Typed(str(value), STRING)


def columns_of(rows: Sequence[Sequence[Any]], places: Iterable[int], nulls: frozenset[str]) -> list[Column]:
    """Some columns of rows."""
    columns: list[Column] = []
    for place in places:
        values = [to_typed(row[place]) for row in rows]
        values = [NONE if value.text in nulls else value for value in values] if nulls else values
        texts = pa.array([value.text for value in values], pa.string())
        columns.append((texts, pa.array([value.kind for value in values], pa.int8())))
    return columns


def batch_of(
    shape: RecordShape, rows: Sequence[Sequence[Any]], places: Sequence[int], nulls: frozenset[str], shown: str | None
) -> pa.RecordBatch:
    """Rows as records."""
    nothing = pa.nulls(len(rows), pa.string())
    lines = nothing if shown is None else pa.array([repr(tuple(row)) for row in rows], pa.string())
    files = nothing if shown is None else pa.array([shown] * len(rows), pa.string())
    return shape.batch(Found(columns_of(rows, places, nulls), nothing, lines, files))


def places_of(references: Iterable[str], names: Sequence[str], where: str, *, sql: bool = False) -> list[int]:
    """Where the columns are that references name; each must be there once. A name of `sql` that no column has stands
    for the one that differs by upper and lower case only."""
    places = []
    for reference in references:
        found = [place for place, name in enumerate(names) if name == reference]
        if sql and not found:
            found = [place for place, name in enumerate(names) if name.lower() == reference.lower()]
        if len(found) != 1:
            how = "there are several columns" if found else "there is no column"
            raise InputError(f"{how} {reference} among {', '.join(names)}", file=where)
        places += found
    return places
