"""Typed columns of Arrow as texts with their kinds, a column at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.rdf.arrow import numbers, string_array, truths
from freshet.rdf.errors import InputError
from freshet.rml.kinds import BINARY, BOOLEAN, DATE, DATETIME, DECIMAL, INTEGER, NOTHING, REAL, STRING, TIME
from freshet.sources.columns import Column

_NULL = pa.nulls(1, pa.string())[0]
# A fraction of seconds, without the zeros at its end.
_FRACTION = r"(?:\.0+|(\.[0-9]*[1-9])0*)$"


def typed_column(array: pa.Array, nulls: frozenset[str]) -> Column:
    """An array as texts, and the kind that its type stands for; null where the text stands for nothing."""
    kind, to_text = form_of(array.type)
    texts = to_text(array)
    if nulls:
        texts = pc.if_else(pc.is_in(texts, string_array(sorted(nulls))), _NULL, texts)
    kinds = np.where(truths(texts.is_valid()), np.int8(kind), np.int8(NOTHING))
    return texts, numbers(kinds.astype(np.int8))


def check_column(name: str, kind: pa.DataType, file: str) -> None:
    """Raise an error where a column of this type has no texts."""
    try:
        form_of(kind)
    except InputError as error:
        raise InputError(f"the column {name} {error.message}", file=file) from None


def form_of(kind: pa.DataType) -> tuple[int, Callable[[pa.Array], pa.Array]]:
    """The kind of the values of a type, and how they become texts."""
    types = pa.types
    if types.is_dictionary(kind):
        found, inner = form_of(kind.value_type)
        return found, lambda array: inner(array.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        found, inner = form_of(kind.storage_type)
        return found, lambda array: inner(array.storage)
    for is_one, found, to_text in _FORMS:
        if is_one(kind):
            return found, to_text
    if types.is_nested(kind):
        raise InputError("has values with a structure: the reference formulation rml:JSONPath reads those")
    raise InputError(f"has values of the type {kind}, which has no text")


def _as_text(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _as_real(array: pa.Array) -> pa.Array:
    """Doubles as XML Schema writes them; a whole one shows that it is a double, as everywhere."""
    texts = _as_text(array.cast(pa.float32()) if pa.types.is_float16(array.type) else array)
    texts = pc.replace_substring_regex(texts, r"^(-?[0-9]+)$", r"\1.0")
    texts = pc.replace_substring_regex(texts, r"^-?nan$", "NaN")
    return pc.replace_substring_regex(texts, r"^(-?)inf$", r"\1INF")


def _as_decimal(array: pa.Array) -> pa.Array:
    """Decimals without an exponent, which XML Schema does not have."""
    texts = _as_text(array)
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    return string_array([None if value is None else f"{value:f}" for value in array.to_pylist()])


def _as_binary(array: pa.Array) -> pa.Array:
    return string_array([None if value is None else value.hex().upper() for value in array.to_pylist()])


def _as_time(array: pa.Array) -> pa.Array:
    texts = _as_text(array)
    return pc.replace_substring_regex(texts, _FRACTION, r"\1") if array.type.unit != "s" else texts


def _as_datetime(array: pa.Array) -> pa.Array:
    """Times of a zone are the same in UTC."""
    texts = _as_text(array.cast(pa.timestamp(array.type.unit)))
    texts = pc.replace_substring(texts, " ", "T")
    if array.type.unit != "s":
        texts = pc.replace_substring_regex(texts, _FRACTION, r"\1")
    return texts if array.type.tz is None else pc.replace_substring_regex(texts, "$", "Z")


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return any(is_one(kind) for is_one in (types.is_string, types.is_large_string, types.is_string_view))


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    one_of = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    return any(is_one(kind) for is_one in one_of)


_FORMS: tuple[tuple[Callable[[pa.DataType], bool], int, Callable[[pa.Array], pa.Array]], ...] = (
    (pa.types.is_null, NOTHING, _as_text),
    (_is_text, STRING, _as_text),
    (pa.types.is_boolean, BOOLEAN, _as_text),
    (pa.types.is_integer, INTEGER, _as_text),
    (pa.types.is_floating, REAL, _as_real),
    (pa.types.is_decimal, DECIMAL, _as_decimal),
    (pa.types.is_date, DATE, lambda array: _as_text(array.cast(pa.date32()))),
    (pa.types.is_time, TIME, _as_time),
    (pa.types.is_timestamp, DATETIME, _as_datetime),
    (_is_bytes, BINARY, _as_binary),
)
