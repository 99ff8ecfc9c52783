"""Answers as Arrow with typed columns: a column whose terms all have one datatype has the type of its values.

Every distinct term of a column is read once, by kernels and Arrow's functions; rows take the values by number.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.kernels import values as kinds
from freshet.kernels.values import Values
from freshet.rdf.arrow import booleans, numbers
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import values_of_keys
from freshet.results.arrow import report_metadata, term_structs
from freshet.results.report import Answer, BooleanAnswer, Report
from freshet.results.terms import dictionary_of, shown_rows

Ids = NDArray[np.int64]

_EXACT_DIGITS = 18  # values come in units of 10**-18
_WIDEST = 38  # digits of a decimal128
_END_OF_WIDEST = 10.0 ** (_WIDEST - _EXACT_DIGITS)
_SECONDS_A_DAY = 86_400
_DAYS_END = 1 << 31
_EMPTY = pa.field("", pa.null())


def typed_batch(answer: Answer | Report) -> pa.RecordBatch:
    """The answer as one batch; see `Readable.to_arrow` for the types."""
    if isinstance(answer, BooleanAnswer):
        return pa.record_batch({"boolean": pa.array([answer.value])})
    shown = shown_rows(answer)
    if not shown.variables:  # Arrow takes the number of rows from columns, or from structs that have none
        structs = pa.StructArray.from_buffers(pa.struct([]), len(shown.rows), [None])
        batch = pa.RecordBatch.from_struct_array(structs)
    else:
        columns = [_column(ids, dictionary_of(answer)) for ids in shown.rows.T]
        fields = [field.with_name(name) for name, (field, _) in zip(shown.variables, columns, strict=True)]
        batch = pa.record_batch([values for _, values in columns], schema=pa.schema(fields))
    return batch.replace_schema_metadata(report_metadata(answer)) if isinstance(answer, Report) else batch


def _column(ids: Ids, dictionary: Dictionary) -> tuple[pa.Field, pa.Array]:
    """A column's field, which has no name yet, and its values."""
    distinct, places = np.unique(ids, return_inverse=True)
    bound = distinct[distinct != 0]
    if not bound.size:
        return _EMPTY, pa.nulls(ids.size)
    field, values = _typed(dictionary.keys(bound))
    rows = places.reshape(-1) - (distinct.size - bound.size) * (distinct[places.reshape(-1)] > 0)
    return field, values.take(_with_nulls(rows, ids != 0))


def _with_nulls(places: Ids, bound: NDArray[np.bool_]) -> pa.Array:
    return pc.if_else(booleans(bound), numbers(places), pa.scalar(None, pa.int64()))


def _typed(keys: pa.Array) -> tuple[pa.Field, pa.Array]:
    """The values of terms, of one type for all, by their keys in the dictionary."""
    terms = term_structs(keys)
    same = {name: _only(pc.struct_field(terms, name)) for name in ("type", "datatype", "language")}
    if None in same.values() or same["type"] == "bnode":
        kind = {"type": same["type"]} if same["type"] else {}
        return pa.field("", pa.large_string(), metadata=kind), term_texts(terms)
    about = {name: text for name, text in same.items() if text}
    texts = pc.struct_field(terms, "value")
    typed = _values(values_of_keys(keys), texts) if same["datatype"] else None
    found = texts if typed is None else typed
    return pa.field("", found.type, metadata=about), found


def _only(texts: pa.Array) -> str | None:
    """The text that all of them are, empty where all are null; None where they differ."""
    distinct = pc.unique(texts)
    return (distinct[0].as_py() or "") if len(distinct) == 1 else None


def _values(found: Values, texts: pa.Array) -> pa.Array | None:
    """Typed values of literals that have one datatype; None where Arrow has no type that holds them exactly."""
    kind = found.kinds[0]
    if (found.kinds != kind).any():  # some are ill-typed, or have more digits than are read
        return None
    if kind == kinds.INTEGER:
        return _whole(found, 0)
    if kind == kinds.DECIMAL:
        return _decimals(found, texts)
    if kind == kinds.DOUBLE:
        return numbers(found.reals)
    if kind == kinds.FLOAT:
        return numbers(found.reals.astype(np.float32))
    if kind == kinds.BOOLEAN:
        return booleans(found.reals != 0)
    if kind in (kinds.DATE_TIME, kinds.DATE_TIME_LOCAL):
        return _timestamps(found, "UTC" if kind == kinds.DATE_TIME else None)
    return _dates(found) if kind == kinds.DATE_LOCAL else None


def _exact(found: Values) -> pa.Array:
    """Integers, decimals and seconds as they are: 128 bits, in units of 10**-18."""
    words = np.empty((found.kinds.size, 2), np.uint64)
    words[:, 0], words[:, 1] = found.low, found.high.view(np.uint64)
    decimal = pa.decimal128(_WIDEST, _EXACT_DIGITS)
    return pa.Array.from_buffers(decimal, found.kinds.size, [None, pa.py_buffer(words)])


def _whole(found: Values, digits: int) -> pa.Array | None:
    """The numbers times 10**digits as 64-bit integers; None where that is no such integer."""
    exact = _exact(found)
    cut = exact.cast(pa.decimal128(_WIDEST, digits), safe=False)
    if not pc.equal(cut.cast(exact.type), exact).to_numpy(zero_copy_only=False).all():
        return None
    words = np.frombuffer(cut.buffers()[1], np.int64).reshape(-1, 2)[: found.kinds.size]
    low, high = words.T
    return None if (high != low >> 63).any() else numbers(low.copy())


def _decimals(found: Values, texts: pa.Array) -> pa.Array | None:
    if (np.abs(found.reals) >= _END_OF_WIDEST).any():
        return None
    fractions = pc.utf8_length(pc.replace_substring_regex(texts, r"^[^.]*\.?", ""))
    scale = min(pc.max(fractions).as_py(), _EXACT_DIGITS)
    return _exact(found).cast(pa.decimal128(_WIDEST, scale))


def _timestamps(found: Values, zone: str | None) -> pa.Array | None:
    for digits, unit in ((6, "us"), (9, "ns")):
        ticks = _whole(found, digits)
        if ticks is not None:
            return ticks.cast(pa.timestamp(unit, zone))
    return None


def _dates(found: Values) -> pa.Array | None:
    seconds = _whole(found, 0)
    if seconds is None:
        return None
    days = seconds.to_numpy() // _SECONDS_A_DAY
    return None if (np.abs(days) >= _DAYS_END).any() else numbers(days.astype(np.int32)).cast(pa.date32())


def term_texts(terms: pa.Array) -> pa.Array:
    """Terms (structs of `results.arrow`) as N-Triples writes them; null where one is null."""
    kind, value, datatype, language = (pc.struct_field(terms, place) for place in range(4))
    for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        escaped = pc.replace_substring(value, character, escape)
        value = pc.if_else(pc.equal(kind, "literal"), escaped, value)
    end = pc.coalesce(_around('"@', language, ""), _around('"^^<', datatype, ">"), pa.scalar('"', pa.large_string()))
    literal = pc.binary_join_element_wise(_text('"'), value, end, _text(""))
    named = pc.if_else(pc.equal(kind, "uri"), _around("<", value, ">"), _around("_:", value, ""))
    return pc.if_else(pc.equal(kind, "literal"), literal, named)


def _around(before: str, texts: pa.Array, after: str) -> pa.Array:
    return pc.binary_join_element_wise(_text(before), texts, _text(after), _text(""))


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
