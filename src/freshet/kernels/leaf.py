"""Ring indexes for batches of any size, also of one row.

For one row the call costs more than what it does. So arrays come in plain tuples, which are unpacked here (a named
tuple takes longer to be recognised), and results go into arrays that the caller has (an array takes longer to hand back
than a number).

`ring` is IndexArrays, RingArrays and `columns`.
"""

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
