"""A step of the join of two inputs in one call: what went through pointers, what came through the ring indexes.

For a step of a few rows a call costs more than what it does, and every array that is handed back more than one that is
handed in. So this gives the values that are asked for, not pointers to them, and takes plain tuples (see
`freshet.kernels.leaf`): `left` and `right` are the values, birth steps, fresh rows, dead rows and key columns of an
input and then the arrays of its ring index on these columns.
"""

import numpy as np

from freshet.kernels.index import EVERY_STEP, IndexArrays, RingArrays, ring_probe
from freshet.kernels.jit import njit
from freshet.kernels.pointers import FREE, USED, pointers_add, pointers_invalidate

# Places in `left` and `right`.
VALUES = 0
BORN = 1
FRESH = 2
DEAD = 3
COLUMNS = 4


@njit
def _matches(probing, probed, before, place):
    """Pointers to each fresh row of one input, in column `place`, and the rows of the other that it finds."""
    rows, values, columns = probing[FRESH], probing[VALUES], probing[COLUMNS]
    if rows.shape[0] == 0:
        return np.empty((0, 2), np.int32)
    keys = np.empty((rows.shape[0], columns.shape[0]), np.int64)
    for at in range(rows.shape[0]):
        for column in range(columns.shape[0]):
            keys[at, column] = values[rows[at], columns[column]]
    index = IndexArrays(probed[5], probed[6], probed[7], probed[8], probed[9])
    ring = RingArrays(probed[10], probed[11], probed[12])
    lefts, found = ring_probe(index, ring, keys, probed[BORN], before)
    pointers = np.empty((found.shape[0], 2), np.int32)
    for at in range(found.shape[0]):
        pointers[at, place] = rows[lefts[at]]
        pointers[at, 1 - place] = found[at]
    return pointers


@njit
def _fill(rows, first, pointers, left_values, right_values, homes):
    """Values of results: a column for each row (input, column) of `homes`."""
    for at in range(pointers.shape[0]):
        for column in range(homes.shape[0]):
            if homes[column, 0] == 0:
                rows[first + at, column] = left_values[pointers[at, 0], homes[column, 1]]
            else:
                rows[first + at, column] = right_values[pointers[at, 1], homes[column, 1]]


@njit
def pair_step(left, right, results, homes, since):
    """What came and what went since a step, as rows of values; and how many results there is no room for.

    Where there is room for too few nothing is done. A result of two new rows is found from the second input, since the
    new rows of the first see only what was there before.
    """
    from_left = _matches(left, right, since + 1, 0)
    from_right = _matches(right, left, EVERY_STEP, 1)
    more = from_left.shape[0] + from_right.shape[0]
    came = np.empty((more, homes.shape[0]), np.int64)
    expiring = results.heads.shape[0]
    rows_fit = (expiring < 1 or left[VALUES].shape[0] <= results.heads.shape[1]) and (
        expiring < 2 or right[VALUES].shape[0] <= results.heads.shape[1]
    )
    if more > 0 and not (rows_fit and results.sizes[USED] - results.sizes[FREE] + more <= results.alive.shape[0]):
        return came, came, more
    without_left = pointers_invalidate(results, 0, left[DEAD] if expiring > 0 else left[DEAD][:0])
    without_right = pointers_invalidate(results, 1, right[DEAD] if expiring > 1 else right[DEAD][:0])
    gone = without_left.shape[0]
    went = np.empty((gone + without_right.shape[0], homes.shape[0]), np.int64)
    _fill(went, 0, without_left, left[VALUES], right[VALUES], homes)
    _fill(went, gone, without_right, left[VALUES], right[VALUES], homes)
    _fill(came, 0, from_left, left[VALUES], right[VALUES], homes)
    _fill(came, from_left.shape[0], from_right, left[VALUES], right[VALUES], homes)
    pointers_add(results, from_left)
    pointers_add(results, from_right)
    return came, went, 0
