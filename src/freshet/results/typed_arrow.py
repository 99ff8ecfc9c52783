"""Answers as Arrow with typed columns: a column whose terms all have one datatype has the type of its values.

Inline values are read from the bits of their ids. Every other distinct term of a column is read once, by kernels and
Arrow's functions; rows take the values by number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.kernels import values as kinds
from freshet.kernels.values import Values
from freshet.rdf.arrow import booleans, numbers, whole_numbers
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import XSD
from freshet.rdf.values import values_of_keys
from freshet.results.answers import AnswerBatch, joined
from freshet.results.arrow import report_metadata, term_structs
from freshet.results.inline_columns import inline_column
from freshet.results.keys import common_tail
from freshet.results.report import Answer, BooleanAnswer, Report
from freshet.results.terms import dictionary_of, shown_rows

Ids = NDArray[np.int64]

_EXACT_DIGITS = 18  # values come in units of 10**-18
_WIDEST = 38  # digits of a decimal128
_END_OF_WIDEST = 10.0 ** (_WIDEST - _EXACT_DIGITS)
_SECONDS_A_DAY = 86_400
_DAYS_END = 1 << 31
_EMPTY = pa.field("", pa.null())
_MILLISECONDS = pa.timestamp("ms")
_DOUBLE = XSD + "double"
_FEW = 16  # rows


def typed_batch(answer: Answer | Report) -> pa.RecordBatch:
    """The answer as one batch; see `Readable.to_arrow` for the types."""
    if isinstance(answer, BooleanAnswer):
        return pa.record_batch({"boolean": pa.array([answer.value])})
    shown = shown_rows(answer)
    if not shown.variables:  # Arrow takes the number of rows from columns, or from structs that have none
        structs = pa.StructArray.from_buffers(pa.struct([]), len(shown.rows), [None])
        batch = pa.RecordBatch.from_struct_array(structs)
    else:
        fields, columns = typed_columns(shown.variables, shown.rows, dictionary_of(answer))
        batch = pa.record_batch(columns, schema=pa.schema(fields))
    return batch.replace_schema_metadata(report_metadata(answer)) if isinstance(answer, Report) else batch


def answer_batch(batch: AnswerBatch) -> pa.RecordBatch:
    """All reports of a batch; see `AnswerBatch.to_arrow`."""
    variables, rows, offsets = batch.shown
    times = numbers(np.repeat(batch.times, np.diff(offsets))).view(_MILLISECONDS)
    fields, columns = typed_columns(variables, rows[offsets[0] : offsets[-1]], batch.dictionary)
    about = {"query": batch.query, "stream": batch.output.name.lower()}
    schema = pa.schema([pa.field(_time_name(variables), _MILLISECONDS), *fields], metadata=about)
    return pa.RecordBatch.from_arrays([times, *columns], schema=schema)


def answer_table(batches: Sequence[AnswerBatch], columns: tuple[str, ...]) -> pa.Table:
    """Batches of one query as one table; where there are none, an empty one with these columns besides the times."""
    if batches:
        return pa.Table.from_batches([answer_batch(joined(batches))])
    fields = [pa.field(_time_name(columns), _MILLISECONDS), *(_EMPTY.with_name(name) for name in columns)]
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in fields], schema=pa.schema(fields))


def _time_name(columns: tuple[str, ...]) -> str:
    """A name for the times of reports that no other column has."""
    name = "time"
    while name in columns:
        name = f"report_{name}"
    return name


def typed_columns(
    variables: tuple[str, ...], rows: Ids, dictionary: Dictionary
) -> tuple[list[pa.Field], list[pa.Array]]:
    """A field and its values for each variable."""
    found = [_column(np.ascontiguousarray(ids), dictionary) for ids in rows.T]
    fields = [field.with_name(name) for name, (field, _) in zip(variables, found, strict=True)]
    return fields, [values for _, values in found]


def _column(ids: Ids, dictionary: Dictionary) -> tuple[pa.Field, pa.Array]:
    """A column's field, which has no name yet, and its values."""
    if not ids.any():
        return _EMPTY, pa.nulls(ids.size)
    if ids.max() <= 0:
        column = inline_column(ids)
        if column is not None:
            return column
    if ids.size <= _FEW and ids.all():  # sooner read twice than looked for
        return _typed(dictionary.keys(ids))
    encoded = numbers(ids, ids != 0).dictionary_encode()
    field, values = _typed(dictionary.keys(whole_numbers(encoded.dictionary)))
    return field, values.take(encoded.indices)


def _typed(keys: pa.Array) -> tuple[pa.Field, pa.Array]:
    """The values of terms, of one type for all, by their keys in the dictionary."""
    tail = common_tail(keys)
    if tail is None:
        return _mixed(keys)
    about = {"type": "uri" if tail == ">" else "literal"}
    values = pc.utf8_slice_codeunits(keys, 1, -len(tail))
    if tail.startswith('"@'):
        about["language"] = tail[2:]
    elif tail.startswith('"^^<'):
        about["datatype"] = tail[4:-1]
        typed = _doubles(values) if about["datatype"] == _DOUBLE else None
        typed = _values(values_of_keys(keys), values) if typed is None else typed
        values = values if typed is None else typed
    return pa.field("", values.type, metadata=about), values


def _mixed(keys: pa.Array) -> tuple[pa.Field, pa.Array]:
    """Terms as N-Triples writes them."""
    terms = term_structs(keys)
    types = pc.unique(pc.struct_field(terms, "type"))
    about = {"type": types[0].as_py()} if len(types) == 1 else {}
    return pa.field("", pa.large_string(), metadata=about), term_texts(terms)


def _doubles(texts: pa.Array) -> pa.Array | None:
    """Doubles read at once; None where one is ill-typed or, as it may be to Arrow only, not a number."""
    try:
        reals = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return None if pc.any(pc.is_nan(reals)).as_py() else reals


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
    points, lengths = pc.find_substring(texts, ".").to_numpy(), pc.binary_length(texts).to_numpy()
    scale = min(int(np.where(points < 0, 0, lengths - points - 1).max()), _EXACT_DIGITS)
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
