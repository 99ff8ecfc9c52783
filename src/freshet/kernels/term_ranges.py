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
    STRING_SUFFIX,
    UNDERSCORE,
    blank_node_end,
    is_blank,
    skip_space,
)
from freshet.kernels.terms import MINUS, POINT, QUOTE, ends_with

# Terms are one array, as every further one is seven more arguments of each call. A term is some words of it: where it
# starts and ends, its id, where the dictionary has its record or one of the marks below, and a quick hash of it.
START, END, ID, RECORD, QUICK, WORDS = 0, 1, 2, 3, 4, 5

# in place of a record: it is not found yet; the id is the term's; the same, from the memo; it will be that of the
# subject of the line before
UNFOUND, RESOLVED, RECALLED, REPEATED = (np.int64(mark) for mark in (-1, -2, -3, -4))

_8, _16 = np.uint64(8), np.uint64(16)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xD6E8FEB86659FD93)
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
def quick_hash(data, start, end):
    """A hash of the first and last sixteen bytes: there most terms differ, the longest IRIs too."""
    first, last = np.uint64(start), np.uint64(end)
    if end - start < 16:
        mixed = (np.uint64(data[start + 1]) << _16) ^ (np.uint64(data[end - 2]) << _8) ^ (last - first)
    else:
        mixed = (word_64(data, last - _8) ^ _MIX) * (word_64(data, last - _16) ^ _MIX_2)
        mixed ^= (word_64(data, first + _8) * _MIX) ^ (word_64(data, first) >> np.uint64(7))
        # The bytes that differ are often the highest ones, and products carry upwards only.
        mixed ^= mixed >> np.uint64(32)
    return np.int64((mixed * _MIX_2) >> np.uint64(2))


@leaf
def literal_range(data, start):
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
        return literal_range(data, at)
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
def range_statement(data, at, quads, terms, term):
    """Finds the ranges of a statement's terms. Returns where the next line starts, or -1, and the next free term."""
    size = data.size
    for role in range(GRAPH + 1):
        at = skip_space(data, at, size)
        if at >= size or (role == GRAPH and (data[at] == POINT or not quads)):
            break
        terms[term + START] = at
        terms[term + RECORD] = UNFOUND
        if data[at] == LESS:
            at = find_byte(data, at + 1, GREATER) + 1
            terms[term + END] = at
        else:
            terms[term + END], at = _other_range(data, at, role)
            if at < 0:
                return UNSURE, term
        term += WORDS
    at = skip_space(data, at, size)
    if at >= size or data[at] != POINT:
        return UNSURE, term
    return next_line(data, at + 1), term
