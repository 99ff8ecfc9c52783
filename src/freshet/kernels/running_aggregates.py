"""Aggregates after every change point of a batch (`freshet.kernels.group_events` says what that is).

Each kernel takes the events one after the other, changes the state of their groups, and puts out what the state comes
to where an event completes a change point. A group that is not there, as it has no rows, is not looked at.
"""

import numpy as np

from freshet.kernels.group_events import COUNT, GROUP, POINT, ROW, SIGN
from freshet.kernels.groups import add_integer, add_number, total
from freshet.kernels.heaps import heap_add, heap_remove
from freshet.kernels.index import BLOCK, IDLE, _entry_or_new, _look_up
from freshet.kernels.jit import leaf, njit
from freshet.kernels.layout import INTEGER, inline_type, inline_value, pack
from freshet.kernels.members import GREATEST_LINKS, ID, LEAST_LINKS, NIL, SCRATCH, write_member
from freshet.kernels.numbers import inline_number_id
from freshet.kernels.prefetch import fetch_rows
from freshet.kernels.values import NOTHING, UNKNOWN, value_of

# Rows of what `running_members` puts out.
DISTINCT_COUNT = 0
MIN = 1
MAX = 2
SAMPLE = 3
MEMBER_RESULTS = 4

# What `running_totals` is asked for; both together are 3.
SUM = 1
AVG = 2


@leaf
def _is_there(points, point, keyless):
    return keyless or points[point, COUNT] > 0


@njit
def running_counts(counts, events, points, ids):
    """Ids of how many rows with a term each group has."""
    results = np.empty(points.shape[0], np.int64)
    for event in range(events.shape[0]):
        group, point, sign = events[event, GROUP], events[event, POINT], events[event, SIGN]
        if sign != 0 and ids[events[event, ROW]] != 0:
            counts[group] += sign
        if point >= 0:
            results[point] = pack(INTEGER, counts[group])
    return results


@leaf
def _are_inline(ids):
    """Whether no term is of the dictionary."""
    others = 0
    for row in range(ids.size):
        others += ids[row] > 0
    return others == 0


@njit
def _values_known(table, events, first, stop, ids, signs):
    """Whether the table has the values of all terms that come, and with `signs` of those that go."""
    if _are_inline(ids):
        return True
    known_ids, kinds, high, low, reals = table
    for event in range(first, stop):
        if events[event, SIGN] > 0 or (signs and events[event, SIGN] < 0):
            term_id = ids[events[event, ROW]]
            if term_id > 0 and value_of(known_ids, kinds, high, low, reals, term_id)[0] == UNKNOWN:
                return False
    return True


@njit
def running_totals(sums, table, events, points, signs, ids, wanted, keyless):
    """Ids of SUM and AVG of each group, as far as these are inline; where not, the numbers; and how many these are.

    A number is kind, high, low and real as whole numbers, the kind is NOTHING where there is an id, or an error.
    `signs` says of each event what becomes of its term, or is empty: then it enters and leaves with its row. The last
    result is -1, and nothing is done, where the table does not have all values.
    """
    outputs = (wanted & SUM) + (wanted >> 1)
    found = np.zeros((outputs, points.shape[0]), np.int64)
    numbers = np.zeros((outputs, points.shape[0], 4), np.int64)
    if not _values_known(table, events, 0, events.shape[0], ids, True):
        return found, numbers, -1
    known_ids, kinds, highs, lows, reals = table
    others = 0
    for event in range(events.shape[0]):
        group, point = events[event, GROUP], events[event, POINT]
        sign = events[event, SIGN] if signs.size == 0 else signs[event]
        term_id = ids[events[event, ROW]] if sign != 0 else 0
        if inline_type(term_id) == INTEGER:
            add_integer(sums, group, inline_value(term_id), sign)
        elif sign != 0:
            kind, high, low, real = value_of(known_ids, kinds, highs, lows, reals, term_id)
            add_number(sums, group, kind, high, low, real, sign)
        if point < 0 or not _is_there(points, point, keyless):
            continue
        for output in range(outputs):
            kind, high, low, real = total(sums, group, output > 0 or wanted == AVG)
            term_id = inline_number_id(kind, high, low, real)
            found[output, point] = term_id
            if term_id == 0 and kind != NOTHING:
                numbers[output, point, 0] = kind
                numbers[output, point, 1] = high
                numbers[output, point, 2] = np.int64(low)
                numbers[output, point, 3] = np.float64(real).view(np.int64)
                others += 1
    return found, numbers, others


@leaf
def count_entry(index, entry, sign):
    """Count an entry up or down: 1 where it begins to count, -1 where it ceases to, 0 otherwise."""
    before = index.counts[entry]
    after = before + sign
    index.counts[entry] = after
    if before == 0:
        index.sizes[IDLE] -= 1
        return 1
    if after == 0:
        index.sizes[IDLE] += 1
        return -1
    return 0


