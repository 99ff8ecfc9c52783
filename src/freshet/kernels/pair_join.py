"""A step of the join of two inputs in one call: what went through pointers, what came through the ring indexes.

For a step of a few rows a call costs more than what it does, and an array that is handed back more than several that
are handed in. So this writes the values that are asked for, not pointers to them, into arrays that the caller has, and
takes plain tuples (see `freshet.kernels.leaf`): `left` and `right` are the values, birth steps and key columns of an
input and a tuple of the arrays of its ring index on these columns; `left_moved` and `right_moved` are its fresh and its
dead rows; `kept` is PointerArrays.
"""

import numpy as np

from freshet.kernels.index import EVERY_STEP, IndexArrays, RingArrays, ring_probe
from freshet.kernels.jit import leaf, njit
from freshet.kernels.pointers import FREE, LIVE, USED, PointerArrays, pointers_add, pointers_invalidate

# Places in `left` and `right`.
VALUES = 0
BORN = 1
COLUMNS = 2
RING = 3

# Places in `left_moved` and `right_moved`.
FRESH = 0
DEAD = 1


@njit
def _matches(rows, values, columns, probed, before, place):
    """Pointers to each row of one input, in column `place`, and the rows of the other that it finds."""
    keys = np.empty((rows.shape[0], columns.shape[0]), np.int64)
    for at in range(rows.shape[0]):
        for column in range(columns.shape[0]):
            keys[at, column] = values[rows[at], columns[column]]
    ring = probed[RING]
    index = IndexArrays(ring[0], ring[1], ring[2], ring[3], ring[4])
    lefts, found = ring_probe(index, RingArrays(ring[5], ring[6], ring[7]), keys, probed[BORN], before)
    pointers = np.empty((found.shape[0], 2), np.int32)
    for at in range(found.shape[0]):
        pointers[at, place] = rows[lefts[at]]
        pointers[at, 1 - place] = found[at]
    return pointers


@njit
def _fill(rows, first, pointers, left_values, right_values, homes):
    """Values of results: a column for each row (input, column) of `homes`. Says where they end."""
    for at in range(pointers.shape[0]):
        for column in range(homes.shape[0]):
            if homes[column, 0] == 0:
                rows[first + at, column] = left_values[pointers[at, 0], homes[column, 1]]
            else:
                rows[first + at, column] = right_values[pointers[at, 1], homes[column, 1]]
    return first + pointers.shape[0]


@njit
def _dependent(results, side, rows):
    """How many results point to some rows of one side."""
    count = 0
    for row in rows:
        if row < results.heads.shape[1]:
            slot = results.heads[side, row]
            while slot >= 0:
                count += 1
                slot = results.older[side, slot]
    return count


@njit
def lacks_room(results, sides, left_rows, right_rows, more):
    """Whether the arrays of results are too short for more of them, with inputs of so many rows."""
    if more == 0:
        return False
    rows = max(left_rows if sides > 0 else 0, right_rows if sides > 1 else 0)
    return rows > results.heads.shape[1] or results.sizes[USED] - results.sizes[FREE] + more > results.alive.shape[0]


@njit
def pair_step(left, left_moved, right, right_moved, kept, homes, since, came, went):
    """Write down what came and what went since a step, as rows with a column for each (input, column) of `homes`.

    Gives how many rows came and how many went. Where the arrays are too short nothing is done; then the last number
    says how many rows there must be room for. A result of two new rows is found from the second input, since the new
    rows of the first see only what was there before.
    """
    results = PointerArrays(kept[0], kept[1], kept[2], kept[3], kept[4], kept[5], kept[6])
    sides = results.heads.shape[0]  # those whose rows can go
    from_left = from_right = np.empty((0, 2), np.int32)
    if left_moved[FRESH].shape[0] > 0:
        from_left = _matches(left_moved[FRESH], left[VALUES], left[COLUMNS], right, since + 1, 0)
    if right_moved[FRESH].shape[0] > 0:
        from_right = _matches(right_moved[FRESH], right[VALUES], right[COLUMNS], left, EVERY_STEP, 1)
    coming, going = from_left.shape[0] + from_right.shape[0], results.sizes[LIVE]
    if going > went.shape[0]:
        going = _dependent(results, 0, left_moved[DEAD]) if sides > 0 else 0
        going += _dependent(results, 1, right_moved[DEAD]) if sides > 1 else 0
    if (
        coming > came.shape[0]
        or going > went.shape[0]
        or lacks_room(results, sides, left[VALUES].shape[0], right[VALUES].shape[0], coming)
    ):
        return 0, 0, max(coming, going)
    gone = 0
    for side in range(sides):
        dead = left_moved[DEAD] if side == 0 else right_moved[DEAD]
        if dead.shape[0] > 0:
            dropped = pointers_invalidate(results, side, dead)
            gone = _fill(went, gone, dropped, left[VALUES], right[VALUES], homes)
    first = _fill(came, 0, from_left, left[VALUES], right[VALUES], homes)
    _fill(came, first, from_right, left[VALUES], right[VALUES], homes)
    if coming > 0:
        pointers_add(results, from_left)
        pointers_add(results, from_right)
    return coming, gone, 0


@leaf
def pair_values(kept, left_values, right_values, homes, rows):
    """Write down the values of all results."""
    results = PointerArrays(kept[0], kept[1], kept[2], kept[3], kept[4], kept[5], kept[6])
    for column in range(homes.shape[0]):
        side, place = homes[column]
        values = left_values if side == 0 else right_values
        count = 0
        for slot in range(results.sizes[USED]):
            if results.alive[slot]:
                rows[count, column] = values[results.pointers[slot, side], place]
                count += 1
