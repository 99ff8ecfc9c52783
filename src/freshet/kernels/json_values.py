"""JSON values in bytes (RFC 8259): where each ends, what kind it is, and strings without their escapes.

Everything is checked. What reads a value gives the place after it, or -1 where there is none.
"""

import numpy as np

from freshet.kernels.jit import njit

# Kinds of values.
NOTHING = 0  # null, or no value at all
STRING = 1
ESCAPED = 2  # a string with escapes
INTEGER = 3
REAL = 4  # a number with a fraction or an exponent
BOOLEAN = 5
NESTED = 6  # an object or an array
PLAIN = 7  # a string of letters and digits of ASCII and -._~ only: it stands in an IRI as it is

DEEPEST = 512
_BROKEN = np.int64(-1)
_HIGH_SURROGATES = 0xD800
_LOW_SURROGATES = 0xDC00
_AFTER_SURROGATES = 0xE000


@njit
def skip_blanks(data, at, end):
    """The first place that is not white space."""
    while at < end and (data[at] == 32 or data[at] == 9 or data[at] == 10 or data[at] == 13):
        at += 1
    return at


@njit
def _hex(data, at, end):
    """The four hexadecimal digits of an escape, or -1."""
    if at + 4 > end:
        return _BROKEN
    value = np.int64(0)
    for i in range(at, at + 4):
        c = np.int64(data[i])
        if 48 <= c <= 57:
            digit = c - 48
        elif 65 <= (c & 0xDF) <= 70:
            digit = (c & 0xDF) - 55
        else:
            return _BROKEN
        value = value << 4 | digit
    return value


@njit
def _follows(data, at, end, least, greatest):
    return at < end and least <= data[at] <= greatest


@njit
def _wide(data, at, end):
    """Past a character of several bytes, or -1 where it is not UTF-8."""
    c = data[at]
    if 0xC2 <= c <= 0xDF:
        return at + 2 if _follows(data, at + 1, end, 0x80, 0xBF) else _BROKEN
    if 0xE0 <= c <= 0xEF:
        least, greatest = (0xA0 if c == 0xE0 else 0x80), (0x9F if c == 0xED else 0xBF)
        good = _follows(data, at + 1, end, least, greatest) and _follows(data, at + 2, end, 0x80, 0xBF)
        return at + 3 if good else _BROKEN
    if 0xF0 <= c <= 0xF4:
        least, greatest = (0x90 if c == 0xF0 else 0x80), (0x8F if c == 0xF4 else 0xBF)
        good = _follows(data, at + 1, end, least, greatest) and _follows(data, at + 2, end, 0x80, 0xBF)
        return at + 4 if good and _follows(data, at + 3, end, 0x80, 0xBF) else _BROKEN
    return _BROKEN


@njit
def _escape(data, at, end):
    """Past the escape whose backslash is at a place, or -1. Half a surrogate pair is no character."""
    if at + 1 >= end:
        return _BROKEN
    c = data[at + 1]
    if c != ord("u"):
        known = c == 34 or c == 92 or c == 47
        known = known or c == ord("b") or c == ord("f") or c == ord("n") or c == ord("r") or c == ord("t")
        return at + 2 if known else _BROKEN
    value = _hex(data, at + 2, end)
    if value < 0 or _LOW_SURROGATES <= value < _AFTER_SURROGATES:
        return _BROKEN
    if value < _HIGH_SURROGATES or value >= _AFTER_SURROGATES:
        return at + 6
    if not (at + 8 <= end and data[at + 6] == 92 and data[at + 7] == ord("u")):
        return _BROKEN
    second = _hex(data, at + 8, end)
    return at + 12 if _LOW_SURROGATES <= second < _AFTER_SURROGATES else _BROKEN


@njit
def read_string(data, at, end):
    """The place of the quote that ends the string whose first character is at a place, or -1; and its kind."""
    kind = STRING
    while at < end:
        c = data[at]
        if c == 34:
            return at, kind
        if c == 92:
            kind = ESCAPED
            at = _escape(data, at, end)
        elif c < 32:
            return _BROKEN, kind
        elif c < 128:
            at += 1
        else:
            at = _wide(data, at, end)
        if at < 0:
            return _BROKEN, kind
    return _BROKEN, kind


@njit
def _digits(data, at, end):
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return at


@njit
def _number(data, at, end):
    """Past a number, or -1; and its kind."""
    kind = INTEGER
    if data[at] == ord("-"):
        at += 1
    first = at
    at = _digits(data, at, end)
    if at == first or (data[first] == 48 and at > first + 1):
        return _BROKEN, kind
    if at < end and data[at] == ord("."):
        kind = REAL
        first = at + 1
        at = _digits(data, first, end)
        if at == first:
            return _BROKEN, kind
    if at < end and (data[at] | 32) == ord("e"):
        kind = REAL
        at += 1
        if at < end and (data[at] == ord("+") or data[at] == ord("-")):
            at += 1
        first = at
        at = _digits(data, first, end)
        if at == first:
            return _BROKEN, kind
    return at, kind


