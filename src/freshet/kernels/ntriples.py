"""A scanner for lines of N-Triples, N-Quads and timed N-Triples.

It finds where the terms of a line are, and checks them as strictly as a full parser would. A line of which it is not
sure (escapes, unusual language tags and IRIs, anything wrong) it leaves to one: it is right, or it says nothing.
"""

import numpy as np

from freshet.kernels.dictionary import same_bytes
from freshet.kernels.iris import (
    COLON,
    GREATER,
    HASH,
    IS_ALPHA,
    IS_DIGIT,
    IS_LABEL,
    IS_PLAIN,
    LESS,
    UNSURE,
    code_point,
    iri_end,
    is_a,
    skip_all,
)
from freshet.kernels.jit import leaf
from freshet.kernels.pieces import copy_bytes
from freshet.kernels.terms import MINUS, NINE, POINT, QUOTE, ZERO, ends_with

# what a line is
BLANK_LINE = 0
STATEMENT = 1
UNSURE_LINE = 2

SUBJECT, PREDICATE, OBJECT, GRAPH = 0, 1, 2, 3
ROLES = 4

SPACE = ord(" ")
TAB = ord("\t")
NEWLINE = ord("\n")
RETURN = ord("\r")
CARET = ord("^")
AT = ord("@")
UNDERSCORE = ord("_")

MOST_TIME_DIGITS = 18  # fit in int64, whatever they are

_SCHEMA = np.frombuffer(b"<http://www.w3.org/2001/XMLSchema#", np.uint8).copy()
STRING_SUFFIX = np.frombuffer(b'"^^<http://www.w3.org/2001/XMLSchema#string>', np.uint8).copy()
# neither rdf:langString nor rdf:dirLangString can be written as a datatype
_TAGGED_SUFFIX = np.frombuffer(b"angString>", np.uint8).copy()


@leaf
def skip_space(data, at, end):
    while at < end and (data[at] == SPACE or data[at] == TAB):
        at += 1
    return at


@leaf
def is_blank(data, at, end):
    """Whether nothing but white space and a comment follows."""
    at = skip_space(data, at, end)
    if at == end:
        return True
    if data[at] != HASH:
        return False
    # a carriage return ends a comment; what follows it is for the full parser
    while at < end and data[at] != RETURN:
        at += 1
    return at == end


@leaf
def blank_node_end(data, at, end):
    """Where the blank node label that starts at `at` ends, for labels in ASCII."""
    if end - at < 3 or data[at + 1] != COLON or data[at + 2] == MINUS or not is_a(data[at + 2], IS_LABEL):
        return UNSURE
    at += 3
    while at < end and (is_a(data[at], IS_LABEL) or data[at] == POINT):
        at += 1
    if at < end and (data[at] >= 0x80 or data[at] == COLON):
        return UNSURE
    if data[at - 1] == POINT:  # the end of the statement, not of the label
        at -= 1
        if data[at - 1] == POINT:
            return UNSURE
    return at


@leaf
def _run_end(data, at, end, mask):
    while at < end and is_a(data[at], mask):
        at += 1
    return at


@leaf
def _language_end(data, at, end):
    """Where a language tag such as en, en-GB, zh-Hant-TW or es-419 ends; rarer forms are not sure."""
    stop = _run_end(data, at, end, IS_ALPHA)
    if stop - at < 2 or stop - at > 3:
        return UNSURE
    at = stop
    if at < end and data[at] == MINUS:
        stop = _run_end(data, at + 1, end, IS_ALPHA)
        if stop - at == 5:  # the script
            at = stop
    if at < end and data[at] == MINUS:
        letters = _run_end(data, at + 1, end, IS_ALPHA) - at - 1
        digits = _run_end(data, at + 1, end, IS_DIGIT) - at - 1
        if letters == 2:
            at += 3
        elif digits == 3:
            at += 4
        else:
            return UNSURE
    if at < end and (data[at] == MINUS or is_a(data[at], IS_ALPHA | IS_DIGIT)):
        return UNSURE
    return at


@leaf
def _datatype_end(data, at, end):
    """The same as `iri_end`, and quicker where the datatype is one of XML Schema's."""
    stop = at + _SCHEMA.size
    if stop < end and same_bytes(data, at, _SCHEMA, 0, _SCHEMA.size):
        stop = _run_end(data, stop, end, IS_ALPHA)
        if stop < end and data[stop] == GREATER:
            return stop + 1
    return iri_end(data, at, end)


@leaf
def literal_end(data, start, end):
    """Where the key of the literal at `start` ends, and where the literal does (the key leaves xsd:string out)."""
    at = skip_all(data, start + 1, end, IS_PLAIN)
    while at < end and data[at] != QUOTE:
        if is_a(data[at], IS_PLAIN):
            at += 1
            continue
        if data[at] < 0x80:  # an escape, or the end of the line
            return UNSURE, UNSURE
        _, at = code_point(data, at, end)
        if at < 0:
            return UNSURE, UNSURE
    if at >= end:
        return UNSURE, UNSURE
    at += 1
    if at < end and data[at] == AT:
        stop = _language_end(data, at + 1, end)
        return stop, stop
    if at < end and data[at] == CARET:
        if end - at < 2 or data[at + 1] != CARET:
            return UNSURE, UNSURE
        stop = _datatype_end(data, at + 2, end)
        if stop < 0 or ends_with(data, at, stop, _TAGGED_SUFFIX):
            return UNSURE, UNSURE
        return at if ends_with(data, start + 1, stop, STRING_SUFFIX) else stop, stop
    return at, at


