"""Steps of leaf buffers and probes of their indexes for batches of any size, also of one row.

For one row the call costs more than what it does. So arrays come in plain tuples, which are unpacked here (a named
tuple takes longer to be recognised), and results go into arrays that the caller has (an array takes longer to hand back
than a number).

`leaf` is IndexArrays and `born`; `ring` is IndexArrays, RingArrays, `columns` and room for a key.
"""

import numpy as np

from freshet.kernels.index import (
    IndexArrays,
    RingArrays,
    index_add,
    index_release,
    ring_link,
    ring_probe,
    ring_unlink,
)
from freshet.kernels.jit import njit


@njit
def _index(arrays):
    return IndexArrays(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4])


@njit
def _ring(arrays):
    return RingArrays(arrays[5], arrays[6], arrays[7])


@njit
def leaf_turn(leaf, waiting, first_waiting, coming, inside, first_inside, end_inside, leaving, number, fresh, dead):
    """Let the first rows of a queue in: count their keys, and note in which step new ones came. Then let the first of
    those inside out: count them once less.

    Both queues are (positions, values) from a place on; `inside` has rows for values, and gets those that come at its
    end. Fills in the rows that are new and those that are dead, and gives how many these are.
    """
    index, born = _index(leaf), leaf[5]
    positions, keys = waiting
    positions_inside, rows_inside = inside
    entries, new = index_add(index, keys[first_waiting : first_waiting + coming])
    found = 0
    for at in range(coming):
        positions_inside[end_inside + at] = positions[first_waiting + at]
        rows_inside[end_inside + at] = entries[at]
        if new[at]:
            born[entries[at]] = number
            fresh[found] = entries[at]
            found += 1
    gone = index_release(index, rows_inside[first_inside : first_inside + leaving])
    dead[: gone.shape[0]] = gone
    return found, gone.shape[0]


@njit
def leaf_turn_linked(
    leaf, ring, waiting, first_waiting, coming, inside, first_inside, end_inside, leaving, number, fresh, dead
):
    """`leaf_turn` for a leaf with one index, in which the new rows are put and from which the dead are taken."""
    found, gone = leaf_turn(
        leaf, waiting, first_waiting, coming, inside, first_inside, end_inside, leaving, number, fresh, dead
    )
    ring_link(_index(ring), _ring(ring), fresh[:found], leaf[1], ring[8])
    ring_unlink(_index(ring), _ring(ring), dead[:gone])
    return found, gone


@njit
def index_probe(ring, keys, born, before, lefts, rows):
    """`ring_probe` into arrays. Gives how many pairs there are; arrays that are too short are left as they are."""
    found_lefts, found_rows = ring_probe(_index(ring), _ring(ring), keys, born, before)
    found = found_rows.shape[0]
    if found <= rows.shape[0]:
        lefts[:found] = found_lefts
        rows[:found] = found_rows
    return found


@njit
def index_pairs(ring, rows, values, columns, born, before, place, pairs):
    """Pairs of each of the rows, in column `place`, and every row that a probe with its values finds.

    Gives how many there are; an array that is too short is left as it is.
    """
    keys = np.empty((rows.shape[0], columns.shape[0]), np.int64)
    for at in range(rows.shape[0]):
        for column in range(columns.shape[0]):
            keys[at, column] = values[rows[at], columns[column]]
    lefts, found = ring_probe(_index(ring), _ring(ring), keys, born, before)
    count = found.shape[0]
    if count <= pairs.shape[0]:
        for at in range(count):
            pairs[at, place] = rows[lefts[at]]
            pairs[at, 1 - place] = found[at]
    return count
