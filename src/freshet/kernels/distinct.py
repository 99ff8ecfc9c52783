"""DISTINCT after every moment of a batch of rows that come and go, in one call."""

import numpy as np

from freshet.kernels.index import IDLE, IndexArrays, entries_of
from freshet.kernels.jit import njit


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
def _rows(index, entries):
    """The keys of entries, one column a row of the result: columns are what tables take."""
    width = index.keys.shape[1]
    rows = np.empty((width, entries.shape[0]), np.int64)
    for at in range(entries.shape[0]):
        for column in range(width):
            rows[column, at] = index.keys[entries[at], column]
    return rows


@njit
def distinct_moments(counted, stamps, came, came_at, went, went_at):
    """The columns of the rows that appear, with their moments, and of those that vanish, with theirs.

    `counted` are the arrays of a one-way index with room for what comes, `stamps` the last moment of each entry.
    """
    index = IndexArrays(counted[0], counted[1], counted[2], counted[3], counted[4])
    comes, goes = entries_of(index, came), entries_of(index, went)
    appeared, appeared_at, vanished, vanished_at = running_distinct(index, stamps, comes, came_at, goes, went_at)
    return _rows(index, appeared), appeared_at, _rows(index, vanished), vanished_at
