"""Rows that come to groups and go from them, in order of moments, and what that changes in the rows of the groups.

An event is one row that comes or goes. A change point is a group at a moment of a batch that changed it: what counts is
how the group stands after the last of its events at that moment. So aggregates take events one after the other, and
put out the state of a group where an event says that it completes a change point.
"""

import numpy as np

from freshet.kernels.index import index_add, index_find, index_release
from freshet.kernels.jit import leaf, njit

# Columns of events (int32).
ROW = 0  # among the rows that came, and behind those the rows that went
SIGN = 1  # 1 where the row comes, -1 where it goes, 0 where nothing does: a group without keys begins
GROUP = 2
POINT = 3  # the number of the change point that the event completes, or -1
EVENT_WIDTH = 4

# Columns of change points (int64), which are in order of moments.
POINT_GROUP = 0
MOMENT = 1
COUNT = 2  # how many rows the group has
POINT_WIDTH = 3


# Columns of marks (int64), one row a group.
ROWS = 0  # how many rows it has
LATEST = 1  # the number of its latest event in some batch
MARK_WIDTH = 2

# Columns of what was reported (int64), one row a group; behind it the ids of its aggregates.
REPORTED = 0  # 1 where its row has come and has not gone
RESULTS = 1


@njit
def group_events(index, marks, keys, came_at, went_at, due, opening, first):
    """Events and change points of rows by the keys of their groups: those that came, then those that went.

    See `order_events`. The index must have room for a key of every row that came.
    """
    came = came_at.size
    entries = np.empty(keys.shape[0], np.int32)
    if came > 0:
        found, _ = index_add(index, keys[:came])
        _copy(found, entries, 0)
    if came < keys.shape[0]:
        _copy(index_find(index, keys[came:]), entries, came)
    return order_events(index, marks, entries, came_at, went_at, due, opening, first)


@leaf
def _copy(found, entries, first):
    """Compiles much faster than assigning a slice."""
    for at in range(found.size):
        entries[first + at] = found[at]


@njit
def order_events(index, marks, entries, came_at, went_at, due, opening, first):
    """Events in order of moments, their change points, and whether every row that goes had come.

    At one moment rows come before others go. A group is read at the moments `due` only: what happens before one
    of them counts as happening at it; behind the last of them moments are as they are. With `opening`, the only group
    begins at moment `first`, with or without rows.
    """
    came, went = came_at.size, went_at.size
    if not opening and _is_one_moment(came_at, went_at, due):
        return _events_of_moment(index, marks, entries, came, due[0])
    events = np.empty((came + went + opening, EVENT_WIDTH), np.int32)
    moments = np.empty(events.shape[0], np.int64)
    after = np.empty(events.shape[0], np.int64)
    sound = True
    for row in range(came, entries.size):
        sound &= entries[row] >= 0
    if not sound:
        return events[:0], np.empty((0, POINT_WIDTH), np.int64), False
    at = out = look = found = points = 0
    if opening:
        events[0, ROW] = events[0, SIGN] = events[0, GROUP] = events[0, POINT] = 0
        moments[0], after[0], marks[0, LATEST] = first, 0, 0
        found = points = 1
    while at < came or out < went:
        if out == went or (at < came and came_at[at] <= went_at[out]):
            row, sign, moment = at, 1, came_at[at]
            at += 1
        else:
            row, sign, moment = came + out, -1, went_at[out]
            out += 1
        while look < due.size and due[look] < moment:
            look += 1
        if look < due.size:
            moment = due[look]
        group = entries[row]
        marks[group, ROWS] += sign
        sound &= marks[group, ROWS] >= 0
        before = marks[group, LATEST]  # perhaps of another batch, or of another group that had this number
        if 0 <= before < found and events[before, GROUP] == group and moments[before] == moment:
            events[before, POINT] = -1
            points -= 1
        marks[group, LATEST] = found
        events[found, ROW], events[found, SIGN], events[found, GROUP], events[found, POINT] = row, sign, group, 0
        moments[found], after[found] = moment, marks[group, ROWS]
        points += 1
        found += 1
    if went > 0:
        index_release(index, entries[came:])
    return events, _number_points(events, moments, after, points), sound


@leaf
def _is_one_moment(came_at, went_at, due):
    """Whether all counts as happening at the first moment at which groups are read, and what comes stands first."""
    came, went = came_at.size, went_at.size
    if due.size == 0 or came + went == 0:
        return False
    if came > 0 and (came_at[came - 1] > due[0] or (went > 0 and came_at[came - 1] > went_at[0])):
        return False
    return went == 0 or went_at[went - 1] <= due[0]


@njit
def _events_of_moment(index, marks, entries, came, moment):
    """The same where all events are of one moment: the last event of a group completes its change point."""
    events = np.empty((entries.size, EVENT_WIDTH), np.int32)
    sound = True
    for row in range(entries.size):
        group = entries[row]
        if group < 0:
            return events[:0], np.empty((0, POINT_WIDTH), np.int64), False
        sign = 1 if row < came else -1
        events[row, ROW], events[row, SIGN], events[row, GROUP] = row, sign, group
        marks[group, ROWS] += sign
        marks[group, LATEST] = row
        sound &= marks[group, ROWS] >= 0
    points = np.empty((min(entries.size, marks.shape[0]), POINT_WIDTH), np.int64)
    found = 0
    for row in range(entries.size):
        group, point = entries[row], np.int32(-1)
        if marks[group, LATEST] == row:
            points[found, POINT_GROUP], points[found, MOMENT], points[found, COUNT] = group, moment, marks[group, ROWS]
            point = np.int32(found)
            found += 1
        events[row, POINT] = point
    if came < entries.size:
        index_release(index, entries[came:])
    return events, points[:found], sound


@njit
def _number_points(events, moments, after, count):
    points = np.empty((count, POINT_WIDTH), np.int64)
    found = 0
    for event in range(events.shape[0]):
        if events[event, POINT] >= 0:
            events[event, POINT] = found
            points[found, POINT_GROUP] = events[event, GROUP]
            points[found, MOMENT] = moments[event]
            points[found, COUNT] = after[event]
            found += 1
    return points


@njit
def report_changes(reported, keys, points, results, keyless):
    """The rows of groups that come and those that go, and how many of each.

    `results` has a row for each aggregate and a column for each change point. Rows are put out as columns, too: the
    moment, then the keys, then the aggregates. A group whose row stays the same is passed over.
    """
    width, aggregates = keys.shape[1], results.shape[0]
    changed = np.empty((2, 1 + width + aggregates, points.shape[0]), np.int64)
    comes = goes = 0
    for point in range(points.shape[0]):
        group = points[point, POINT_GROUP]
        before, now = reported[group, REPORTED] != 0, keyless or points[point, COUNT] > 0
        differs = before != now
        if now and not differs:
            for column in range(aggregates):
                differs |= results[column, point] != reported[group, RESULTS + column]
        if not differs:
            continue
        if before:
            changed[1, 0, goes] = points[point, MOMENT]
            for column in range(width):
                changed[1, 1 + column, goes] = keys[group, column]
            for column in range(aggregates):
                changed[1, 1 + width + column, goes] = reported[group, RESULTS + column]
            goes += 1
        if now:
            changed[0, 0, comes] = points[point, MOMENT]
            for column in range(width):
                changed[0, 1 + column, comes] = keys[group, column]
            for column in range(aggregates):
                term_id = results[column, point]
                changed[0, 1 + width + column, comes] = reported[group, RESULTS + column] = term_id
            comes += 1
        reported[group, REPORTED] = now
    return changed, comes, goes
