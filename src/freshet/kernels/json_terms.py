"""Terms as objects of SPARQL 1.2 Query Results JSON, out of the dictionary's keys."""

import numpy as np

from freshet.kernels.jit import leaf, njit
from freshet.kernels.pieces import copy_bytes
from freshet.kernels.term_text import has_direction

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
    b'","its:dir":"',
    b'"}',
    b'{"type":"triple","value":{"subject":',
    b',"predicate":',
    b',"object":',
    b"}}",
)
_URI, _BNODE, _LITERAL, _XML_LANG, _DATATYPE, _ITS_DIR, _END, _SUBJECT, _PREDICATE, _OBJECT, _TRIPLE_END = range(11)
_HEAP = np.frombuffer(b"".join(_PIECES), np.uint8)
_OFFSETS = np.cumsum(np.array([0, *map(len, _PIECES)]))
_LONGEST = max(map(len, _PIECES))
_DIRECTION = len("--ltr")
_TRIPLE_START = len("<<( ")
_BACKSLASH, _SPACE = ord("\\"), ord(" ")


@njit
def json_terms(data, offsets):
    """The objects of keys one after another, and where each begins and ends; that of an empty key is empty.

    Key i is data[offsets[i]:offsets[i + 1]].
    """
    out = np.empty(_room(data, offsets), np.uint8)
    ends = np.zeros(offsets.size, np.int64)
    at = np.int64(0)
    for i in range(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        if start == end:
            pass
        elif data[start] == _IRI and data[start + 1] == _IRI:
            at = _put_triple(data, start, out, at)
        else:
            at = _put_term(data, start, end, True, out, at)
        ends[i + 1] = at
    return out[:at], ends


@leaf
def _room(data, offsets):
    """Bytes that are enough for the objects of all keys."""
    room = np.int64(4 * _LONGEST) * (offsets.size - 1)
    for i in range(offsets[0], offsets[-1]):
        room += 1 if _ESCAPES[data[i]] == 0 else 6
    for key in range(offsets.size - 1):
        start, end = offsets[key], offsets[key + 1]
        if end - start > 1 and data[start] == _IRI and data[start + 1] == _IRI:
            for i in range(start, end - 1):
                if data[i] == _IRI and data[i + 1] == _IRI:  # around a triple term and each of its terms
                    room += np.int64(16 * _LONGEST)
    return room


@leaf
def _put_triple(data, start, out, at):
    """Writes a triple term. In it only the object can be a triple term: what follows the innermost are ends."""
    nested = 0
    while data[start] == _IRI and data[start + 1] == _IRI:
        nested += 1
        start += _TRIPLE_START
        for piece in (_SUBJECT, _PREDICATE):
            stop = _part_end(data, start)
            at = _put_term(data, start, stop, False, out, _put_piece(piece, out, at))
            start = stop + 1
        at = _put_piece(_OBJECT, out, at)
    at = _put_term(data, start, _part_end(data, start), False, out, at)
    for _ in range(nested):
        at = _put_piece(_TRIPLE_END, out, at)
    return at


@leaf
def _part_end(data, at):
    """Where a term in the key of a triple term ends: at the next space that is in no text."""
    if data[at] == _QUOTE:
        at += 1
        while data[at] != _QUOTE:
            at += 2 if data[at] == _BACKSLASH else 1
    while data[at] != _SPACE:
        at += 1
    return at


@leaf
def _put_term(data, start, end, is_key, out, at):
    """Writes a term that is no triple term. Where it is no key of its own, it has the escapes of N-Triples already."""
    if data[start] == _IRI:
        at = _put_piece(_URI, out, at)
        at = _put_escaped(data, start + 1, end - 1, is_key, out, at)
    elif data[start] == _BLANK_NODE:
        at = _put_piece(_BNODE, out, at)
        at = _put_escaped(data, start + 2, end, is_key, out, at)
    else:
        close = end - 1
        while data[close] != _QUOTE:
            close -= 1
        at = _put_piece(_LITERAL, out, at)
        at = _put_escaped(data, start + 1, close, is_key, out, at)
        if close + 1 < end:
            is_language = data[close + 1] == _LANGUAGE
            at = _put_piece(_XML_LANG if is_language else _DATATYPE, out, at)
            first, last = (close + 2, end) if is_language else (close + 4, end - 1)
            directed = is_language and has_direction(data, end)
            last -= _DIRECTION * directed
            at = _put_escaped(data, first, last, is_key, out, at)
            if directed:
                at = _put_piece(_ITS_DIR, out, at)
                at = _put_escaped(data, last + 2, end, is_key, out, at)
    return _put_piece(_END, out, at)


@leaf
def _put_piece(piece, out, at):
    return copy_bytes(_HEAP, _OFFSETS[piece], _OFFSETS[piece + 1], out, at)


@leaf
def _put_escaped(data, start, end, is_key, out, at):
    """Writes a text with escapes; where it is of no key it has those of N-Triples already, which JSON has too."""
    plain = start
    for i in range(start, end):
        escape = _ESCAPES[data[i]]
        if escape == 0:
            continue
        if not is_key and (data[i] == _BACKSLASH or data[i] == _QUOTE):
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
