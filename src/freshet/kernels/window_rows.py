"""The stream index: which appended rows a stream's batches have, by key.

A batch has the rows first:last, at most MOST_ROWS, and for each direction a small hash table of its keys, all tables of
a stream in one array of 16-bit numbers. A slot is the number of a key's first row within the batch, plus one; the key
itself stands in the row. From there the key's chain leads on, until it leaves the batch. So a window's rows are found
without walking what was stored before, in the memory of a few bytes a row.

Times are kept as runs, one for each row whose time is another than that of the row before: how much later than the
batch's LEAST time it is, and the number of the row within the batch, in one word. They are looked at only where a batch
is not in a window as a whole.

`batches` has one row for each batch: FIRST and LAST row; where in `slots` its tables begin (TABLES; by subject, then by
object) and the SIZE of each; where in `runs` its runs begin (AT) and how many they are (RUNS); LEAST and GREATEST time.
"""

import numpy as np

from freshet.kernels.adjacency import LOW, key_tag
from freshet.kernels.growing import longer
from freshet.kernels.jit import njit

FIRST, LAST, TABLES, SIZE, AT, RUNS, LEAST, GREATEST = range(8)
FIELDS = 8
OUT, IN = 0, 1  # which of a batch's tables
MOST_ROWS = (1 << 16) - 1
_TAG_BITS = 31  # of a key
_ROW_BITS = 16  # of a run


@njit
def enter_batch(slots, start, size, ends, nodes, first, last):
    """Enter the keys of a batch. `ends` has the nodes whose vertex is the key, `nodes` those of the key's chain."""
    for row in range(first, last):
        vertex, group = ends[row, 0], nodes[row, 1] >> 32
        at = (key_tag(vertex, group) * size) >> _TAG_BITS
        while True:
            there = np.int64(slots[start + at])
            if there == 0:
                slots[start + at] = row - first + 1
                break
            other = first + there - 1
            if ends[other, 0] == vertex and nodes[other, 1] >> 32 == group:
                break
            at += 1
            if at == size:
                at = 0


@njit
def _first_row(slots, start, size, ends, nodes, first, key, group):
    at = (key_tag(key, group) * size) >> _TAG_BITS
    while True:
        there = np.int64(slots[start + at])
        if there == 0:
            return np.int64(-1)
        row = first + there - 1
        if ends[row, 0] == key and nodes[row, 1] >> 32 == group:
            return row
        at += 1
        if at == size:
            at = 0


@njit
def runs_of(times, least):
    """The times of a batch as runs."""
    runs = np.empty(times.size, np.int64)
    count = 0
    for row in range(times.size):
        if row == 0 or times[row] != times[row - 1]:
            runs[count] = (times[row] - least) << _ROW_BITS | row
            count += 1
    return runs[:count].copy()


@njit
def _run_of(batches, b, runs, row):
    """The run that a row of a batch is in."""
    low, high = batches[b, AT], batches[b, AT] + batches[b, RUNS]
    place = row - batches[b, FIRST]
    while high - low > 1:
        middle = (low + high) >> 1
        if runs[middle] & MOST_ROWS <= place:
            low = middle
        else:
            high = middle
    return low


@njit
def _within(batches, b, runs, row, from_ms, to_ms):
    if from_ms <= batches[b, LEAST] and batches[b, GREATEST] < to_ms:
        return True
    time_ms = batches[b, LEAST] + (runs[_run_of(batches, b, runs, row)] >> _ROW_BITS)
    return from_ms <= time_ms < to_ms


@njit
def probe_window(slots, batches, table, runs, from_ms, to_ms, ends, nodes, keys, groups, every):
    """The rows of many keys that a window has: the numbers of the keys, and the rows.

    `table` is OUT or IN. Groups are one for all keys or one for each; with `every` above 0 it is all groups below it.
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
                first, last, size = batches[b, FIRST], batches[b, LAST], batches[b, SIZE]
                start = batches[b, TABLES] + table * size
                row = _first_row(slots, start, size, ends, nodes, first, keys[i], group)
                while first <= row < last:
                    if _within(batches, b, runs, row, from_ms, to_ms):
                        if end == room:
                            room *= 2
                            numbers, rows = longer(numbers, room), longer(rows, room)
                        numbers[end], rows[end] = i, row
                        end += 1
                    row = (nodes[row, 1] & LOW) - 1
    return numbers[:end], rows[:end]


@njit
def scan_window(batches, runs, from_ms, to_ms, nodes, group):
    """The rows that a window has of a group, or of all groups where it is negative."""
    room = 0
    for b in range(batches.shape[0]):
        room += batches[b, LAST] - batches[b, FIRST]
    rows = np.empty(room, np.int64)
    end = 0
    for b in range(batches.shape[0]):
        first = batches[b, FIRST]
        for run in range(batches[b, AT], batches[b, AT] + batches[b, RUNS]):
            time_ms = batches[b, LEAST] + (runs[run] >> _ROW_BITS)
            if not from_ms <= time_ms < to_ms:
                continue
            last = batches[b, LAST]
            if run + 1 < batches[b, AT] + batches[b, RUNS]:
                last = first + (runs[run + 1] & MOST_ROWS)
            for row in range(first + (runs[run] & MOST_ROWS), last):
                if group < 0 or nodes[row, 1] >> 32 == group:
                    rows[end] = row
                    end += 1
    return rows[:end]


@njit
def rows_in_window(batches, runs, from_ms, to_ms, rows):
    """Which rows a window has; negative ones are none."""
    result = np.zeros(rows.size, np.bool_)
    for i in range(rows.size):
        for b in range(batches.shape[0]):
            if batches[b, FIRST] <= rows[i] < batches[b, LAST] and _within(batches, b, runs, rows[i], from_ms, to_ms):
                result[i] = True
    return result
