"""The distinct terms of groups, and their order.

Order: blank nodes, IRIs, numbers, dates and times, booleans, other literals by their text. Numbers of equal value go by
type and then by id, so that the order is total and no answer depends on the order of arrival. What the order looks at
is laid out as four whole numbers an entry, side by side, to be compared one after the other; terms that go by their
text are compared in the dictionary, where the bytes are.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.comparison import compare_bytes, lexical_end, order_of
from freshet.kernels.dictionary import key_range
from freshet.kernels.jit import inlined, njit
from freshet.kernels.lexical import LONGEST_KEY, write_decimal
from freshet.kernels.pieces import copy_bytes
from freshet.kernels.values import BLANK_NODE, BOOLEAN, DOUBLE, FLOAT, IRI, TIME_LOCAL

NOBODY = -1

_GREATEST = np.int64(2**63 - 1)
_SIGN = np.int64(-(2**63))
_KIND_BITS = 8

# What comes before what.
_BLANK_NODES = 0
_IRIS = 1
_NUMBERS = 2
_MOMENTS = 3
_BOOLEANS = 4
_OTHERS = 5


class MemberArrays(NamedTuple):
    """Members by entry number (the number of a group and term in a one-way index), and groups by theirs."""

    ids: np.ndarray  # int64, one an entry
    order: np.ndarray  # int64 [entry, 4]: class and kind, then real, high and low so that they compare as int64
    counts: np.ndarray  # int64, one a group: how many members
    missing: np.ndarray  # int64, one a group: 1 where a row without a term is in the group


@njit
def _class(kind):
    if kind == BLANK_NODE:
        return _BLANK_NODES
    if kind == IRI:
        return _IRIS
    if kind <= DOUBLE:
        return _NUMBERS
    if kind == BOOLEAN:
        return _BOOLEANS
    return _MOMENTS if kind <= TIME_LOCAL else _OTHERS


@njit
def _ordered_real(real):
    """A whole number for each float64, in the same order; NaN stands behind all others."""
    if real != real:
        return _GREATEST
    bits = np.float64(real + 0.0).view(np.int64)  # -0.0 becomes 0.0
    return bits if bits >= 0 else bits ^ _GREATEST


@njit
def admit(members, entries, fresh, groups, ids, values):
    """Terms become members of groups, where they are fresh. Gives the entries of those that did, and their groups."""
    joined = np.empty(entries.size, np.int32)
    joined_groups = np.empty(entries.size, np.int32)
    found = 0
    for row in range(entries.size):
        if not fresh[row]:
            continue
        entry, group, kind = entries[row], groups[row], np.int64(values.kinds[row])
        if ids[row] == 0:
            members.missing[group] = 1
            continue
        members.counts[group] += 1
        members.ids[entry] = ids[row]
        members.order[entry, 0] = _class(kind) << _KIND_BITS | kind
        members.order[entry, 1] = _ordered_real(values.reals[row])
        if FLOAT <= kind <= DOUBLE:  # behind the exact numbers that round to it
            members.order[entry, 2] = members.order[entry, 3] = _GREATEST
        else:
            members.order[entry, 2] = values.high[row]
            members.order[entry, 3] = np.int64(values.low[row]) ^ _SIGN
        joined[found] = entry
        joined_groups[found] = group
        found += 1
    return joined[:found].copy(), joined_groups[:found].copy()


@njit
def dismiss(members, entries, pairs):
    """Terms are members of groups no longer; `pairs` has the group and the id of every entry."""
    for entry in entries:
        group = pairs[entry, 0]
        if pairs[entry, 1] == 0:
            members.missing[group] = 0
        else:
            members.counts[group] -= 1


@njit
def _compare_keys(data, start, end, other_start, other_end):
    """Keys of one class by lexical form and then by what follows it; IRIs without their closing bracket."""
    cut, other_cut = end, other_end
    if data[start] == ord('"'):
        cut = lexical_end(data, start, end)
        other_cut = lexical_end(data, other_start, other_end)
    elif data[start] == ord("<"):
        cut, other_cut = end - 1, other_end - 1
    sign = compare_bytes(data, start, cut, other_start, other_cut)
    return sign if sign != 0 else compare_bytes(data, cut, end, other_cut, other_end)


@njit
def _write_key(dictionary, term_id, out, at):
    if term_id < 0:
        return write_decimal(out, at, term_id)
    start, end = key_range(dictionary, term_id)
    return copy_bytes(dictionary.heap, start, end, out, at)


@njit
def _compare_texts(dictionary, left, right):
    """Two terms by their text. Of inline terms only decimals of too many digits come here; they are written out."""
    start, end, other_start, other_end = 0, 0, 0, 0
    if left > 0:
        start, end = key_range(dictionary, left)
    if right > 0:
        other_start, other_end = key_range(dictionary, right)
    if left > 0 and right > 0:
        return _compare_keys(dictionary.heap, start, end, other_start, other_end)
    data = np.empty(end - start + other_end - other_start + 2 * LONGEST_KEY, np.uint8)
    cut = _write_key(dictionary, left, data, 0)
    return _compare_keys(data, 0, cut, cut, _write_key(dictionary, right, data, cut))


@inlined
def compare_members(order, ids, dictionary, left, right):
    """-1 or 1: the order of the terms of two entries; 0 where they are one.

    It takes arrays that `MemberArrays` has, as taking an array out of a tuple costs more than the comparison.
    """
    class_, other_class = order[left, 0] >> _KIND_BITS, order[right, 0] >> _KIND_BITS
    if class_ != other_class:
        return order_of(class_, other_class)
    if class_ <= _IRIS or class_ == _OTHERS:
        return _compare_texts(dictionary, ids[left], ids[right])
    for column in range(1, 4):
        if order[left, column] != order[right, column]:
            return order_of(order[left, column], order[right, column])
    sign = order_of(order[left, 0], order[right, 0])
    return sign if sign != 0 else order_of(ids[left], ids[right])