@njit
def _word(data, at, end):
    """Past true, false or null, or -1; and its kind."""
    if at + 4 <= end and data[at] == ord("t") and data[at + 1] == ord("r") and data[at + 2] == ord("u"):
        return (at + 4 if data[at + 3] == ord("e") else _BROKEN), BOOLEAN
    if at + 4 <= end and data[at] == ord("n") and data[at + 1] == ord("u") and data[at + 2] == ord("l"):
        return (at + 4 if data[at + 3] == ord("l") else _BROKEN), NOTHING
    if at + 5 <= end and data[at] == ord("f") and data[at + 1] == ord("a") and data[at + 2] == ord("l"):
        return (at + 5 if data[at + 3] == ord("s") and data[at + 4] == ord("e") else _BROKEN), BOOLEAN
    return _BROKEN, NOTHING


@njit
def read_scalar(data, at, end):
    """Past a value that is neither object nor array, or -1; and its kind."""
    c = data[at]
    if c == 34:
        last, kind = read_string(data, at + 1, end)
        return (last + 1 if last >= 0 else _BROKEN), kind
    if c == ord("-") or 48 <= c <= 57:
        return _number(data, at, end)
    return _word(data, at, end)


@njit
def read_member(data, at, end):
    """From the name of a member to its value: the end of the name, its kind, and where the value begins, or -1."""
    if at >= end or data[at] != 34:
        return _BROKEN, STRING, _BROKEN
    last, kind = read_string(data, at + 1, end)
    if last < 0:
        return _BROKEN, kind, _BROKEN
    colon = skip_blanks(data, last + 1, end)
    if colon >= end or data[colon] != ord(":"):
        return _BROKEN, kind, _BROKEN
    value = skip_blanks(data, colon + 1, end)
    return last, kind, (value if value < end else _BROKEN)


@njit
def read_nested(data, at, end, open_objects):
    """Past the object or array that begins at a place, or -1. `open_objects` is room for what is open."""
    depth = 0
    while True:
        # a value begins at `at`
        c = data[at]
        is_object = c == ord("{")
        if is_object or c == ord("["):
            if depth == DEEPEST:
                return _BROKEN
            open_objects[depth] = is_object
            depth += 1
            at = skip_blanks(data, at + 1, end)
            if at >= end:
                return _BROKEN
            if data[at] != (ord("}") if is_object else ord("]")):
                if is_object:
                    _, _, at = read_member(data, at, end)
                    if at < 0:
                        return _BROKEN
                continue
            depth -= 1
            at += 1
        else:
            at, _ = read_scalar(data, at, end)
            if at < 0:
                return _BROKEN
        # a value has ended before `at`
        while True:
            if depth == 0:
                return at
            at = skip_blanks(data, at, end)
            if at >= end:
                return _BROKEN
            is_object = open_objects[depth - 1]
            if data[at] == ord(","):
                break
            if data[at] != (ord("}") if is_object else ord("]")):
                return _BROKEN
            depth -= 1
            at += 1
        at = skip_blanks(data, at + 1, end)
        if is_object:
            _, _, at = read_member(data, at, end)
        if at < 0 or at >= end:
            return _BROKEN


@njit
def _write_character(value, out, at):
    """Writes a code point as UTF-8; says where the next byte goes."""
    if value < 0x80:
        out[at] = value
        return at + 1
    if value < 0x800:
        out[at] = 0xC0 | value >> 6
        out[at + 1] = 0x80 | value & 0x3F
        return at + 2
    if value < 0x10000:
        out[at] = 0xE0 | value >> 12
        out[at + 1] = 0x80 | value >> 6 & 0x3F
        out[at + 2] = 0x80 | value & 0x3F
        return at + 3
    out[at] = 0xF0 | value >> 18
    out[at + 1] = 0x80 | value >> 12 & 0x3F
    out[at + 2] = 0x80 | value >> 6 & 0x3F
    out[at + 3] = 0x80 | value & 0x3F
    return at + 4


@njit
def unescape(data, start, end, out, at):
    """Writes the string data[start:end], which is a good one, without its escapes; says where the next byte goes."""
    while start < end:
        c = data[start]
        if c != 92:
            out[at] = c
            at += 1
            start += 1
            continue
        c = data[start + 1]
        start += 2
        if c == ord("u"):
            value = _hex(data, start, end)
            start += 4
            if _HIGH_SURROGATES <= value < _LOW_SURROGATES:
                second = _hex(data, start + 2, end)
                value = 0x10000 + (value - _HIGH_SURROGATES << 10) + (second - _LOW_SURROGATES)
                start += 6
            at = _write_character(value, out, at)
            continue
        if c == ord("b"):
            c = 8
        elif c == ord("f"):
            c = 12
        elif c == ord("n"):
            c = 10
        elif c == ord("r"):
            c = 13
        elif c == ord("t"):
            c = 9
        out[at] = c
        at += 1
    return at
