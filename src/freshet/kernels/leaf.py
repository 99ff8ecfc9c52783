"""Ring indexes for batches of any size, also of one row.

For one row the call costs more than what it does. So arrays come in plain tuples, which are unpacked here (a named
tuple takes longer to be recognised), and results go into arrays that the caller has (an array takes longer to hand back
than a number).

`ring` is IndexArrays, RingArrays and `columns`.
"""

import numpy as np

from freshet.kernels.index import IndexArrays, RingArrays, ring_link, ring_probe, ring_unlink
from freshet.kernels.jit import njit


@njit
def _index(arrays):
    return IndexArrays(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4])


@njit
def _ring(arrays):
    return RingArrays(arrays[5], arrays[6], arrays[7])


@njit
def index_link(ring, rows, values):
    """`ring_link` of rows with the values of all rows that there can be."""
    return ring_link(_index(ring), _ring(ring), rows, values, ring[8])


@njit
def index_unlink(ring, rows):
    """`ring_unlink`."""
    ring_unlink(_index(ring), _ring(ring), rows)


@njit
def index_probe(ring, keys, born, died, moments, ties, is_still, lefts, rows):
    """`ring_probe` into arrays. Gives how many pairs there are; arrays that are too short are left as they are."""
    found_lefts, found_rows = ring_probe(_index(ring), _ring(ring), keys, born, died, moments, ties, is_still)
    found = found_rows.shape[0]
    if found <= rows.shape[0]:
        for at in range(found):  # a loop compiles in a fraction of the time of an assignment to a slice
            lefts[at], rows[at] = found_lefts[at], found_rows[at]
    return found


@njit
def index_extend(
    ring, pointers, moments, values, source, columns, born, died, ties, is_still, place, extended, found_moments
):  # fmt: skip
    """Each row of `pointers` with every row, in column `place`, that a probe finds at its moment; and these moments.

    Keys are the values, in some columns, of the rows in column `source`. Gives how many there are; arrays that are too
    short are left as they are.
    """
    keys = np.empty((pointers.shape[0], columns.shape[0]), np.int64)
    for at in range(pointers.shape[0]):
        for column in range(columns.shape[0]):
            keys[at, column] = values[pointers[at, source], columns[column]]
    lefts, found = ring_probe(_index(ring), _ring(ring), keys, born, died, moments, ties, is_still)
    count = found.shape[0]
    if count <= extended.shape[0]:
        for at in range(count):
            left = lefts[at]
            for other in range(pointers.shape[1]):
                extended[at, other] = pointers[left, other]
            extended[at, place] = found[at]
            found_moments[at] = moments[left]
    return count
