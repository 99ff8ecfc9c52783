"""The stream index: which appended rows a stream's batches have, by key.

A batch has the rows first:last, and for each direction a small hash table of its keys, all tables of a stream in one
array. A slot is the number of a key's first row within the batch, plus one; the key itself stands in the row. From
there the key's chain leads on, until it leaves the batch. So a window's rows are found without walking what was stored
before, in the memory of a few numbers a row.

`batches` has one row for each batch: FIRST and LAST row, where in `slots` its tables begin (OUT, IN) and the MASK of
their size, and where in `times` its times begin (AT).
"""

import numpy as np

from freshet.kernels.adjacency import LOW, key_tag
from freshet.kernels.jit import njit

FIRST, LAST, OUT, IN, MASK, AT = range(6)
FIELDS = 6


@njit
def enter_batch(slots, start, mask, ends, nodes, first, last):
    """Enter the keys of a batch. `ends` has the nodes whose vertex is the key, `nodes` those of the key's chain."""
    for row in range(first, last):
        vertex, group = ends[row, 0], nodes[row, 1] >> 32
        at = key_tag(vertex, group) & mask
        while True:
            there = slots[start + at]
            if there == 0:
                slots[start + at] = row - first + 1
                break
            other = first + there - 1
            if ends[other, 0] == vertex and nodes[other, 1] >> 32 == group:
                break
            at = (at + 1) & mask


@njit
def _first_row(slots, start, mask, ends, nodes, first, key, group):
    at = key_tag(key, group) & mask
    while slots[start + at] != 0:
        row = first + slots[start + at] - 1
        if ends[row, 0] == key and nodes[row, 1] >> 32 == group:
            return np.int64(row)
        at = (at + 1) & mask
    return np.int64(-1)


@njit
def _longer(column, room):
    longer = np.empty(room, np.int64)
    longer[: column.size] = column
    return longer


@njit
def _within(batches, b, times, row, from_ms, to_ms):
    return from_ms <= times[batches[b, AT] + row - batches[b, FIRST]] < to_ms


@njit
def probe_window(slots, batches, tables, times, from_ms, to_ms, ends, nodes, keys, groups, every):
    """The rows of many keys that a window has: the numbers of the keys, and the rows.

    `tables` is OUT or IN. Groups are one for all keys or one for each; with `every` above 0 it is all groups below it.
    """
    room = max(16, 2 * keys.size)
    numbers, rows = np.empty(room, np.int64), np.empty(room, np.int64)
    end = 0
    for i in range(keys.size):
        low, high = np.int64(0), np.int64(every)
        if every == 0:
            low = groups[i if groups.size > 1 else 0]
            high = low + 1
        for group in range(low, high):
            if group < 0:
                continue
            for b in range(batches.shape[0]):
                first, last = batches[b, FIRST], batches[b, LAST]
                row = _first_row(slots, batches[b, tables], batches[b, MASK], ends, nodes, first, keys[i], group)
                while first <= row < last:
                    if _within(batches, b, times, row, from_ms, to_ms):
                        if end == room:
                            room *= 2
                            numbers, rows = _longer(numbers, room), _longer(rows, room)
                        numbers[end], rows[end] = i, row
                        end += 1
                    row = (nodes[row, 1] & LOW) - 1
    return numbers[:end], rows[:end]


@njit
def scan_window(batches, times, from_ms, to_ms, nodes, group):
    """The rows that a window has of a group, or of all groups where it is negative."""
    room = 0
    for b in range(batches.shape[0]):
        room += batches[b, LAST] - batches[b, FIRST]
    rows = np.empty(room, np.int64)
    end = 0
    for b in range(batches.shape[0]):
        for row in range(batches[b, FIRST], batches[b, LAST]):
            right = group < 0 or nodes[row, 1] >> 32 == group
            if right and _within(batches, b, times, row, from_ms, to_ms):
                rows[end] = row
                end += 1
    return rows[:end]


@njit
def rows_in_window(batches, times, from_ms, to_ms, rows):
    """Which rows a window has; negative ones are none."""
    result = np.zeros(rows.size, np.bool_)
    for i in range(rows.size):
        for b in range(batches.shape[0]):
            if batches[b, FIRST] <= rows[i] < batches[b, LAST] and _within(batches, b, times, rows[i], from_ms, to_ms):
                result[i] = True
    return result
