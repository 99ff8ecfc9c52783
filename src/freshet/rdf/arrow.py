"""Arrow arrays of strings as the plain arrays that kernels take, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ranges = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]

AnyNumber = TypeVar("AnyNumber", bound=np.generic)

_NO_BYTES = np.empty(0, np.uint8)
_KINDS = {np.dtype(kind): pa.from_numpy_dtype(kind) for kind in (np.int64, np.int32, np.float64)}


def read_only(array: NDArray[AnyNumber]) -> NDArray[AnyNumber]:
    """A contiguous array that cannot be written to.

    To Numba these are a type of their own. Arrays from Arrow are such, so that kernels which only read an array are
    given it like this always, and are compiled once.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def key_ranges(strings: pa.Array) -> Ranges:
    """The bytes of an array of strings, and where each string starts and ends; the start of a null is -1."""
    if isinstance(strings, pa.ChunkedArray):
        strings = strings.combine_chunks()
    if pa.types.is_dictionary(strings.type):
        strings = strings.dictionary_decode()
    if not (pa.types.is_string(strings.type) or pa.types.is_large_string(strings.type)):
        strings = strings.cast(pa.large_string())
    if len(strings) == 0:
        return _NO_BYTES, np.empty(0, np.int64), np.empty(0, np.int64)
    _, offset_buffer, data_buffer = strings.buffers()
    width = np.int32 if pa.types.is_string(strings.type) else np.int64
    offsets = np.frombuffer(offset_buffer, width)[strings.offset : strings.offset + len(strings) + 1]
    starts, ends = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    if strings.null_count:
        starts[strings.is_null().to_numpy(zero_copy_only=False)] = -1
    data = _NO_BYTES if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    return data, starts, ends


def large_strings(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], valid: NDArray[np.bool_] | None = None
) -> pa.Array:
    """An array of strings out of its bytes, the offsets into them, and which rows are not null."""
    return _strings(pa.large_string(), data, offsets, valid)


def strings(data: NDArray[np.uint8], offsets: NDArray[np.int32], valid: NDArray[np.bool_]) -> pa.Array:
    """The same with offsets of 32 bits."""
    return _strings(pa.string(), data, offsets, valid)


def whole_numbers(array: pa.Array) -> NDArray[np.int64]:
    """The values of an array of 64-bit integers without nulls. `to_numpy` would import pandas."""
    values: NDArray[np.int64] = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array)]
    return values


def texts(written: list[str]) -> pa.Array:
    """An array of large strings. `pyarrow.array`, and `pyarrow.scalar`, would import pandas."""
    encoded = [text.encode() for text in written]
    offsets = np.array([0, *accumulate(map(len, encoded))])
    return large_strings(np.frombuffer(b"".join(encoded), np.uint8), offsets, np.full(len(written), True))


def repeat(text: str, count: int) -> pa.Array:
    """An array of one text many times, without `pyarrow.scalar`."""
    encoded = np.frombuffer(text.encode(), np.uint8)
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(encoded.size)
    return strings(np.tile(encoded, count), offsets, np.full(count, True))


def string_array(written: Sequence[str | None]) -> pa.Array:
    """An array of strings, of which some may be null, likewise."""
    valid = np.array([text is not None for text in written], np.bool_)
    encoded = [b"" if text is None else text.encode() for text in written]
    offsets = np.array([0, *accumulate(map(len, encoded))], np.int32)
    return strings(np.frombuffer(b"".join(encoded), np.uint8), offsets, valid)


def list_array(lengths: NDArray[AnyNumber], values: pa.Array) -> pa.Array:
    """Lists of these lengths, that have the values one after the other."""
    offsets = np.zeros(lengths.size + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(numbers(offsets), values)


def list_lengths(lists: pa.Array) -> NDArray[np.int32]:
    """How many values each list has; one that is null has none."""
    if not len(lists):
        return np.empty(0, np.int32)
    offsets = np.frombuffer(lists.buffers()[1], np.int32)[lists.offset : lists.offset + len(lists) + 1]
    lengths: NDArray[np.int32] = np.diff(offsets)
    return np.where(truths(lists.is_valid()), lengths, 0) if lists.null_count else lengths


def truths(array: pa.Array) -> NDArray[np.bool_]:
    """The values of an array of truth values without nulls."""
    if not len(array):
        return np.empty(0, np.bool_)
    bits = np.unpackbits(np.frombuffer(array.buffers()[1], np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].view(np.bool_)


def numbers(values: NDArray[AnyNumber], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """An array of numbers, without a copy; null where they are not valid. Unlike `pyarrow.array` it does not import
    pandas, for which workers of Spark would wait when they start."""
    if not values.flags.c_contiguous:
        values = np.ascontiguousarray(values)
    kind = _KINDS.get(values.dtype) or pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [None if valid is None else validity(valid), pa.py_buffer(values)])


def booleans(values: NDArray[np.bool_], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """An array of truth values, likewise."""
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), values.size, [validity(valid), bits])


def wide_decimals(words: NDArray[np.int64], scale: int, valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Decimals of 38 digits: values of 128 bits in units of 10**-scale, a row each, the lower word first."""
    return pa.Array.from_buffers(_decimals_of(scale), len(words), [validity(valid), pa.py_buffer(words)])


@cache
def _decimals_of(scale: int) -> pa.DataType:
    return pa.decimal128(38, scale)


def _strings(
    kind: pa.DataType, data: NDArray[np.uint8], offsets: NDArray[AnyNumber], valid: NDArray[np.bool_] | None
) -> pa.Array:
    return pa.Array.from_buffers(kind, offsets.size - 1, [validity(valid), pa.py_buffer(offsets), pa.py_buffer(data)])


def validity(valid: NDArray[np.bool_] | None) -> pa.Buffer | None:
    """The bits of what is valid; None where all is."""
    return None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
