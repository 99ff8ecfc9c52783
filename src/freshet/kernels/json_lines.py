"""JSON lines: what references find in each line, as places in its bytes (RFC 8259).

A line is one object and nothing else, in UTF-8; everything in it is checked, also what nobody refers to. Values are not
converted: a number keeps the digits it was written with.

References are the leaves of a tree of member names (`PathTree`). Where an object has a name twice, the last counts.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import njit

# What a reference finds.
NOTHING = 0  # no such member, or null
STRING = 1  # the place is between the quotes
ESCAPED = 2  # a string with escapes
INTEGER = 3
REAL = 4  # a number with a fraction or an exponent
BOOLEAN = 5
NESTED = 6  # an object or an array, as it is written

DEEPEST = 512
_BROKEN = np.int64(-1)
_HIGH_SURROGATES = 0xD800
_LOW_SURROGATES = 0xDC00
_AFTER_SURROGATES = 0xE000


class PathTree(NamedTuple):
    """Names by node: the names of node n are those from firsts[n] to firsts[n + 1]; node 0 is the whole line."""

    firsts: np.ndarray
    data: np.ndarray  # uint8, the bytes of all names
    starts: np.ndarray
    ends: np.ndarray
    references: np.ndarray  # the number of the reference that a name ends, or -1
    below: np.ndarray  # the node for the members of what a name stands for, or -1
    inside: np.ndarray  # bool [node, reference]: whether the reference goes through the node


@njit
def _blank(data, at, end):
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
def _string(data, at, end):
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
def _scalar(data, at, end):
    """Past a value that is neither object nor array, or -1; and its kind."""
    c = data[at]
    if c == 34:
        last, kind = _string(data, at + 1, end)
        return (last + 1 if last >= 0 else _BROKEN), kind
    if c == ord("-") or 48 <= c <= 57:
        return _number(data, at, end)
    return _word(data, at, end)


@njit
def _member(data, at, end):
    """From the name of a member to its value: the end of the name, its kind, and where the value begins, or -1."""
    if at >= end or data[at] != 34:
        return _BROKEN, STRING, _BROKEN
    last, kind = _string(data, at + 1, end)
    if last < 0:
        return _BROKEN, kind, _BROKEN
    colon = _blank(data, last + 1, end)
    if colon >= end or data[colon] != ord(":"):
        return _BROKEN, kind, _BROKEN
    value = _blank(data, colon + 1, end)
    return last, kind, (value if value < end else _BROKEN)


@njit
def _nested(data, at, end, open_objects):
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
            at = _blank(data, at + 1, end)
            if at >= end:
                return _BROKEN
            if data[at] != (ord("}") if is_object else ord("]")):
                if is_object:
                    _, _, at = _member(data, at, end)
                    if at < 0:
                        return _BROKEN
                continue
            depth -= 1
            at += 1
        else:
            at, _ = _scalar(data, at, end)
            if at < 0:
                return _BROKEN
        # a value has ended before `at`
        while True:
            if depth == 0:
                return at
            at = _blank(data, at, end)
            if at >= end:
                return _BROKEN
            is_object = open_objects[depth - 1]
            if data[at] == ord(","):
                break
            if data[at] != (ord("}") if is_object else ord("]")):
                return _BROKEN
            depth -= 1
            at += 1
        at = _blank(data, at + 1, end)
        if is_object:
            _, _, at = _member(data, at, end)
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
def _unescape(data, start, end, out, at):
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


@njit
def _same_bytes(tree, name, data, start, end):
    if tree.ends[name] - tree.starts[name] != end - start:
        return False
    same = True
    for i in range(end - start):
        same &= tree.data[tree.starts[name] + i] == data[start + i]
    return same


@njit
def _find_name(tree, node, data, start, end, kind):
    """Which of a node's names a member has, or -1."""
    plain = np.empty(end - start if kind == ESCAPED else 0, np.uint8)
    length = _unescape(data, start, end, plain, np.int64(0)) if kind == ESCAPED else np.int64(0)
    for name in range(tree.firsts[node], tree.firsts[node + 1]):
        if kind == ESCAPED:
            if _same_bytes(tree, name, plain, np.int64(0), length):
                return name
        elif _same_bytes(tree, name, data, start, end):
            return name
    return -1


@njit
def _scan_line(tree, data, at, end, starts, ends, kinds, line, open_nodes, open_objects):
    """Finds the references of one line. Says whether the line is one object."""
    at = _blank(data, at, end)
    if at >= end or data[at] != ord("{"):
        return False
    depth = 0
    open_nodes[0] = 0
    at = _blank(data, at + 1, end)
    empty = at < end and data[at] == ord("}")
    while True:
        if not empty:
            first = at + 1
            last, kind, at = _member(data, at, end)
            if at < 0:
                return False
            name = _find_name(tree, open_nodes[depth], data, first, last, kind)
            if name >= 0 and tree.below[name] >= 0:  # what an earlier member of this name had is gone
                for reference in range(kinds.shape[0]):
                    if tree.inside[tree.below[name], reference]:
                        kinds[reference, line] = NOTHING
            if data[at] == ord("{") and name >= 0 and tree.below[name] >= 0:
                depth += 1
                open_nodes[depth] = tree.below[name]
                at = _blank(data, at + 1, end)
                if at >= end or data[at] != ord("}"):
                    continue
            else:
                first = at
                if data[at] == ord("{") or data[at] == ord("["):
                    kind = NESTED
                    at = _nested(data, at, end, open_objects)
                else:
                    at, kind = _scalar(data, at, end)
                if at < 0:
                    return False
                if name >= 0 and tree.references[name] >= 0:
                    quoted = 1 if kind in (STRING, ESCAPED) else 0
                    starts[tree.references[name], line] = first + quoted
                    ends[tree.references[name], line] = at - quoted
                    kinds[tree.references[name], line] = kind
        empty = False
        while True:
            at = _blank(data, at, end)
            if at >= end:
                return False
            if data[at] == ord(","):
                break
            if data[at] != ord("}"):
                return False
            at += 1
            if depth == 0:
                return _blank(data, at, end) == end
            depth -= 1
        at = _blank(data, at + 1, end)


@njit
def scan_lines(tree, data, line_starts, line_ends, starts, ends, kinds, good):
    """For each line: whether it is one object, and what its references find (arrays [reference, line])."""
    open_nodes = np.empty(tree.firsts.size, np.int64)
    open_objects = np.empty(DEEPEST, np.bool_)
    for line in range(line_starts.size):
        for reference in range(kinds.shape[0]):
            kinds[reference, line] = NOTHING
        first, last = line_starts[line], line_ends[line]
        good[line] = _scan_line(tree, data, first, last, starts, ends, kinds, line, open_nodes, open_objects)


@njit
def write_texts(data, starts, ends, kinds, good, out, offsets):
    """Writes what one reference finds in good lines, one text after another, strings without their escapes.

    Text i is out[offsets[i]:offsets[i + 1]]; nothing where the reference finds nothing.
    """
    at = np.int64(0)
    for line in range(kinds.size):
        offsets[line] = at
        if not good[line] or kinds[line] == NOTHING:
            continue
        if kinds[line] == ESCAPED:
            at = _unescape(data, starts[line], ends[line], out, at)
            continue
        for i in range(starts[line], ends[line]):
            out[at] = data[i]
            at += 1
    offsets[kinds.size] = at