@leaf
def _term(data, at, end, role, line, starts, ends):
    """Reads the term at `at` into the ranges of its role. Returns where it ends, or -1."""
    if at >= end:
        return UNSURE
    starts[role, line] = at
    if data[at] == LESS:
        stop = iri_end(data, at, end)
        ends[role, line] = stop
        return stop
    if data[at] == UNDERSCORE and role != PREDICATE:
        stop = blank_node_end(data, at, end)
        ends[role, line] = stop
        return stop
    if data[at] == QUOTE and role == OBJECT:
        key_end, stop = literal_end(data, at, end)
        ends[role, line] = key_end
        return stop
    return UNSURE


@leaf
def _statement(data, at, end, quads, line, starts, ends):
    """Whether the bytes are surely one statement, whose ranges it fills in."""
    for role in range(GRAPH):
        at = _term(data, skip_space(data, at, end), end, role, line, starts, ends)
        if at < 0:
            return False
    at = skip_space(data, at, end)
    if quads and at < end and data[at] != POINT:
        at = _term(data, at, end, GRAPH, line, starts, ends)
        if at < 0:
            return False
        at = skip_space(data, at, end)
    return at < end and data[at] == POINT and is_blank(data, at + 1, end)


@leaf
def read_time(data, at, end):
    """The time at the start of a line, and where the statement after its tab starts; -1 where that is not sure."""
    negative = at < end and data[at] == MINUS
    if negative:
        at += 1
    first = at
    value = np.int64(0)
    while at < end and ZERO <= data[at] <= NINE and at - first <= MOST_TIME_DIGITS:
        value = value * 10 + (np.int64(data[at]) - ZERO)
        at += 1
    if at in (first, end) or at - first > MOST_TIME_DIGITS or data[at] != TAB:
        return np.int64(0), UNSURE
    return -value if negative else value, at + 1


@leaf
def scan_lines(data, line_starts, line_ends, timed, quads, kinds, times, starts, ends):
    """Says what each line is, and where the terms of the statements are: data[starts[role, i]:ends[role, i]].

    A term that is not there starts at -1. Every line of `timed` input starts with a time and a tab; `quads` allows
    a graph name.
    """
    for i in range(line_starts.size):
        at, end = line_starts[i], line_ends[i]
        times[i] = 0
        starts[GRAPH, i] = -1
        if at >= 0 and end > at and data[end - 1] == RETURN:
            end -= 1
        if at < 0 or is_blank(data, at, end):
            kinds[i] = BLANK_LINE
            continue
        if timed:
            times[i], at = read_time(data, at, end)
        sure = at >= 0 and _statement(data, at, end, quads, i, starts, ends)
        kinds[i] = STATEMENT if sure else UNSURE_LINE


@leaf
def _needs_rewriting(data, start, end, scope):
    """Whether a key differs from the bytes in the line: blank nodes get a scope, language tags lower case."""
    if start < 0:
        return False
    if data[start] == UNDERSCORE:
        return scope.size > 0
    if data[start] != QUOTE or data[end - 1] == QUOTE or data[end - 1] == ord(">"):
        return False
    at = end - 1
    while data[at] != AT:
        if ord("A") <= data[at] <= ord("Z"):
            return True
        at -= 1
    return False


@leaf
def rewriting_room(data, starts, ends, scope):
    """How many bytes `rewrite` writes at most."""
    room = np.int64(0)
    for i in range(starts.size):
        if _needs_rewriting(data, starts[i], ends[i], scope):
            room += ends[i] - starts[i] + scope.size
    return room


@leaf
def rewrite(data, starts, ends, scope, out, at, shift):
    """Writes the keys that differ from the bytes in the line at out[at:], and makes their ranges point there.

    `scope` goes between `_:` and the label of a blank node. The ranges count from `shift` bytes before `out`.
    Returns where it stopped.
    """
    for i in range(starts.size):
        start, end = starts[i], ends[i]
        if not _needs_rewriting(data, start, end, scope):
            continue
        starts[i] = shift + at
        if data[start] == UNDERSCORE:
            at = copy_bytes(data, start, start + 2, out, at)
            at = copy_bytes(scope, 0, scope.size, out, at)
            at = copy_bytes(data, start + 2, end, out, at)
        else:
            at = copy_bytes(data, start, end, out, at)
            letter = at - 1
            while out[letter] != AT:
                if ord("A") <= out[letter] <= ord("Z"):
                    out[letter] += 32
                letter -= 1
        ends[i] = shift + at
    return at


@leaf
def gather(data, starts, ends, out, offsets):
    """Copies the ranges one after another: out[offsets[i]:offsets[i + 1]] is data[starts[i]:ends[i]], empty for -1."""
    at = np.int64(0)
    for i in range(starts.size):
        offsets[i] = at
        if starts[i] >= 0:
            at = copy_bytes(data, starts[i], ends[i], out, at)
    offsets[starts.size] = at
