"""Terms as objects of SPARQL 1.1 Query Results JSON, out of the dictionary's keys."""

import numpy as np

from freshet.kernels.jit import leaf, njit
from freshet.kernels.pieces import copy_bytes

_HEX_ESCAPE = ord("u")
_QUOTE, _IRI, _BLANK_NODE, _LANGUAGE = ord('"'), ord("<"), ord("_"), ord("@")
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)

# What stands for each byte after a backslash; 0 where it stands for itself.
_ESCAPES = np.zeros(256, np.uint8)
_ESCAPES[: ord(" ")] = _HEX_ESCAPE
for _byte, _letter in zip(b'"\\\b\f\n\r\t', b'"\\bfnrt', strict=True):
    _ESCAPES[_byte] = _letter

_PIECES = (
    b'{"type":"uri","value":"',
    b'{"type":"bnode","value":"',
    b'{"type":"literal","value":"',
    b'","xml:lang":"',
    b'","datatype":"',
    b'"}',
)
_URI, _BNODE, _LITERAL, _XML_LANG, _DATATYPE, _END = range(6)
_HEAP = np.frombuffer(b"".join(_PIECES), np.uint8)
_OFFSETS = np.cumsum(np.array([0, *map(len, _PIECES)]))
_LONGEST = max(map(len, _PIECES))


@njit
def json_terms(data, offsets):
    """The objects of keys one after another, and where each begins and ends; that of an empty key is empty.

    Key i is data[offsets[i]:offsets[i + 1]].
    """
    out = np.empty(_room(data, offsets), np.uint8)
    ends = np.zeros(offsets.size, np.int64)
    at = np.int64(0)
    for i in range(offsets.size - 1):
        if offsets[i] < offsets[i + 1]:
            at = _put_term(data, offsets[i], offsets[i + 1], out, at)
        ends[i + 1] = at
    return out[:at], ends


@leaf
def _room(data, offsets):
    """Bytes that are enough for the objects of all keys."""
    room = np.int64(3 * _LONGEST) * (offsets.size - 1)
    for i in range(offsets[0], offsets[-1]):
        room += 1 if _ESCAPES[data[i]] == 0 else 6
    return room


@leaf
def _put_term(data, start, end, out, at):
    if data[start] == _IRI:
        at = _put_piece(_URI, out, at)
        at = _put_escaped(data, start + 1, end - 1, out, at)
    elif data[start] == _BLANK_NODE:
        at = _put_piece(_BNODE, out, at)
        at = _put_escaped(data, start + 2, end, out, at)
    else:
        close = end - 1
        while data[close] != _QUOTE:
            close -= 1
        at = _put_piece(_LITERAL, out, at)
        at = _put_escaped(data, start + 1, close, out, at)
        if close + 1 < end:
            is_language = data[close + 1] == _LANGUAGE
            at = _put_piece(_XML_LANG if is_language else _DATATYPE, out, at)
            first, last = (close + 2, end) if is_language else (close + 4, end - 1)
            at = _put_escaped(data, first, last, out, at)
    return _put_piece(_END, out, at)


@leaf
def _put_piece(piece, out, at):
    return copy_bytes(_HEAP, _OFFSETS[piece], _OFFSETS[piece + 1], out, at)


@leaf
def _put_escaped(data, start, end, out, at):
    plain = start
    for i in range(start, end):
        escape = _ESCAPES[data[i]]
        if escape == 0:
            continue
        at = copy_bytes(data, plain, i, out, at)
        plain = i + 1
        out[at] = ord("\\")
        out[at + 1] = escape
        at += 2
        if escape == _HEX_ESCAPE:
            out[at] = out[at + 1] = ord("0")
            out[at + 2] = _DIGITS[data[i] >> 4]
            out[at + 3] = _DIGITS[data[i] & 15]
            at += 4
    return copy_bytes(data, plain, end, out, at)
