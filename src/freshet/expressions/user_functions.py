"""Functions of the user's own: callables over Arrow columns, by their IRIs.

The columns have the types that answers have as Arrow (`Readable.to_arrow`). What a callable gives back becomes terms by
its Arrow type; a null is an error, which leaves a variable unbound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.expressions.columns import Column, ColumnBatch, Truths
from freshet.kernels.comparison import ERROR, FALSE, TRUE
from freshet.kernels.values import DOUBLE, NOTHING, Values
from freshet.rdf.errors import FreshetError
from freshet.rdf.terms import XSD
from freshet.rdf.values import Ids
from freshet.results.arrow import TERM
from freshet.results.column_reader import ColumnReader, decoded

_IRI = r'^[^\x00-\x20<>"{}|^`\\]+\z'
_LABEL = r"^[\pL\pM\pN_.:\x{b7}-]+\z"
_LANGUAGE = r"^[A-Za-z]+(-[A-Za-z0-9]+)*\z"
_KINDS = {"uri": ("<", ">"), "bnode": ("_:", ""), "literal": ('"', '"')}


class UserFunctionError(FreshetError):
    """A function of the user's own raised an error, or gave back something that is no column of terms."""

    exit_status = 1


def call(iri: str, function: Callable[..., Any], batch: ColumnBatch, arguments: list[Column]) -> Column:
    """What a function gives for each row of a batch."""
    ids = [batch.ids(argument) for argument in arguments]
    columns = [_typed(each if each.size == batch.count else np.full(batch.count, each[0]), batch) for each in ids]
    try:
        found = function(*columns)
    except Exception as error:
        raise UserFunctionError(f"the function <{iri}> raised {type(error).__name__}: {error}") from error
    try:
        return _column(found, batch)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise UserFunctionError(f"the function <{iri}> gave back no column of terms: {error}") from None


def _typed(ids: Ids, batch: ColumnBatch) -> pa.Array:
    return decoded(ColumnReader().read(np.ascontiguousarray(ids), batch.dictionary))[1]


def _column(found: Any, batch: ColumnBatch) -> Column:
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    elif isinstance(found, pa.Scalar):
        found = pa.repeat(found, batch.count)
    elif not isinstance(found, pa.Array):
        found = pa.array(found)
    if len(found) != batch.count:
        raise ValueError(f"it has {len(found)} rows for {batch.count}")
    if pa.types.is_dictionary(found.type):
        found = found.dictionary_decode()
    return _terms(found, batch)


def _terms(found: pa.Array, batch: ColumnBatch) -> Column:
    types, kind = pa.types, found.type
    if types.is_null(kind):
        return np.zeros(len(found), np.int64)
    if types.is_boolean(kind):
        values = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
        codes = np.where(values, np.uint8(TRUE), np.uint8(FALSE))
        return Truths(np.where(_is_null(found), np.uint8(ERROR), codes))
    if types.is_integer(kind):
        return _typed_literals(found.cast(pa.large_string()), "integer", batch)
    if types.is_floating(kind):
        return _doubles(found)
    if types.is_decimal(kind):
        return _typed_literals(_decimals(found), "decimal", batch)
    if types.is_string(kind) or types.is_large_string(kind):
        return batch.dictionary.intern_texts(pa.chunked_array([found.cast(pa.large_string())]), '"', '"')
    if types.is_date(kind):
        return _typed_literals(found.cast(pa.date32()).cast(pa.large_string()), "date", batch)
    if types.is_timestamp(kind):
        return _typed_literals(_date_times(found), "dateTime", batch)
    if types.is_struct(kind):
        return _encode_structs(found, batch)
    raise TypeError(f"{kind} is none of boolean, integer, float, decimal, string, date, timestamp and struct of a term")


def _is_null(found: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.asarray(found.is_null().to_numpy(zero_copy_only=False))


def _doubles(found: pa.Array) -> Values:
    reals = found.cast(pa.float64())
    zeros = np.zeros(len(found), np.int64)
    kinds = np.where(_is_null(found), np.uint8(NOTHING), np.uint8(DOUBLE))
    numbers = pc.fill_null(reals, 0.0).to_numpy(zero_copy_only=False)
    return Values(kinds, zeros, zeros.view(np.uint64), np.array(numbers))  # kernels are compiled for writable ones


def _typed_literals(lexical: pa.Array, datatype: str, batch: ColumnBatch) -> Ids:
    return batch.dictionary.intern_texts(pa.chunked_array([lexical]), '"', f'"^^<{XSD}{datatype}>')


def _decimals(found: pa.Array) -> pa.Array:
    """Decimals without an exponent, with the digits that their type has after the point."""
    scale = max(found.type.scale, 0)
    wide = found.cast(pa.decimal256(76, scale))
    digits = wide.view(pa.decimal256(76, 0)).cast(pa.large_string())
    if not scale:
        return digits
    sign = pc.if_else(pc.starts_with(digits, "-"), _text("-"), _text(""))
    digits = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), scale + 1, "0")
    whole, fraction = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    return _joined(sign, whole, ".", fraction)


def _date_times(found: pa.Array) -> pa.Array:
    """ISO 8601 with the fraction that there is, in UTC where the type has a zone."""
    zone = "Z" if found.type.tz else ""
    in_utc = found.cast(pa.timestamp("us", "UTC" if found.type.tz else None))
    written = pc.strftime(in_utc, "%Y-%m-%dT%H:%M:%S")
    return pc.binary_join_element_wise(pc.replace_substring_regex(written, r"\.?0+$|(\.[0-9]*?)0+$", r"\1"), zone, "")


def _encode_structs(found: pa.Array, batch: ColumnBatch) -> Ids:
    """Structs of type, value, datatype and language, as `Session.arrow` has them."""
    names = {field.name for field in found.type}
    if not {"type", "value"} <= names <= {field.name for field in TERM}:
        raise TypeError(
            f"a term has a type, a value, and perhaps a datatype and a language, not {', '.join(sorted(names))}"
        )
    kinds, values, datatypes, languages = found.cast(TERM).flatten()
    if unknown := set(pc.unique(kinds.drop_null()).to_pylist()) - _KINDS.keys():
        raise ValueError(f"'{min(unknown)}' is none of {', '.join(_KINDS)}")
    for kind, texts, form, what in (
        ("uri", values, _IRI, "IRI"),
        ("bnode", values, _LABEL, "label of a blank node"),
        ("literal", datatypes, _IRI, "IRI"),
        ("literal", languages, _LANGUAGE, "language tag"),
    ):
        _check(texts.filter(pc.equal(kinds, kind)), form, what)
    is_plain = pc.fill_null(pc.equal(datatypes, XSD + "string"), True)
    typed = pc.if_else(is_plain, _text(""), _joined("^^<", datatypes, ">"))
    suffixes = {"literal": pc.if_else(languages.is_null(), typed, _joined("@", pc.ascii_lower(languages)))}
    keys = [_joined(before, values, after, suffixes.get(kind, "")) for kind, (before, after) in _KINDS.items()]
    return batch.dictionary.intern_arrow(pc.choose(pc.index_in(kinds, pa.array([*_KINDS], kinds.type)), *keys))


def _check(texts: pa.Array, form: str, what: str) -> None:
    wrong = texts.filter(pc.invert(pc.match_substring_regex(texts, form)))
    if len(wrong):
        raise ValueError(f"{wrong[0].as_py()!r} is no {what}")


def _joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*(_text(each) if isinstance(each, str) else each for each in parts), _text(""))


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
