"""A small batch of arrivals in one call: what is asked of the kernels one by one for large ones.

A call costs some microseconds whatever it does, most of them for taking arrays in and handing arrays out: more than the
work of a single element.
"""

import numpy as np

from freshet.kernels.alive import born_in_order
from freshet.kernels.arrivals import gather_arrivals
from freshet.kernels.jit import njit
from freshet.kernels.lives import let_in, let_out


@njit
def pass_through(
    plans,
    clocks,
    times,
    subjects,
    predicates,
    objects,
    offsets,
    numbers,
    index,
    life,
    ring_index,
    rings,
    orders,
    homes,
    first,
):
    """Let a batch of elements in, join what is born, let out what dies.

    Gives the results born: a row each, with a column for each row (leaf, column) of `homes`, and the time of each; and
    how many instants there were.
    """
    arrived = gather_arrivals(plans, clocks, times, subjects, predicates, objects, offsets, numbers)
    steps = arrived.instants.shape[0]
    batch = let_in(index, life, ring_index, rings, arrived, first)
    pointers, moments = born_in_order(ring_index, rings, life.records, index.keys, batch, orders, first, steps)
    let_out(index, life, ring_index, rings, batch)
    rows = np.zeros((pointers.shape[0], homes.shape[0]), np.int64)
    for at in range(rows.shape[0]):
        for column in range(homes.shape[0]):
            leaf = homes[column, 0]
            if leaf >= 0:
                rows[at, column] = index.keys[pointers[at, leaf], 1 + homes[column, 1]]
        moments[at] = arrived.instants[moments[at] - first]
    return rows, moments, steps
