"""Aggregates and DISTINCT after every moment of a batch of changes.

Rows enter at the moments of one column and leave at those of another, both in order. At one moment rows enter before
they leave, and what is put out is how things stand when both are done. The numbers of groups and members are entries of
one-way indexes, whose counters are kept here.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels import wide
from freshet.kernels.groups import SumArrays, add_numbers
from freshet.kernels.index import IDLE
from freshet.kernels.jit import njit
from freshet.kernels.lives import _rows_of
from freshet.kernels.values import DECIMAL, Values

NOBODY = -1


class HeapArrays(NamedTuple):
    """A pairing heap a group. Members whose counter is zero stay in it until they come to the top."""

    child: np.ndarray  # int32, one a member: its first child or NOBODY
    sibling: np.ndarray  # int32, one a member
    queued: np.ndarray  # bool, one a member: whether it is in a heap
    values: Values  # one row a member
    roots: np.ndarray  # int32, one a group
    best: np.ndarray  # int64, one a group: the id last put out, 0 where there was none


@njit
def entries_of(index, keys):
    """The entry of each key, made where there is none; counters are left as they are."""
    return _rows_of(index, keys, index.counts)


@njit
def _count(index, entry, sign):
    if index.counts[entry] == 0:
        index.sizes[IDLE] -= 1
    index.counts[entry] += sign
    if index.counts[entry] == 0:
        index.sizes[IDLE] += 1


@njit
def _moment_end(moments, at, moment):
    """Where the changes of a moment end."""
    while at < moments.shape[0] and moments[at] == moment:
        at += 1
    return at


@njit
def _next_moment(entering, at, leaving, out):
    if at == entering.shape[0]:
        return leaving[out]
    if out == leaving.shape[0]:
        return entering[at]
    return min(entering[at], leaving[out])


@njit
def _touch(entries, first, end, stamps, moment, touched, count):
    """Add the entries that this moment has not touched yet to those that it has."""
    for at in range(first, end):
        entry = entries[at]
        if stamps[entry] != moment:
            stamps[entry] = moment
            touched[count] = entry
            count += 1
    return count


@njit
def running_distinct(index, stamps, entering, entering_moments, leaving, leaving_moments):
    """Which entries begin to count at each moment, and which cease to (equations 4 and 5).

    Gives the entries that appear with their moments, then those that vanish with theirs.
    """
    most = entering.shape[0] + leaving.shape[0]
    touched = np.empty(most, np.int32)
    before = np.empty(most, np.bool_)
    appeared, appeared_moments = np.empty(entering.shape[0], np.int32), np.empty(entering.shape[0], np.int64)
    vanished, vanished_moments = np.empty(leaving.shape[0], np.int32), np.empty(leaving.shape[0], np.int64)
    comes = goes = 0
    at = out = 0
    while at < entering.shape[0] or out < leaving.shape[0]:
        moment = _next_moment(entering_moments, at, leaving_moments, out)
        end, out_end = _moment_end(entering_moments, at, moment), _moment_end(leaving_moments, out, moment)
        count = _touch(entering, at, end, stamps, moment, touched, 0)
        count = _touch(leaving, out, out_end, stamps, moment, touched, count)
        for place in range(count):
            before[place] = index.counts[touched[place]] > 0
        for row in range(at, end):
            _count(index, entering[row], 1)
        for row in range(out, out_end):
            _count(index, leaving[row], -1)
        for place in range(count):
            entry = touched[place]
            if index.counts[entry] > 0 and not before[place]:
                appeared[comes], appeared_moments[comes] = entry, moment
                comes += 1
            elif index.counts[entry] == 0 and before[place]:
                vanished[goes], vanished_moments[goes] = entry, moment
                goes += 1
        at, out = end, out_end
    return appeared[:comes], appeared_moments[:comes], vanished[:goes], vanished_moments[:goes]


@njit
def _part(values, first, end):
    return Values(values.kinds[first:end], values.high[first:end], values.low[first:end], values.reals[first:end])


@njit
def running_sums(
    index, sums, stamps, entering, entering_values, entering_moments, leaving, leaving_values, leaving_moments
):
    """The sums of every group that a moment changed, after it.

    Gives the groups, the moments, the number of rows in the group, and the sums, one row each.
    """
    most = entering.shape[0] + leaving.shape[0]
    touched = np.empty(most, np.int32)
    groups, moments, counts = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.int64)
    after = SumArrays(
        np.empty((most, 5), np.int64),
        np.empty((most, 3), np.uint64),
        np.empty((most, 4), np.float64),
        np.empty((most, 3), np.int64),
    )
    found = at = out = 0
    while at < entering.shape[0] or out < leaving.shape[0]:
        moment = _next_moment(entering_moments, at, leaving_moments, out)
        end, out_end = _moment_end(entering_moments, at, moment), _moment_end(leaving_moments, out, moment)
        add_numbers(sums, entering[at:end], _part(entering_values, at, end), 1)
        add_numbers(sums, leaving[out:out_end], _part(leaving_values, out, out_end), -1)
        for row in range(at, end):
            _count(index, entering[row], 1)
        for row in range(out, out_end):
            _count(index, leaving[row], -1)
        count = _touch(entering, at, end, stamps, moment, touched, 0)
        count = _touch(leaving, out, out_end, stamps, moment, touched, count)
        for place in range(count):
            group = touched[place]
            groups[found], moments[found], counts[found] = group, moment, index.counts[group]
            for column in range(5):
                after.rows[found, column] = sums.rows[group, column]
            for column in range(3):
                after.words[found, column] = sums.words[group, column]
                after.specials[found, column] = sums.specials[group, column]
            for column in range(4):
                after.reals[found, column] = sums.reals[group, column]
            found += 1
        at, out = end, out_end
    after = SumArrays(after.rows[:found], after.words[:found], after.reals[:found], after.specials[:found])
    return groups[:found], moments[:found], counts[:found], after


@njit
def _precedes(heap, ids, left, right, sign):
    """Whether a number comes before another: by value, then by type, then by id, so that the order is total."""
    values = heap.values
    left_real, right_real = values.reals[left], values.reals[right]
    left_nan, right_nan = left_real != left_real, right_real != right_real
    if left_nan != right_nan:  # NaN stands behind all numbers
        return right_nan if sign > 0 else left_nan
    if not left_nan and left_real != right_real:
        return left_real < right_real if sign > 0 else left_real > right_real
    left_kind, right_kind = values.kinds[left], values.kinds[right]
    order = np.int64(0)
    if left_kind <= DECIMAL and right_kind <= DECIMAL:
        order = wide.compare(values.high[left], values.low[left], values.high[right], values.low[right])
    if order == 0:
        order = np.int64(left_kind) - np.int64(right_kind)
    if order == 0:
        order = np.int64(-1 if ids[left, 1] < ids[right, 1] else 1)
    return order * sign < 0


@njit
def _meld(heap, ids, left, right, sign):
    """Two heaps as one; gives its root."""
    if _precedes(heap, ids, right, left, sign):
        left, right = right, left
    heap.sibling[right] = heap.child[left]
    heap.child[left] = right
    heap.sibling[left] = NOBODY
    return left


@njit
def _without_root(heap, ids, root, sign):
    """The heap without its root: the root's children melded in pairs, then these from the last to the first."""
    first = heap.child[root]
    heap.child[root] = NOBODY
    heap.queued[root] = False
    pairs = np.int32(NOBODY)
    while first != NOBODY:
        second = heap.sibling[first]
        following = np.int32(NOBODY)
        if second != NOBODY:
            following = heap.sibling[second]
            first = _meld(heap, ids, first, second, sign)
        heap.sibling[first] = pairs
        pairs = first
        first = following
    rest = np.int32(NOBODY)
    while pairs != NOBODY:
        following = heap.sibling[pairs]
        heap.sibling[pairs] = NOBODY
        rest = pairs if rest == NOBODY else _meld(heap, ids, rest, pairs, sign)
        pairs = following
    return rest


