"""The distinct terms of groups, and their order.

Order: blank nodes, IRIs, numbers, dates and times, booleans, other literals by their text, triple terms by theirs.
Numbers of equal value go by type and then by id, so that the order is total and no answer depends on the order of
arrival. What the order looks at is laid out as whole numbers to be compared one after the other; terms that go by
their text are compared in the dictionary, where the bytes are.

Most of the time goes into waiting for memory, so all that is kept of a member is in one line of the cache, also its
links in heaps (`freshet.kernels.heaps`): eight words, some of which are used as two halves.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.comparison import lexical_end, order_of
from freshet.kernels.dictionary import key_range
from freshet.kernels.jit import inlined, leaf
from freshet.kernels.lexical import LONGEST_KEY, write_decimal
from freshet.kernels.values import BLANK_NODE, BOOLEAN, DOUBLE, FLOAT, IRI, TIME_LOCAL, TRIPLE_TERM

NIL = -1

_GREATEST = np.int64(2**63 - 1)
_SIGN = np.int64(-(2**63))
_KIND_BITS = 8
SCRATCH = 2 * LONGEST_KEY

# What comes before what.
_BLANK_NODES = 0
_IRIS = 1
_NUMBERS = 2
_MOMENTS = 3
_BOOLEANS = 4
_OTHERS = 5
_TRIPLE_TERMS = 6


# Columns of `MemberArrays.words`.
_REAL = 1  # this and the next two so that they compare as int64
_HIGH = 2
_LOW = 3
ID = 4
WORDS = 8

# Columns of `MemberArrays.halves`. Those of the first word and of the last three are not used as words.
_KIND = 1  # class and kind
LEAST_LINKS = 10
GREATEST_LINKS = 13
HALVES = 16


class MemberArrays(NamedTuple):
    """Members by entry number (the number of a group and term in a one-way index), and groups by theirs."""

    words: np.ndarray  # int64 [entry, 8]
    halves: np.ndarray  # int32 [entry, 16], the same memory
    counts: np.ndarray  # int64, one a group: how many members
    missing: np.ndarray  # bool, one a group: whether a row without a term is in it
    roots: np.ndarray  # int32 [group, 2]: the entries of the least and of the greatest member, or NIL


@leaf
def _class(kind):
    if kind == BLANK_NODE:
        return _BLANK_NODES
    if kind == IRI:
        return _IRIS
    if kind <= DOUBLE:
        return _NUMBERS
    if kind == BOOLEAN:
        return _BOOLEANS
    if kind <= TIME_LOCAL:
        return _MOMENTS
    return _TRIPLE_TERMS if kind == TRIPLE_TERM else _OTHERS


@leaf
def _ordered_real(real):
    """A whole number for each float64, in the same order; NaN stands behind all others."""
    if real != real:
        return _GREATEST
    bits = np.float64(real + 0.0).view(np.int64)  # -0.0 becomes 0.0
    return bits if bits >= 0 else bits ^ _GREATEST


@leaf
def write_member(words, halves, entry, term_id, kind, high, low, real):
    """Lay out what the order looks at."""
    words[entry, ID] = term_id
    halves[entry, _KIND] = _class(kind) << _KIND_BITS | kind
    words[entry, _REAL] = _ordered_real(real)
    if FLOAT <= kind <= DOUBLE:  # behind the exact numbers that round to it
        words[entry, _HIGH] = words[entry, _LOW] = _GREATEST
    else:
        words[entry, _HIGH] = high
        words[entry, _LOW] = np.int64(low) ^ _SIGN


@leaf
def _compare_bytes(data, start, end, other_data, other_start, other_end):
    for i in range(min(end - start, other_end - other_start)):
        if data[start + i] != other_data[other_start + i]:
            return order_of(data[start + i], other_data[other_start + i])
    return order_of(end - start, other_end - other_start)


@leaf
def _compare_keys(data, start, end, other_data, other_start, other_end):
    """Keys of one class by lexical form and then by what follows it; IRIs without their closing bracket."""
    cut, other_cut = end, other_end
    if data[start] == ord('"'):
        cut = lexical_end(data, start, end)
        other_cut = lexical_end(other_data, other_start, other_end)
    elif data[start] == ord("<"):
        cut, other_cut = end - 1, other_end - 1
    sign = _compare_bytes(data, start, cut, other_data, other_start, other_cut)
    return sign if sign != 0 else _compare_bytes(data, cut, end, other_data, other_cut, other_end)


@leaf
def _compare_texts(texts, left, right):
    """Two terms by their text. Of inline terms only decimals of too many digits come here; they are written out."""
    dictionary, scratch = texts
    heap = dictionary.heap
    if left > 0 and right > 0:
        start, end = key_range(dictionary, left)
        other_start, other_end = key_range(dictionary, right)
        return _compare_keys(heap, start, end, heap, other_start, other_end)
    if left > 0:
        start, end = key_range(dictionary, left)
        return _compare_keys(heap, start, end, scratch, 0, write_decimal(scratch, 0, right))
    cut = write_decimal(scratch, 0, left)
    if right > 0:
        start, end = key_range(dictionary, right)
        return _compare_keys(scratch, 0, cut, heap, start, end)
    return _compare_keys(scratch, 0, cut, scratch, cut, write_decimal(scratch, cut, right))


@inlined
def compare_members(words, halves, texts, left, right):
    """-1 or 1: the order of the terms of two entries; 0 where they are one.

    `texts` are the arrays of the dictionary, and SCRATCH bytes to write to. It takes arrays that `MemberArrays` has, as
    taking an array out of a tuple costs more than the comparison.
    """
    class_, other_class = halves[left, _KIND] >> _KIND_BITS, halves[right, _KIND] >> _KIND_BITS
    if class_ != other_class:
        return order_of(class_, other_class)
    if class_ <= _IRIS or class_ >= _OTHERS:
        return _compare_texts(texts, words[left, ID], words[right, ID])
    for column in range(_REAL, _LOW + 1):
        if words[left, column] != words[right, column]:
            return order_of(words[left, column], words[right, column])
    sign = order_of(halves[left, _KIND], halves[right, _KIND])
    return sign if sign != 0 else order_of(words[left, ID], words[right, ID])
