"""Terms by their keys in the dictionary, as typed Arrow columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.kernels import values as kinds
from freshet.kernels.values import Values
from freshet.rdf.arrow import booleans, numbers
from freshet.rdf.terms import XSD
from freshet.rdf.values import values_of_keys
from freshet.results.arrow import term_structs
from freshet.results.keys import BLANK_NODE, LITERAL, TRIPLE_TERM, common_tail, split_keys

Column = tuple[pa.Field, pa.Array]  # the field has no name

_EXACT_DIGITS = 18  # values come in units of 10**-18
_WIDEST = 38  # digits of a decimal128
_END_OF_WIDEST = 10.0 ** (_WIDEST - _EXACT_DIGITS)
_SECONDS_A_DAY = 86_400
_DAYS_END = 1 << 31
_DOUBLE = XSD + "double"
_OF_IRIS, _OF_BLANK_NODES, _OF_TRIPLE_TERMS = range(3)
_FIRST_SUFFIX = 3
_ALWAYS_WRITTEN = 1 << _OF_BLANK_NODES | 1 << _OF_TRIPLE_TERMS
_ENCODED = pa.dictionary(pa.int32(), pa.large_string())
_TYPES = {1: "uri", 2: "bnode", 4: "triple", 8: "literal"}  # by the bits of classes; literals have one bit together
_WRITTEN = {
    classes: pa.field("", _ENCODED, metadata={"type": _TYPES[classes]} if classes in _TYPES else {})
    for classes in range(1, 16)
}


def about_terms(tail: str) -> dict[str, str]:
    """What a field's metadata says of terms by what is behind their texts."""
    about = {"type": "uri" if tail == ">" else "literal"}
    if tail.startswith('"@'):
        about["language"] = tail[2:]
    elif tail.startswith('"^^<'):
        about["datatype"] = tail[4:-1]
    return about


def typed_keys(keys: pa.Array) -> Column:
    """The values of terms that have a type in common, by their keys in the dictionary."""
    tail = common_tail(keys)
    assert tail is not None, "other terms are written"
    about = about_terms(tail)
    values = pc.utf8_slice_codeunits(keys, 1, -len(tail))
    if "datatype" in about:
        typed = _doubles(values) if about["datatype"] == _DOUBLE else None
        typed = _values(values_of_keys(keys), values) if typed is None else typed
        values = values if typed is None else typed
    return pa.field("", values.type, metadata=about), values


def written_terms(keys: pa.Array) -> pa.Array:
    """Terms by their keys as N-Triples writes them."""
    return term_texts(term_structs(keys))


def term_classes(keys: pa.Array, suffixes: dict[str, int]) -> NDArray[np.int32]:
    """What terms have in common by their keys, none of which is null: 0 of IRIs, 1 of blank nodes, 2 of triple terms,
    then the number that `suffixes`, to which more are added, has for what follows a lexical form.
    """
    parts = split_keys(keys)
    distinct = parts.suffixes.dictionary_encode()
    numbered = [
        suffixes.setdefault(suffix, _FIRST_SUFFIX + len(suffixes)) for suffix in distinct.dictionary.to_pylist()
    ]
    of_literals = np.array(numbered, np.int32)[distinct.indices.to_numpy()]
    classes = np.full(len(keys), _OF_IRIS, np.int32)
    classes[parts.kinds == BLANK_NODE] = _OF_BLANK_NODES
    classes[parts.kinds == TRIPLE_TERM] = _OF_TRIPLE_TERMS
    of_literal = parts.kinds == LITERAL
    classes[of_literal] = of_literals[of_literal]
    return classes


def written_field(classes: int, several: bool) -> pa.Field | None:
    """The field of a column with terms of these classes, as `classes_among` has them; None where they have a type in
    common.
    """
    return _WRITTEN.get(classes) if several or classes & _ALWAYS_WRITTEN else None


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
    written = pc.if_else(pc.equal(kind, "triple"), value, named)
    return pc.if_else(pc.equal(kind, "literal"), literal, written)


def _around(before: str, texts: pa.Array, after: str) -> pa.Array:
    return pc.binary_join_element_wise(_text(before), texts, _text(after), _text(""))


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
