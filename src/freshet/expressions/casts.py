"""Casts: the constructor functions of XML Schema's datatypes (SPARQL 1.1, 17.5).

Numbers and booleans are cast by their values, a whole column at a time. A string is read as a literal of the datatype,
once for each distinct string, without the white space around it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.expressions.columns import Column, ColumnBatch, Keys, Truths
from freshet.expressions.distinct import distinct_keys, encode
from freshet.expressions.lexical import iri, literal, simple_key, typed_key
from freshet.expressions.times import DateTimeFields, is_inline_date_time, read_date_time
from freshet.kernels import numbers, wide
from freshet.kernels.comparison import ERROR, effective_truths
from freshet.kernels.values import (
    BOOLEAN,
    DATE,
    DATE_LOCAL,
    DATE_TIME,
    DATE_TIME_LOCAL,
    DECIMAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    NOTHING,
    STRING,
    TIME,
    TIME_LOCAL,
    Values,
)
from freshet.rdf.terms import XSD
from freshet.rdf.values import number_ids, values_of_keys

_SPACES = " \t\n\r"
_WORD = (1 << 64) - 1
_UNIT = 10**wide.UNIT_DIGITS
_ONE_HIGH, _ONE_LOW = _UNIT >> 64, _UNIT & _WORD
_NAMES = {INTEGER: "integer", DECIMAL: "decimal", FLOAT: "float", DOUBLE: "double", BOOLEAN: "boolean"}

_GREATEST = 2**63 - 1  # an integer has 64 bits
_RANGES: dict[str, tuple[int, int]] = {
    "long": (-(2**63), _GREATEST),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "nonNegativeInteger": (0, _GREATEST),
    "positiveInteger": (1, _GREATEST),
    "nonPositiveInteger": (-(2**63), 0),
    "negativeInteger": (-(2**63), -1),
    "unsignedLong": (0, _GREATEST),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
}


def _operand(batch: ColumnBatch, column: Column, kind: int) -> Values:
    """The values to cast: numbers, booleans, and strings read as the datatype; everything else is NOTHING."""
    values = Values(*(array.copy() for array in batch.values(column)))
    if (values.kinds == STRING).any():
        rows = np.flatnonzero(values.kinds == STRING)
        keys, places = distinct_keys(batch, column)
        read = values_of_keys(pa.array([_as_typed(key, _NAMES[kind]) for key in keys], pa.large_string()))
        at = places[rows] if places.size > 1 else np.zeros(rows.size, np.int64)
        for array, strings in zip(values, read, strict=True):
            array[rows] = strings[at]
    values.kinds[values.kinds > BOOLEAN] = NOTHING
    return values


def _as_typed(key: str | None, name: str) -> str | None:
    parts = None if key is None else literal(key)
    return None if parts is None or parts[1] else typed_key(parts[0].strip(_SPACES), name)


def _to_real(kind: int, batch: ColumnBatch, argument: Column) -> Values:
    values = _operand(batch, argument, kind)
    if kind == FLOAT:
        with np.errstate(over="ignore"):
            values.reals[:] = values.reals.astype(np.float32)
    return values._replace(kinds=np.where(values.kinds == NOTHING, NOTHING, kind).astype(np.uint8))


def _to_exact(kind: int, batch: ColumnBatch, argument: Column) -> Values:
    """xsd:integer, which cuts a fraction off, and xsd:decimal."""
    values = _operand(batch, argument, kind)
    booleans = values.kinds == BOOLEAN
    ones = booleans & (values.reals != 0)
    values.high[ones], values.low[ones] = _ONE_HIGH, _ONE_LOW
    values.kinds[booleans] = INTEGER
    if kind == INTEGER:
        values = Values(*numbers.change(numbers.TRUNCATE, values))
        numbers.as_integers(values)
        return values
    _exact_reals(values)
    return values._replace(kinds=np.where(values.kinds == NOTHING, NOTHING, kind).astype(np.uint8))


def _exact_reals(values: Values) -> None:
    """Turn floats and doubles into decimals of the digits that they are written with, each distinct number once."""
    for kind in (FLOAT, DOUBLE):
        rows = np.flatnonzero(values.kinds == kind)
        if rows.size:
            distinct, places = np.unique(values.reals[rows], return_inverse=True)
            units = [_units(real if kind == DOUBLE else np.float32(real)) for real in distinct]
            values.kinds[rows] = np.array([NOTHING if number is None else DECIMAL for number in units])[places]
            values.high[rows] = np.array([(number or 0) >> 64 for number in units], np.int64)[places]
            values.low[rows] = np.array([(number or 0) & _WORD for number in units], np.uint64)[places]


def _units(real: np.floating) -> int | None:
    """A number in units of decimals, or None where it does not fit."""
    if not np.isfinite(real):
        return None
    number = int(Decimal(np.format_float_scientific(real)).scaleb(wide.UNIT_DIGITS))
    return number if -(2**127) <= number < 2**127 else None


def _to_boolean(batch: ColumnBatch, argument: Column) -> Truths:
    values = _operand(batch, argument, BOOLEAN)
    codes = effective_truths(values.kinds, values.reals)
    return Truths(np.where(values.kinds == NOTHING, np.uint8(ERROR), codes))


def _to_derived(name: str, batch: ColumnBatch, argument: Column) -> Keys:
    """The types derived from xsd:integer, each with its range."""
    least, greatest = _RANGES[name]
    ids, places = encode(number_ids(batch.dictionary, _to_exact(INTEGER, batch, argument)))

    def derived(key: str | None) -> str | None:
        parts = None if key is None else literal(key)
        return typed_key(parts[0], name) if parts is not None and least <= int(parts[0]) <= greatest else None

    return Keys([derived(key) for key in batch.dictionary.keys(ids).to_pylist()], places)


def real_text(real: float | np.float32) -> str:
    """A double as XPath casts it to a string.

    >>> real_text(1.0), real_text(1e-6), real_text(2.5e7), real_text(float("-inf"))
    ('1', '0.000001', '2.5E7', '-INF')
    """
    if not np.isfinite(real):
        return "NaN" if real != real else "INF" if real > 0 else "-INF"
    if real == 0 or 1e-6 <= abs(float(real)) < 1e6:
        return np.format_float_positional(real, trim="-")
    mantissa, exponent = np.format_float_scientific(real, trim="0").split("e")
    return f"{mantissa}E{int(exponent)}"


def _to_string(batch: ColumnBatch, argument: Column) -> Keys:
    keys, places = distinct_keys(batch, argument)
    values = values_of_keys(pa.array(keys, pa.large_string()))
    exact = number_ids(batch.dictionary, _select_rows(values, (values.kinds == INTEGER) | (values.kinds == DECIMAL)))
    canonical = batch.dictionary.keys(exact).to_pylist()
    texts: list[str | None] = []
    for key, kind, real, number in zip(keys, values.kinds, values.reals, canonical, strict=True):
        parts = None if key is None else literal(number or key)
        if kind in (FLOAT, DOUBLE):
            texts.append(real_text(np.float32(real) if kind == FLOAT else real))
        elif kind == BOOLEAN:
            texts.append("true" if real else "false")
        else:
            texts.append(parts[0] if parts is not None else iri(key) if key is not None else None)
    return Keys([None if text is None else simple_key(text) for text in texts], places)


def _select_rows(values: Values, rows: NDArray[np.bool_]) -> Values:
    return values._replace(kinds=np.where(rows, values.kinds, NOTHING).astype(np.uint8))


def _date_time_text(date_time: DateTimeFields) -> str:
    clock = f"{date_time.hours:02}:{date_time.minutes:02}:{date_time.seconds}" if date_time.seconds else "00:00:00"
    return f"{_date_text(date_time, '')}T{clock}{date_time.zone}"


def _date_text(date_time: DateTimeFields, zone: str | None = None) -> str:
    assert date_time.year is not None
    year = f"{'-' if date_time.year < 0 else ''}{abs(date_time.year):04}"
    return f"{year}-{date_time.month:02}-{date_time.day:02}{date_time.zone if zone is None else zone}"


def _time_text(date_time: DateTimeFields) -> str:
    return f"{date_time.hours:02}:{date_time.minutes:02}:{date_time.seconds}{date_time.zone}"


# The kinds that each type is cast from, besides strings, and how it is written.
_DATE_TIMES, _DATES, _TIMES = (DATE_TIME, DATE_TIME_LOCAL), (DATE, DATE_LOCAL), (TIME, TIME_LOCAL)
_DATE_TIME_TYPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], Callable[[DateTimeFields], str]]] = {
    "dateTime": (_DATE_TIMES, _DATES, _date_time_text),
    "date": (_DATES, _DATE_TIMES, _date_text),
    "time": (_TIMES, _DATE_TIMES, _time_text),
}


def _to_date_time(name: str, batch: ColumnBatch, argument: Column) -> Column:
    own, others, write = _DATE_TIME_TYPES[name]
    if name == "dateTime" and isinstance(argument, np.ndarray) and is_inline_date_time(argument).all():
        return argument
    keys, places = distinct_keys(batch, argument)
    kinds = values_of_keys(pa.array(keys, pa.large_string())).kinds
    read_as = [_as_typed(key, name) for key in keys]
    read_kinds = values_of_keys(pa.array(read_as, pa.large_string())).kinds

    def cast(key: str | None, kind: int, as_typed: str | None, read_kind: int) -> str | None:
        if kind == STRING:
            return as_typed if read_kind in own else None
        parts = None if key is None else literal(key)
        if parts is None:
            return None
        if kind in own:
            return typed_key(parts[0], name)
        return typed_key(write(read_date_time(parts[0])), name) if kind in others else None

    return Keys([cast(*row) for row in zip(keys, kinds, read_as, read_kinds, strict=True)], places)


FUNCTIONS: dict[str, Callable[..., Column]] = {
    XSD + "boolean": _to_boolean,
    XSD + "double": partial(_to_real, DOUBLE),
    XSD + "float": partial(_to_real, FLOAT),
    XSD + "decimal": partial(_to_exact, DECIMAL),
    XSD + "integer": partial(_to_exact, INTEGER),
    XSD + "string": _to_string,
    **{XSD + name: partial(_to_date_time, name) for name in _DATE_TIME_TYPES},
    **{XSD + name: partial(_to_derived, name) for name in _RANGES},
}
