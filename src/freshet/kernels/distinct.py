"""DISTINCT after every moment of a batch of rows that come and go, in one call."""

import numpy as np

from freshet.kernels.index import IDLE, entries_of
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
def _changed(index, appeared, comes, vanished, goes):
    """The keys of the entries that appear, and behind them of those that vanish: a column of them a row of the result,
    as tables take them. And the moments.
    """
    width = index.keys.shape[1]
    columns, moments = np.empty((width, comes + goes), np.int64), np.empty(comes + goes, np.int64)
    for at in range(comes + goes):
        entry = appeared[0, at] if at < comes else vanished[0, at - comes]
        moments[at] = appeared[1, at] if at < comes else vanished[1, at - comes]
        for column in range(width):
            columns[column, at] = index.keys[entry, column]
    return columns, moments


@njit
def distinct_changes(index, stamps, rows, came_at, went_at):
    """Which rows begin to count at each moment, and which cease to (equations 4 and 5).

    `rows` are those that come, and behind them those that go. Gives the columns of the rows that appear, and behind
    them those that vanish, their moments, and how many appear. The index has room for what comes, `stamps` are the last
    moment of each entry.
    """
    came, went = came_at.shape[0], went_at.shape[0]
    entries, touched = entries_of(index, rows), np.empty(came + went, np.int32)
    before = np.empty(came + went, np.bool_)
    appeared, vanished = np.empty((2, came), np.int64), np.empty((2, went), np.int64)
    comes = goes = at = out = 0
    while at < came or out < went:
        moment = _next_moment(came_at, at, went_at, out)
        end, out_end = _moment_end(came_at, at, moment), _moment_end(went_at, out, moment)
        count = _touch(entries, at, end, stamps, moment, touched, 0)
        count = _touch(entries, came + out, came + out_end, stamps, moment, touched, count)
        for place in range(count):
            before[place] = index.counts[touched[place]] > 0
        for row in range(at, end):
            _count(index, entries[row], 1)
        for row in range(came + out, came + out_end):
            _count(index, entries[row], -1)
        for place in range(count):
            entry = touched[place]
            if index.counts[entry] > 0 and not before[place]:
                appeared[0, comes], appeared[1, comes] = entry, moment
                comes += 1
            elif index.counts[entry] == 0 and before[place]:
                vanished[0, goes], vanished[1, goes] = entry, moment
                goes += 1
        at, out = end, out_end
    columns, moments = _changed(index, appeared, comes, vanished, goes)
    return columns, moments, comes
