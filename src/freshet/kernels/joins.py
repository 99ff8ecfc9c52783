"""Hash tables over rows of int64 keys: pairs of equal rows, which rows have an equal, and numbers for equal rows.

A key is a row of a two-dimensional array. All loops that can give out more than they are given stop when the room for
results is full and say where to go on, so that the caller can look up between.
"""

import numpy as np

from freshet.kernels.jit import njit

BEGIN = np.int64(-2)  # the place in a chain of a row that has not been looked at
_END = -1


@njit
def _slot(keys, row, mask):
    h = np.uint64(0x9E3779B97F4A7C15)
    for column in range(keys.shape[1]):
        h ^= np.uint64(keys[row, column])
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return np.int64(h & np.uint64(mask))


@njit
def _equal(left, left_row, right, right_row):
    for column in range(left.shape[1]):  # noqa: SIM110  Numba compiles the loop better than all()
        if left[left_row, column] != right[right_row, column]:
            return False
    return True


@njit
def empty_slots(rows):
    """A table with room for `rows` rows."""
    slots = 8
    while slots < 2 * rows:
        slots *= 2
    return np.full(slots, np.int32(_END), np.int32)


@njit
def build(keys):
    """Chains of the rows whose keys share a slot: where each chain starts, and what follows each row."""
    heads, following = empty_slots(keys.shape[0]), np.empty(keys.shape[0], np.int32)
    build_range(keys, 0, keys.shape[0], heads, following)
    return heads, following


@njit
def build_range(keys, first, end, heads, following):
    """Put some rows before those that are in the chains already."""
    for row in range(end - 1, first - 1, -1):
        slot = _slot(keys, row, heads.shape[0] - 1)
        following[row] = heads[slot]
        heads[slot] = row


@njit
def equal_pairs(keys, heads, following, others, row, place, found, other_rows):
    """Fill `found` and `other_rows` with pairs of rows of equal keys, from a row (and its place in a chain) on.

    Gives how many pairs there are, and the row and place to go on from; the end is a row past the last.
    """
    filled = 0
    mask = heads.shape[0] - 1
    while row < others.shape[0]:
        if place == BEGIN:
            place = np.int64(heads[_slot(others, row, mask)])
        while place >= 0:
            if _equal(keys, place, others, row):
                if filled == found.shape[0]:
                    return filled, row, place
                found[filled] = place
                other_rows[filled] = row
                filled += 1
            place = np.int64(following[place])
        row += 1
        place = BEGIN
    return filled, row, place


@njit
def have_equals(keys, heads, following, others):
    """Which of the other rows have a row of an equal key."""
    result = np.zeros(others.shape[0], np.bool_)
    mask = heads.shape[0] - 1
    for row in range(others.shape[0]):
        place = heads[_slot(others, row, mask)]
        while place >= 0:
            if _equal(keys, place, others, row):
                result[row] = True
                break
            place = following[place]
    return result


@njit
def number_rows(keys):
    """A number for each row, the same for equal rows, counted from 0 as they appear; and the first row of each."""
    table = empty_slots(keys.shape[0])
    numbers, firsts = np.empty(keys.shape[0], np.int64), np.empty(keys.shape[0], np.int64)
    count = number_range(keys, 0, keys.shape[0], table, numbers, firsts, 0)
    return numbers, firsts[:count].copy()


@njit
def number_range(keys, first, end, table, numbers, firsts, count):
    """Number some rows; those before them have `count` numbers. Gives how many there are then."""
    slots = table.shape[0]
    for row in range(first, end):
        slot = _slot(keys, row, slots - 1)
        while True:
            number = table[slot]
            if number < 0:
                table[slot] = count
                firsts[count] = row
                numbers[row] = count
                count += 1
                break
            if _equal(keys, firsts[number], keys, row):
                numbers[row] = number
                break
            slot = (slot + 1) & (slots - 1)
    return count


@njit
def reach(offsets, targets, starts, first, with_start, stamps, queue, start_numbers, nodes):
    """All nodes that can be reached from each start, each once, over the edges node -> targets[offsets[node]:...].

    `with_start` counts the way of no steps. `stamps` (zeros) and `queue` have a place for each node; `start_numbers`
    and `nodes` are filled, and have room for at least as many as there are nodes. Gives how many pairs there are, and
    the start to go on from.
    """
    filled = 0
    for number in range(first, starts.shape[0]):
        stamp = number + 1
        start = starts[number]
        reached = 0
        if with_start:
            stamps[start] = stamp
            queue[0] = start
            reached = 1
        else:
            for edge in range(offsets[start], offsets[start + 1]):
                if stamps[targets[edge]] != stamp:
                    stamps[targets[edge]] = stamp
                    queue[reached] = targets[edge]
                    reached += 1
        looked_at = 0
        while looked_at < reached:
            node = queue[looked_at]
            looked_at += 1
            for edge in range(offsets[node], offsets[node + 1]):
                if stamps[targets[edge]] != stamp:
                    stamps[targets[edge]] = stamp
                    queue[reached] = targets[edge]
                    reached += 1
        if filled + reached > nodes.shape[0]:
            for at in range(reached):  # this start is gone through again
                stamps[queue[at]] = 0
            return filled, number
        for at in range(reached):
            start_numbers[filled] = number
            nodes[filled] = queue[at]
            filled += 1
    return filled, starts.shape[0]
