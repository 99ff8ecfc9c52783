"""Look-up in sorted triples: a directory from key to the rows that have it, and what fetches those rows.

A directory is a row of hash tables, one for each group of rows (the triples of a predicate), in one array. A slot is
two words: the key, or 0 where the slot is free, and `start << 32 | count` of the key's rows (there are fewer than
2**31). A table begins at `firsts[group]` and has `2 ** (64 - shifts[group])` slots; a key begins its search where the
highest bits of its product with an odd number say. A key that is not there ends at a free slot, which says zero rows.

Most of the time goes into waiting for memory. So keys go in blocks, and one loop does one kind of access for the whole
block: the waits overlap.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.growing import longer
from freshet.kernels.jit import njit

BLOCK = 64
SPREAD = np.uint64(0x9E3779B97F4A7C15)
_COUNT_MASK = np.int64(0xFFFFFFFF)


class Directory(NamedTuple):
    """Key -> range of rows, within each group."""

    slots: np.ndarray  # int64, two words a slot
    firsts: np.ndarray  # int64, one a group: the index in `slots` of its table
    shifts: np.ndarray  # int64, one a group: 64 less the bits of its table's size


@njit
def first_place(first, shift, key):
    return first + (np.int64((np.uint64(key) * SPREAD) >> np.uint64(shift)) << 1)


@njit
def search(slots, first, shift, at, key):
    """The range of a key, sought from the index `at` on: `start << 32 | count`, or 0."""
    stop = first + (np.int64(2) << (64 - shift))
    while slots[at] != key and slots[at] != 0:
        at += 2
        if at == stop:
            at = first
    return slots[at + 1]


@njit
def count_keys(keys, bounds):
    """How many different keys each group of rows has: rows bounds[g]:bounds[g + 1], equal keys side by side."""
    counts = np.zeros(bounds.size - 1, np.int64)
    for group in range(counts.size):
        for row in range(bounds[group], bounds[group + 1]):
            if row == bounds[group] or keys[row] != keys[row - 1]:
                counts[group] += 1
    return counts


@njit
def fill_directory(slots, firsts, shifts, keys, bounds):
    """Enters the range of every key in tables that are empty and large enough to keep some slots free."""
    for group in range(firsts.size):
        first, shift = firsts[group], shifts[group]
        stop = first + (np.int64(2) << (64 - shift))
        row = bounds[group]
        while row < bounds[group + 1]:
            start = row
            key = keys[start]
            while row < bounds[group + 1] and keys[row] == key:
                row += 1
            at = first_place(first, shift, key)
            while slots[at] != 0:
                at += 2
                if at == stop:
                    at = first
            slots[at] = key
            slots[at + 1] = start << 32 | (row - start)


@njit
def find_range(slots, first, shift, key):
    """The range of one key in the table of its group, as `start << 32 | count`."""
    return search(slots, first, shift, first_place(first, shift, key), key)


@njit
def find_ranges(slots, first, shift, keys):
    """The ranges of many keys of one group, and how many rows they have together."""
    ranges = np.empty(keys.size, np.int64)
    places = np.empty(BLOCK, np.int64)
    seen = np.empty(BLOCK, np.int64)
    total = np.int64(0)
    for begin in range(0, keys.size, BLOCK):
        size = min(BLOCK, keys.size - begin)
        for i in range(size):
            places[i] = first_place(first, shift, keys[begin + i])
            seen[i] = slots[places[i]]
        for i in range(size):
            key = keys[begin + i]
            found = slots[places[i] + 1] if seen[i] == key else search(slots, first, shift, places[i], key)
            ranges[begin + i] = found
            total += found & _COUNT_MASK
    return ranges, total


@njit
def find_grouped_ranges(slots, firsts, shifts, groups, keys):
    """The ranges of keys that belong each to its own group, and how many rows they have together; group -1 has none."""
    ranges = np.zeros(keys.size, np.int64)
    total = np.int64(0)
    for i in range(keys.size):
        group = groups[i]
        if group >= 0:
            ranges[i] = find_range(slots, firsts[group], shifts[group], keys[i])
            total += ranges[i] & _COUNT_MASK
    return ranges, total


@njit
def find_in_every_group(slots, firsts, shifts, keys):
    """Where many keys stand, whatever the group: the number of the key, the group and the range, key by key."""
    room = max(16, 2 * keys.size)
    numbers = np.empty(room, np.int64)
    groups = np.empty(room, np.int64)
    ranges = np.empty(room, np.int64)
    end = 0
    for i in range(keys.size):
        if end + firsts.size > room:
            room = max(2 * room, end + firsts.size)
            numbers, groups, ranges = longer(numbers, room), longer(groups, room), longer(ranges, room)
        for group in range(firsts.size):
            found = find_range(slots, firsts[group], shifts[group], keys[i])
            if found != 0:
                numbers[end] = i
                groups[end] = group
                ranges[end] = found
                end += 1
    return numbers[:end], groups[:end], ranges[:end]


@njit
def match_in_every_group(slots, firsts, shifts, seconds, predicates, key):
    """All rows of one key, whatever the group: the keys, their second places and their predicates, in one call."""
    total = np.int64(0)
    ranges = np.empty(firsts.size, np.int64)
    for group in range(firsts.size):
        ranges[group] = find_range(slots, firsts[group], shifts[group], key)
        total += ranges[group] & _COUNT_MASK
    keys_out = np.empty(total, np.int64)
    seconds_out = np.empty(total, np.int64)
    predicates_out = np.empty(total, np.int64)
    end = 0
    for group in range(firsts.size):
        start = ranges[group] >> 32
        for row in range(start, start + (ranges[group] & _COUNT_MASK)):
            keys_out[end] = key
            seconds_out[end] = seconds[row]
            predicates_out[end] = predicates[group]
            end += 1
    return keys_out, seconds_out, predicates_out


@njit
def scatter_groups(groups, starts, keys, seconds):
    """The columns with the rows of each group side by side; group g begins at starts[g], in the order of the rows."""
    ends = starts.copy()
    keys_out = np.empty(keys.size, np.int64)
    seconds_out = np.empty(keys.size, np.int64)
    for row in range(keys.size):
        at = ends[groups[row]]
        ends[groups[row]] = at + 1
        keys_out[at] = keys[row]
        seconds_out[at] = seconds[row]
    return keys_out, seconds_out


@njit
def merge_groups(bounds, keys, seconds, more_bounds, more_keys, more_seconds):
    """The rows of two sorted sets that have none in common as one, in the same order.

    Both have the same groups, of which some may be empty.
    """
    keys_out = np.empty(keys.size + more_keys.size, np.int64)
    seconds_out = np.empty(keys_out.size, np.int64)
    end = 0
    for group in range(bounds.size - 1):
        i, j = bounds[group], more_bounds[group]
        while i < bounds[group + 1] or j < more_bounds[group + 1]:
            first = j == more_bounds[group + 1]
            if not first and i < bounds[group + 1]:
                first = keys[i] < more_keys[j] or (keys[i] == more_keys[j] and seconds[i] < more_seconds[j])
            if first:
                keys_out[end], seconds_out[end] = keys[i], seconds[i]
                i += 1
            else:
                keys_out[end], seconds_out[end] = more_keys[j], more_seconds[j]
                j += 1
            end += 1
    return keys_out, seconds_out


@njit
def _first_not_below(column, start, stop, wanted):
    while start < stop:
        middle = (start + stop) >> 1
        if column[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@njit
def _first_above(column, start, stop, wanted):
    while start < stop:
        middle = (start + stop) >> 1
        if column[middle] <= wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@njit
def narrow_range(seconds, found, second):
    """The part of a range whose second place, by which it is sorted, holds a term."""
    start = found >> 32
    stop = start + (found & _COUNT_MASK)
    start = _first_not_below(seconds, start, stop, second)
    if start == stop or seconds[start] != second:
        return np.int64(0)
    if start + 1 < stop and seconds[start + 1] == second:
        stop = _first_above(seconds, start + 1, stop, second)
    else:
        stop = start + 1
    return start << 32 | (stop - start)


@njit
def narrow_ranges(seconds, ranges, wanted):
    """Makes each range the part whose second place holds its term; `wanted` has one term for all, or one for each."""
    each = wanted.size != 1
    heads = np.empty(BLOCK, np.int64)
    total = np.int64(0)
    for begin in range(0, ranges.size, BLOCK):
        size = min(BLOCK, ranges.size - begin)
        for i in range(size):
            found = ranges[begin + i]
            heads[i] = seconds[found >> 32] if found != 0 else 0
        for i in range(size):
            found = ranges[begin + i]
            second = wanted[begin + i] if each else wanted[0]
            if found & _COUNT_MASK == 1:
                if heads[i] != second:
                    found = 0
            elif found != 0:
                found = narrow_range(seconds, found, second)
            ranges[begin + i] = found
            total += found & _COUNT_MASK
    return total


@njit
def spread(ranges, total, keys, seconds):
    """The rows of the ranges, one after another: the number of the range, its key, and the row's second place."""
    numbers = np.empty(total, np.int64)
    keys_out = np.empty(total, np.int64)
    seconds_out = np.empty(total, np.int64)
    heads = np.empty(BLOCK, np.int64)
    end = 0
    for begin in range(0, ranges.size, BLOCK):
        size = min(BLOCK, ranges.size - begin)
        for i in range(size):
            found = ranges[begin + i]
            heads[i] = seconds[found >> 32] if found != 0 else 0
        for i in range(size):
            found = ranges[begin + i]
            count = found & _COUNT_MASK
            if count == 0:
                continue
            start = found >> 32
            key = keys[begin + i]
            numbers[end] = begin + i
            keys_out[end] = key
            seconds_out[end] = heads[i]
            end += 1
            for row in range(start + 1, start + count):
                numbers[end] = begin + i
                keys_out[end] = key
                seconds_out[end] = seconds[row]
                end += 1
    return numbers, keys_out, seconds_out


@njit
def spread_rows(ranges, total):
    """The rows of the ranges, one after another: the number of the range, and the row."""
    numbers = np.empty(total, np.int64)
    rows = np.empty(total, np.int64)
    end = 0
    for number in range(ranges.size):
        start = ranges[number] >> 32
        for row in range(start, start + (ranges[number] & _COUNT_MASK)):
            numbers[end] = number
            rows[end] = row
            end += 1
    return numbers, rows


@njit
def probe_keys(slots, first, shift, seconds, keys, wanted, predicate):
    """All rows of many keys of one group, as `spread` gives them, with the predicate: in one call, as most are short.

    `wanted` has what the second place must hold: nothing, one term for all keys, or one for each.
    """
    ranges, total = find_ranges(slots, first, shift, keys)
    if wanted.size > 0 and total > 0:
        total = narrow_ranges(seconds, ranges, wanted)
    numbers, keys_out, seconds_out = spread(ranges, total, keys, seconds)
    predicates_out = np.empty(total, np.int64)
    predicates_out[:] = predicate
    return numbers, keys_out, seconds_out, predicates_out
