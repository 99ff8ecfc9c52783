"""Where the terms of a statement stand, found eight bytes at a time. What they are is not looked at here.

See `freshet.kernels.statements`, which this is a part of.
"""

import numpy as np

from freshet.kernels.hashing import word_64
from freshet.kernels.iris import GREATER, IS_ALPHA, IS_DIGIT, LESS, UNSURE, is_a
from freshet.kernels.jit import leaf
from freshet.kernels.ntriples import (
    AT,
    CARET,
    GRAPH,
    NEWLINE,
    OBJECT,
    PREDICATE,
    RETURN,
    SPACE,
    STRING_SUFFIX,
    UNDERSCORE,
    blank_node_end,
    is_blank,
    skip_space,
)
from freshet.kernels.terms import MINUS, POINT, QUOTE, ends_with

_8, _16 = np.uint64(8), np.uint64(16)
_LOW = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


@leaf
def _hits(data, at, pattern):
    """The highest bit of each byte of a word that is the one looked for, and nothing below the lowest of them."""
    word = word_64(data, at) ^ pattern
    return (word - _LOW) & ~word & _HIGH


@leaf
def find_byte(data, at, byte):
    """Where the byte stands from `at` on, or the size of the data."""
    here, size = np.uint64(at), np.uint64(data.size)
    pattern = np.uint64(byte) * _LOW
    while here + _16 <= size:
        hits = _hits(data, here, pattern)
        more = _hits(data, here + _8, pattern)
        if hits | more != 0:
            here += _8 if hits == 0 else np.uint64(0)
            hits = more if hits == 0 else hits
            below = (hits & (~hits + np.uint64(1))) - np.uint64(1)
            return np.int64(here) + np.int64(((below & _LOW) * _LOW) >> np.uint64(56)) - 1
        here += _16
    rest = np.int64(here)
    while rest < data.size and data[rest] != byte:
        rest += 1
    return rest


@leaf
def _literal_range(data, start):
    """Where the key of a literal ends, and where the literal does, if it is one."""
    size = data.size
    quote = find_byte(data, start + 1, QUOTE)
    at = quote + 1
    if at >= size:
        return np.int64(size), np.int64(size)
    if data[at] == AT:
        at += 1
        while at < size and (is_a(data[at], IS_ALPHA | IS_DIGIT) or data[at] == MINUS):
            at += 1
    elif data[at] == CARET:
        at = find_byte(data, at, GREATER) + 1
        if at - quote == STRING_SUFFIX.size and at <= size and ends_with(data, quote, at, STRING_SUFFIX):
            return quote + 1, at
    return at, at


@leaf
def _other_range(data, at, role):
    """Where the key of a term that is no IRI ends, and where the term does, if it is one; -1 where it surely is not."""
    if data[at] == QUOTE and role == OBJECT:
        return _literal_range(data, at)
    if data[at] == UNDERSCORE and role != PREDICATE:
        end = blank_node_end(data, at, data.size)
        return end, end
    return UNSURE, UNSURE


@leaf
def next_line(data, at):
    """Where the line after the statement that ends at `at` starts; -1 where more than a comment follows."""
    size = data.size
    if at == size:
        return np.int64(size)
    if data[at] == NEWLINE:
        return np.int64(at + 1)
    end = find_byte(data, at, NEWLINE)
    last = end - 1 if data[end - 1] == RETURN else end
    return np.int64(min(end + 1, size)) if is_blank(data, at, last) else UNSURE


@leaf
def range_plain(data, at, starts, ends, term):
    """The same as `range_statement` for what most lines are: three terms, one space after each, and a line feed.

    Anything else is -1, and nothing is lost but the time for a second look.
    """
    last = data.size - 3
    end = find_byte(data, at + 1, GREATER) + 1
    if data[at] != LESS or end > last or data[end] != SPACE or data[end + 1] != LESS:
        return UNSURE
    starts[term] = at
    ends[term] = end
    at = end + 1
    end = find_byte(data, at + 1, GREATER) + 1
    if end > last or data[end] != SPACE:
        return UNSURE
    starts[term + 1] = at
    ends[term + 1] = end
    at = end + 1
    if data[at] == LESS:
        stop = find_byte(data, at + 1, GREATER) + 1
        end = stop
    elif data[at] == QUOTE:
        end, stop = _literal_range(data, at)
    else:
        return UNSURE
    if stop > last or data[stop] != SPACE or data[stop + 1] != POINT or data[stop + 2] != NEWLINE:
        return UNSURE
    starts[term + 2] = at
    ends[term + 2] = end
    return stop + 3


@leaf
def range_statement(data, at, quads, starts, ends, term):
    """Finds the ranges of a statement's terms. Returns where the next line starts, or -1, and the next free term."""
    size = data.size
    for role in range(GRAPH + 1):
        at = skip_space(data, at, size)
        if at >= size or (role == GRAPH and (data[at] == POINT or not quads)):
            break
        starts[term] = at
        if data[at] == LESS:
            at = find_byte(data, at + 1, GREATER) + 1
            ends[term] = at
        else:
            ends[term], at = _other_range(data, at, role)
            if at < 0:
                return UNSURE, term
        term += 1
    at = skip_space(data, at, size)
    if at >= size or data[at] != POINT:
        return UNSURE, term
    return next_line(data, at + 1), term