@leaf
def _entries_of(index, keys, count, tags, found):
    """The entries of a block of keys, made where there are none; counters are left as they are."""
    _look_up(index, keys, 0, count, tags, found)
    fetch_rows(index.counts, found, count)
    for at in range(count):
        if found[at] < 0:
            found[at] = _entry_or_new(index, keys, at, tags[at], found[at])


@leaf
def _pair_keys(keys, events, ids, first, count):
    """The group and the term of some events."""
    for at in range(count):
        event = first + at
        keys[at, 0] = events[event, GROUP]
        keys[at, 1] = ids[events[event, ROW]] if events[event, SIGN] != 0 else 0


@njit
def pair_entries(index, events, first, stop, ids):
    """The entries of the groups and terms of events from `first` to `stop`, made where there are none."""
    entries = np.empty(stop - first, np.int32)
    keys = np.empty((BLOCK, 2), np.int64)
    tags, found = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for start in range(first, stop, BLOCK):
        count = min(BLOCK, stop - start)
        _pair_keys(keys, events, ids, start, count)
        _entries_of(index, keys, count, tags, found)
        for at in range(count):
            entries[start - first + at] = found[at]
    return entries


@njit
def running_rows(index, counts, events, first, stop, rows, results):
    """Ids of how many distinct rows each group has, for events from `first` to `stop`; False where one never came.

    The index is by the group and the row; it has room for as many entries as there are events.
    """
    width = rows.shape[1]
    keys = np.empty((BLOCK, 1 + width), np.int64)
    tags, found = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    sound = True
    for start in range(first, stop, BLOCK):
        count = min(BLOCK, stop - start)
        for at in range(count):
            row = events[start + at, ROW] if events[start + at, SIGN] != 0 else -1
            keys[at, 0] = events[start + at, GROUP]
            for column in range(width):
                keys[at, 1 + column] = rows[row, column] if row >= 0 else 0
        _entries_of(index, keys, count, tags, found)
        for at in range(count):
            event = start + at
            group, point, sign = events[event, GROUP], events[event, POINT], events[event, SIGN]
            if sign != 0:
                counts[group] += count_entry(index, found[at], sign)
                sound &= index.counts[found[at]] >= 0
            if point >= 0:
                results[point] = pack(INTEGER, counts[group])
    return sound


@njit
def running_members(index, members, table, dictionary, events, first, stop, ids, least, greatest, signs, results):
    """DISTINCT_COUNT, MIN, MAX and SAMPLE as ids, for events from `first` to `stop`.

    `signs` gets, for each event, 1 where its term is new in the group, -1 where it is there no longer. Gives 1; 0 where
    a term leaves that never came; -1, and nothing is done, where the table does not have all values. The index is by
    group and id, and it and `members` have room for as many entries as there are events.
    """
    if not _values_known(table, events, first, stop, ids, False):
        return -1
    known_ids, kinds, highs, lows, reals = table
    words, halves, counts, missing, roots = members
    texts = dictionary, np.empty(SCRATCH, np.uint8)
    keys = np.empty((BLOCK, 2), np.int64)
    tags, found = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    sound = True
    for start in range(first, stop, BLOCK):
        count = min(BLOCK, stop - start)
        _pair_keys(keys, events, ids, start, count)
        _entries_of(index, keys, count, tags, found)
        fetch_rows(words, found, count)
        for at in range(count):
            event, entry, group, term_id = start + at, found[at], keys[at, 0], keys[at, 1]
            point, sign = events[event, POINT], events[event, SIGN]
            change = count_entry(index, entry, sign) if sign != 0 else 0
            sound &= index.counts[entry] >= 0
            signs[event] = change
            if change != 0 and term_id == 0:
                missing[group] = change > 0
            elif change > 0:
                kind, high, low, real = value_of(known_ids, kinds, highs, lows, reals, term_id)
                write_member(words, halves, entry, term_id, np.int64(kind), high, low, real)
                counts[group] += 1
                if least:
                    roots[group, 0] = heap_add(words, halves, texts, LEAST_LINKS, roots[group, 0], entry)
                if greatest:
                    roots[group, 1] = heap_add(words, halves, texts, GREATEST_LINKS, roots[group, 1], entry)
            elif change < 0:
                counts[group] -= 1
                if least:
                    roots[group, 0] = heap_remove(words, halves, texts, LEAST_LINKS, roots[group, 0], entry)
                if greatest:
                    roots[group, 1] = heap_remove(words, halves, texts, GREATEST_LINKS, roots[group, 1], entry)
            if point >= 0:
                results[DISTINCT_COUNT, point] = pack(INTEGER, counts[group])
                results[SAMPLE, point] = words[roots[group, 0], ID] if roots[group, 0] != NIL else 0
                results[MIN, point] = 0 if missing[group] else results[SAMPLE, point]
                if greatest:
                    there = roots[group, 1] != NIL and not missing[group]
                    results[MAX, point] = words[roots[group, 1], ID] if there else 0
    return 1 if sound else 0
