"""Columns of inline ids as typed Arrow columns: values are read from the ids' bits, without keys and texts.

Decimals are read together with those of the dictionary (`freshet.results.column_reader`).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.kernels import layout
from freshet.rdf.arrow import booleans, numbers
from freshet.rdf.terms import XSD

Ids = NDArray[np.int64]
Valid = NDArray[np.bool_]

_DATATYPES = {
    layout.INTEGER: "integer",
    layout.BOOLEAN: "boolean",
    layout.DOUBLE: "double",
    layout.FLOAT: "float",
    layout.SCIENTIFIC: "double",
    layout.DATETIME_Z: "dateTime",
    layout.DATETIME: "dateTime",
}
_REAL_POWERS = np.array([10.0**exponent for exponent in range(layout.GREATEST_SCALE + 1)])
_SIGN_SHIFT = 64 - layout.TYPE_SHIFT


def inline_column(ids: Ids) -> tuple[pa.Field, pa.Array] | None:
    """The typed column of inline ids and zeros, which are null; None where they have several types, or are decimals.

    The field has no name, and is the same object for the same type. `ids` has at least one that is not 0.
    """
    valid = ids != 0
    types = (ids >> layout.TYPE_SHIFT) & layout.TYPE_MASK
    kind = int(types[valid.argmax()])
    if not np.array_equal(types, valid * kind):
        if kind not in (layout.DOUBLE, layout.SCIENTIFIC):
            return None
        if not ((types == layout.DOUBLE) | (types == layout.SCIENTIFIC))[valid].all():
            return None
    if kind == layout.DECIMAL:
        return None
    column = _column(kind, types, (ids << _SIGN_SHIFT) >> _SIGN_SHIFT, valid)
    return _field(kind, column.type), column


@cache
def _field(kind: int, of_type: pa.DataType) -> pa.Field:
    return pa.field("", of_type, metadata={"type": "literal", "datatype": XSD + _DATATYPES[kind]})


def _column(kind: int, types: Ids, values: Ids, valid: Valid) -> pa.Array:
    if kind == layout.INTEGER:
        return numbers(values, valid)
    if kind == layout.BOOLEAN:
        return booleans(values != 0, valid)
    if kind == layout.FLOAT:
        return numbers(_plain_reals(values).astype(np.float32), valid)
    if kind in (layout.DOUBLE, layout.SCIENTIFIC):
        return numbers(_doubles(types, values), valid)
    zone = "UTC" if kind == layout.DATETIME_Z else None
    return numbers((values >> 1) * 1000, valid).view(pa.timestamp("us", zone))


def _doubles(types: Ids, values: Ids) -> NDArray[np.float64]:
    scientific = types == layout.SCIENTIFIC
    if not scientific.any():
        return _plain_reals(values)
    found = np.empty(values.size)
    found[~scientific] = _plain_reals(values[~scientific])
    found[scientific] = _scientific_reals(values[scientific])
    return found


def _plain_reals(values: Ids) -> NDArray[np.float64]:
    """mantissa / 10**scale, correctly rounded as both are exact."""
    reals: NDArray[np.float64] = (values >> layout.SCALE_BITS) / _REAL_POWERS[values & layout.SCALE_MASK]
    return reals


def _scientific_reals(values: Ids) -> NDArray[np.float64]:
    """mantissa * 10**(exponent - fraction digits), likewise."""
    exponents = (values & layout.EXPONENT_MASK) - layout.EXPONENT_BIAS
    shifts = exponents - ((values >> layout.EXPONENT_BITS) & layout.FRACTION_MASK)
    mantissas = (values >> (layout.EXPONENT_BITS + layout.FRACTION_BITS)).astype(np.float64)
    powers = _REAL_POWERS[np.abs(shifts)]
    reals: NDArray[np.float64] = np.where(shifts < 0, mantissas / powers, mantissas * powers)
    return reals