@njit
def _put_in(heap, ids, member, sign):
    group = ids[member, 0]
    heap.queued[member] = True
    heap.child[member] = NOBODY
    heap.sibling[member] = NOBODY
    root = heap.roots[group]
    heap.roots[group] = member if root == NOBODY else _meld(heap, ids, root, member, sign)


@njit
def heaps_rebuild(index, heap, used, sign):
    """Leave out the members that count nothing, before their entries are given to others."""
    heap.roots[:] = NOBODY
    heap.queued[:] = False
    for member in range(used):
        if index.counts[member] > 0:
            _put_in(heap, index.keys, np.int32(member), sign)


@njit
def running_least(
    group_index, index, heap, stamps, sign, entering, entering_values, entering_moments, leaving, leaving_moments
):
    """The least number (sign 1, the greatest: -1) of every group, whenever a moment changed it.

    Members are entries of (group, id). Gives the groups, the ids, 0 where nobody is left, and the moments.
    """
    most = entering.shape[0] + leaving.shape[0]
    touched = np.empty(most, np.int32)
    groups, ids, moments = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.int64)
    found = at = out = 0
    while at < entering.shape[0] or out < leaving.shape[0]:
        moment = _next_moment(entering_moments, at, leaving_moments, out)
        end, out_end = _moment_end(entering_moments, at, moment), _moment_end(leaving_moments, out, moment)
        count = 0
        for row in range(at, end):
            member = entering[row]
            group = index.keys[member, 0]
            if not heap.queued[member]:
                heap.values.kinds[member] = entering_values.kinds[row]
                heap.values.high[member] = entering_values.high[row]
                heap.values.low[member] = entering_values.low[row]
                heap.values.reals[member] = entering_values.reals[row]
                _put_in(heap, index.keys, member, sign)
            _count(index, member, 1)
            _count(group_index, group, 1)
            if stamps[group] != moment:
                stamps[group] = moment
                touched[count] = group
                count += 1
        for row in range(out, out_end):
            member = leaving[row]
            group = index.keys[member, 0]
            _count(index, member, -1)
            _count(group_index, group, -1)
            if stamps[group] != moment:
                stamps[group] = moment
                touched[count] = group
                count += 1
        for place in range(count):
            group = touched[place]
            root = heap.roots[group]
            while root != NOBODY and index.counts[root] == 0:
                root = _without_root(heap, index.keys, root, sign)
            heap.roots[group] = root
            best = index.keys[root, 1] if root != NOBODY else 0
            if best != heap.best[group]:
                heap.best[group] = best
                groups[found], ids[found], moments[found] = group, best, moment
                found += 1
        at, out = end, out_end
    return groups[:found], ids[:found], moments[:found]
