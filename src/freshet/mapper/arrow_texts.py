"""What texts become in terms, for whole Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.rdf.arrow import key_ranges, list_lengths, numbers, string_array, strings, texts

Values = Any  # a pa.Array, or a pa.Scalar where all rows have the same

# The backslash first: the others bring new ones.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_DIGITS = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_FALSE = pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\0")])[0]


@lru_cache(maxsize=4096)
def text_scalar(text: str) -> pa.StringScalar:
    """A text as a scalar. `pyarrow.scalar` would import pandas, which takes longer than to map small files."""
    return texts([text]).cast(pa.string())[0]


@lru_cache(maxsize=64)
def kind_scalar(kind: int) -> pa.Int8Scalar:
    """The code of a kind as a scalar."""
    return numbers(np.array([kind], np.int8))[0]


@lru_cache(maxsize=8)
def null_of(kind: pa.DataType) -> pa.Scalar:
    """The scalar that is null."""
    return pa.nulls(1, kind)[0]


NULL_TEXT = null_of(pa.string())


def spread(values: Values, rows: int) -> pa.Array:
    """Values as an array of the given number of rows."""
    if not isinstance(values, pa.Scalar):
        return values
    if not values.is_valid:
        return pa.nulls(rows, values.type)
    # A scalar is repeated by taking it: `pyarrow.repeat` would import pandas.
    single = pa.Array.from_buffers(*_buffers(values))
    return single.take(numbers(np.zeros(rows, np.int64)))


def first_texts(lists: pa.Array) -> pa.Array:
    """The first text of each list; null where it has none."""
    lengths = list_lengths(lists)
    return lists.flatten().take(numbers(np.cumsum(lengths, dtype=np.int64) - lengths, lengths > 0))


def _buffers(value: pa.Scalar) -> tuple[pa.DataType, int, list[pa.Buffer | None]]:
    if pa.types.is_boolean(value.type):
        return value.type, 1, [None, pa.py_buffer(b"\1" if value.as_py() else b"\0")]
    if pa.types.is_string(value.type):
        data = value.as_py().encode()
        return value.type, 1, [None, pa.py_buffer(np.array([0, len(data)], np.int32)), pa.py_buffer(data)]
    number = np.array([value.as_py()], value.type.to_pandas_dtype())
    return value.type, 1, [None, pa.py_buffer(number)]


def is_true(condition: Values) -> Values:
    """A condition that is false where it was null."""
    return pc.fill_null(condition, _FALSE)


def escape_literals(values: Values) -> Values:
    """The texts of literals as N-Triples and N-Quads write them between the quotation marks."""
    for character, escape in _ESCAPES.items():
        if _has(values, ord(character)):
            values = pc.replace_substring(values, character, escape)
    return values


def _has(values: Values, byte: int) -> bool:
    if isinstance(values, pa.Scalar):
        return values.is_valid and chr(byte) in values.as_py()
    data = values.buffers()[2]
    return data is not None and bool((np.frombuffer(data, np.uint8) == byte).any())


def hexadecimal(values: pa.Array) -> pa.Array:
    """The bytes of texts in hexadecimal digits."""
    data, starts, ends = key_ranges(values)
    valid = starts >= 0
    sizes = np.where(valid, ends - starts, 0)
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(2 * sizes, out=offsets[1:])
    # The texts of an array follow each other, and nulls have no bytes.
    first = int(starts[valid][0]) if valid.any() else 0
    taken = data[first : first + int(sizes.sum())]
    out = np.empty((taken.size, 2), np.uint8)
    out[:, 0], out[:, 1] = _DIGITS[taken >> 4], _DIGITS[taken & 15]
    return strings(out.reshape(-1), offsets, valid)


def by_row(function: Callable[..., str | None], rows: int, *columns: Values) -> pa.Array:
    """A function of Python for each row in which no column is null, for what Arrow cannot do.

    It is called once where all columns are the same in all rows.
    """
    if all(isinstance(column, pa.Scalar) for column in columns):
        values = [column.as_py() for column in columns]
        made = None if None in values else function(*values)
        return NULL_TEXT if made is None else text_scalar(made)
    lists = [[column.as_py()] * rows if isinstance(column, pa.Scalar) else column.to_pylist() for column in columns]
    return string_array([None if None in row else function(*row) for row in zip(*lists, strict=True)])
