"""Keys of the strings and IRIs that STR, LANG and DATATYPE make of terms."""

import numpy as np

from freshet.kernels.comparison import lexical_end
from freshet.kernels.jit import leaf, njit
from freshet.kernels.terms import QUOTE

STR = 0
LANG = 1
DATATYPE = 2

_LANG_STRING = np.frombuffer(b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>", np.uint8).copy()
_DIRECTED = np.frombuffer(b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString>", np.uint8).copy()
_STRING = np.frombuffer(b"<http://www.w3.org/2001/XMLSchema#string>", np.uint8).copy()
_MOST_ADDED = max(_DIRECTED.size, _STRING.size)
_DIRECTION = len("--ltr")
_DASH = ord("-")


@njit
def _copy(out, at, data, start, end):
    for i in range(start, end):
        out[at] = data[i]
        at += 1
    return at


@njit
def _write_quoted(out, at, data, start, end):
    out[at] = QUOTE
    at = _copy(out, at + 1, data, start, end)
    out[at] = QUOTE
    return at + 1


@leaf
def has_direction(data, end):
    """Whether a literal's key that ends with a language tag has a base direction behind the language."""
    return data[end - _DIRECTION] == _DASH and data[end - _DIRECTION + 1] == _DASH


@njit
def rewrite_keys(function, data, starts, ends):
    """The keys that a function gives: their bytes, and where each starts (-1 for an error) and ends."""
    out = np.empty(data.size + starts.size * _MOST_ADDED, np.uint8)
    new_starts = np.full(starts.size, -1, np.int64)
    new_ends = np.zeros(starts.size, np.int64)
    at = 0
    for row in range(starts.size):
        start, end = starts[row], ends[row]
        if start < 0:
            continue
        first = at
        if data[start] != QUOTE:
            if function == STR and data[start] == ord("<") and data[start + 1] != ord("<"):
                at = _write_quoted(out, at, data, start + 1, end - 1)
        else:
            last = lexical_end(data, start, end)
            tagged = last + 1 < end and data[last + 1] == ord("@")
            directed = tagged and has_direction(data, end)
            if function == STR:
                at = _copy(out, at, data, start, last + 1)
            elif function == LANG:
                at = _write_quoted(out, at, data, last + 2 if tagged else end, end - _DIRECTION if directed else end)
            elif directed:
                at = _copy(out, at, _DIRECTED, 0, _DIRECTED.size)
            elif tagged:
                at = _copy(out, at, _LANG_STRING, 0, _LANG_STRING.size)
            elif last + 1 == end:
                at = _copy(out, at, _STRING, 0, _STRING.size)
            else:
                at = _copy(out, at, data, last + 3, end)
        if at > first:
            new_starts[row] = first
            new_ends[row] = at
    return out[:at], new_starts, new_ends
