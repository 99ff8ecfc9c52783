"""Values that have types, of databases and of RDF, as texts with their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import isfinite, isnan
from typing import Any, NamedTuple

import pyarrow as pa

from freshet.rdf.errors import InputError
from freshet.rml.kinds import BINARY, BOOLEAN, DATE, DATETIME, DECIMAL, INTEGER, NOTHING, REAL, STRING, TIME
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
            return Typed(_real(value), REAL)
        case Decimal() if value.is_finite():
            return Typed(f"{value:f}", DECIMAL)
        case datetime():  # times of a zone are the same in UTC
            plain = value.isoformat() if value.tzinfo is None else f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"
            return Typed(_without_zeros(plain) + "Z" * (value.tzinfo is not None), DATETIME)
        case date():
            return Typed(value.isoformat(), DATE)
        case time():
            return Typed(_without_zeros(value.isoformat()), TIME)
        case bytes() | bytearray() | memoryview():
            return Typed(value.hex().upper(), BINARY)
        case _:
            return Typed(str(value), STRING)


def _real(value: float) -> str:
    """A double as XML Schema writes it."""
    if isfinite(value):
        return repr(value)
    return "NaN" if isnan(value) else "INF" if value > 0 else "-INF"


def _without_zeros(text: str) -> str:
    """A time without the zeros at the end of its fraction."""
    return text.rstrip("0").removesuffix(".") if "." in text else text


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
