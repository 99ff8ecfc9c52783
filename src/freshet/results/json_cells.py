"""Terms as objects of SPARQL 1.1 JSON, a column at a time."""

from __future__ import annotations

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.rdf.arrow import booleans, key_ranges, texts
from freshet.results.keys import split_keys, term_types
from freshet.results.rows import literal_parts

_FEW = 16  # are written one by one
_NO_TEXT = texts([""])[0]
_ESCAPED = np.zeros(256, np.bool_)
_ESCAPED[: ord(" ")] = _ESCAPED[ord('"')] = _ESCAPED[ord("\\")] = True
_ENDS = (("@", 1, None, ',"xml:lang":"'), ("^^<", 3, -1, ',"datatype":"'))


def json_cells(keys: pa.Array) -> pa.Array:
    """The objects of terms by their keys in the dictionary; a null is nothing."""
    if len(keys) <= _FEW:
        return texts(["" if key is None else term_object(key) for key in keys.to_pylist()])
    kinds, values, suffixes = split_keys(keys)
    ends = _NO_TEXT
    for start, first, stop, lead in _ENDS:
        is_such = pc.starts_with(suffixes, start)
        if pc.any(is_such).as_py():
            text = pc.utf8_slice_codeunits(suffixes, first, stop)
            ends = pc.if_else(is_such, _join(lead, text, '"'), ends)
    cells = _join('{"type":"', term_types(kinds), '","value":"', values, '"', ends, "}")
    for column in (values, suffixes):
        escaped = _to_escape(column)
        if escaped is None:
            continue
        written = [term_object(key) for key in keys.filter(booleans(escaped)).to_pylist()]
        cells = pc.replace_with_mask(cells, booleans(escaped), texts(written))
    return pc.fill_null(cells, _NO_TEXT)


def _join(*pieces: str | pa.Array | pa.Scalar) -> pa.Array:
    """Texts one after another, row by row."""
    columns = [texts([piece])[0] if isinstance(piece, str) else piece for piece in pieces]
    return pc.binary_join_element_wise(*columns, _NO_TEXT)


def _to_escape(column: pa.Array) -> NDArray[np.bool_] | None:
    """Which texts have characters that JSON escapes; None where none has."""
    data, _, ends = key_ranges(column)
    places = np.flatnonzero(_ESCAPED[data[: ends[-1]]])
    if not places.size:
        return None
    found = np.zeros(len(column), np.bool_)
    found[np.searchsorted(ends, places, side="right")] = True
    return found


def term_object(key: str) -> str:
    """The object of one term, by its key."""
    if key.startswith("<"):
        return f'{{"type":"uri","value":{_string(key[1:-1])}}}'
    if key.startswith("_"):
        return f'{{"type":"bnode","value":{_string(key[2:])}}}'
    lexical, suffix = literal_parts(key)
    if not suffix:
        return f'{{"type":"literal","value":{_string(lexical)}}}'
    if suffix.startswith("@"):
        return f'{{"type":"literal","value":{_string(lexical)},"xml:lang":{_string(suffix[1:])}}}'
    return f'{{"type":"literal","value":{_string(lexical)},"datatype":{_string(suffix[3:-1])}}}'


def _string(text: str) -> str:
    return orjson.dumps(text).decode()
