"""The distinct terms of groups, and which is the least and the greatest of each.

Every group has a chain of its members. A member that enters is compared with the least and the greatest; when one of
these leaves, the group is marked, and its chain walked when the answer is asked for. Order: blank nodes, IRIs, numbers,
dates and times, booleans, other literals by their text. Numbers of equal value go by type and then by id, so that the
order is total and no answer depends on the order of arrival.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels import wide
from freshet.kernels.comparison import compare_bytes, lexical_end, order_of
from freshet.kernels.jit import njit
from freshet.kernels.values import BLANK_NODE, BOOLEAN, DECIMAL, DOUBLE, IRI, TIME_LOCAL, Values

NOBODY = -1
UNSETTLED = -2  # the least or greatest is to be looked for

# Columns of `MemberArrays.ends`.
LEAST = 0
GREATEST = 1

_TEXT = 2  # a comparison that needs the text of both terms


class MemberArrays(NamedTuple):
    """Members by entry number (the number of a group and term in a one-way index), and groups by theirs."""

    ids: np.ndarray  # int64, one an entry
    values: Values  # one row an entry
    older: np.ndarray  # int32, one an entry: the next in the chain of its group, or NOBODY
    newer: np.ndarray  # int32, one an entry
    heads: np.ndarray  # int32, one a group: the newest member or NOBODY
    counts: np.ndarray  # int64, one a group: how many members
    missing: np.ndarray  # int64, one a group: 1 where a row without a term is in the group
    ends: np.ndarray  # int32 [group, 2]: the entries of the LEAST and GREATEST, NOBODY or UNSETTLED


@njit
def _rank(kind):
    if kind == BLANK_NODE:
        return 0
    if kind == IRI:
        return 1
    if kind <= DOUBLE:
        return 2
    if kind == BOOLEAN:
        return 4
    return 3 if kind <= TIME_LOCAL else 5


@njit
def _compare(members, left, right):
    """-1 or 1, or _TEXT where only the text of the terms tells."""
    values = members.values
    left_kind, right_kind = values.kinds[left], values.kinds[right]
    rank = _rank(left_kind)
    sign = order_of(rank, _rank(right_kind))
    if sign != 0:
        return sign
    if rank == 0 or rank == 1 or rank == 5:
        return _TEXT
    left_real, right_real = values.reals[left], values.reals[right]
    sign = order_of(left_real, right_real)
    if left_real != left_real or right_real != right_real:  # NaN stands behind all numbers
        sign = order_of(left_real != left_real, right_real != right_real)
    if sign == 0 and (rank == 3 or max(left_kind, right_kind) <= DECIMAL):
        sign = wide.compare(values.high[left], values.low[left], values.high[right], values.low[right])
    if sign == 0:
        sign = order_of(left_kind, right_kind)
    return sign if sign != 0 else order_of(members.ids[left], members.ids[right])


@njit
def admit(members, entries, fresh, groups, ids, values):
    """Terms become members of groups, where they are fresh."""
    for row in range(entries.size):
        entry, group = entries[row], groups[row]
        if not fresh[row]:
            continue
        if ids[row] == 0:
            members.missing[group] = 1
            continue
        members.ids[entry] = ids[row]
        members.values.kinds[entry] = values.kinds[row]
        members.values.high[entry] = values.high[row]
        members.values.low[entry] = values.low[row]
        members.values.reals[entry] = values.reals[row]
        head = members.heads[group]
        members.older[entry] = head
        members.newer[entry] = NOBODY
        if head != NOBODY:
            members.newer[head] = entry
        members.heads[group] = entry
        members.counts[group] += 1
        for end in (LEAST, GREATEST):
            best = members.ends[group, end]
            if best == NOBODY:
                members.ends[group, end] = entry
            elif best != UNSETTLED:
                sign = _compare(members, entry, best)
                if sign == _TEXT:
                    members.ends[group, end] = UNSETTLED
                elif sign == (-1 if end == LEAST else 1):
                    members.ends[group, end] = entry


@njit
def dismiss(members, entries, pairs):
    """Terms are members of groups no longer; `pairs` has the group and the id of every entry."""
    for entry in entries:
        group = pairs[entry, 0]
        if pairs[entry, 1] == 0:
            members.missing[group] = 0
            continue
        older, newer = members.older[entry], members.newer[entry]
        if newer != NOBODY:
            members.older[newer] = older
        else:
            members.heads[group] = older
        if older != NOBODY:
            members.newer[older] = newer
        members.counts[group] -= 1
        for end in (LEAST, GREATEST):
            if members.counts[group] == 0:
                members.ends[group, end] = NOBODY
            elif members.ends[group, end] == entry:
                members.ends[group, end] = UNSETTLED


@njit
def settle(members, groups, end):
    """Look for the least (greatest) of unsettled groups. Gives those where text is needed, which stay unsettled."""
    left = np.empty(groups.size, np.int32)
    found = 0
    wanted = -1 if end == LEAST else 1
    for group in groups:
        if members.ends[group, end] != UNSETTLED:
            continue
        best = members.heads[group]
        entry = members.older[best]
        while entry != NOBODY:
            sign = _compare(members, entry, best)
            if sign == _TEXT:
                best = UNSETTLED
                left[found] = group
                found += 1
                break
            if sign == wanted:
                best = entry
            entry = members.older[entry]
        members.ends[group, end] = best
    return left[:found].copy()


@njit
def chains(members, groups):
    """The members of groups, one group after the other."""
    count = 0
    for group in groups:
        count += members.counts[group]
    entries = np.empty(count, np.int32)
    found = 0
    for group in groups:
        entry = members.heads[group]
        while entry != NOBODY:
            entries[found] = entry
            found += 1
            entry = members.older[entry]
    return entries


@njit
def _compare_text(data, start, end, other_start, other_end):
    """Keys by lexical form and then by what follows it; IRIs without their closing bracket."""
    cut, other_cut = end - 1, other_end - 1
    if data[start] == ord('"'):
        cut = lexical_end(data, start, end)
        other_cut = lexical_end(data, other_start, other_end)
    sign = compare_bytes(data, start, cut, other_start, other_cut)
    return sign if sign != 0 else compare_bytes(data, cut, end, other_cut, other_end)


@njit
def settle_texts(members, groups, end, entries, data, starts, ends):
    """As `settle`, given the keys of the groups' members in the order of `chains`."""
    wanted = -1 if end == LEAST else 1
    row = 0
    for group in groups:
        best = row
        last = row + members.counts[group]
        for at in range(row + 1, last):
            sign = _compare(members, entries[at], entries[best])
            if sign == _TEXT:
                sign = _compare_text(data, starts[at], ends[at], starts[best], ends[best])
            if sign == wanted:
                best = at
        members.ends[group, end] = entries[best]
        row = last
