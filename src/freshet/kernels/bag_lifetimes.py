"""Lives of the rows of a bag: rows come, and rows equal to some that are there go, each at its moment.

`ring` is a ring index over all columns (IndexArrays, then RingArrays): the rows of each value that live, newest first.
"""

import numpy as np

from freshet.kernels.index import IDLE, ONE_ROW, ROW_MASK, IndexArrays, RingArrays, _entry_of, _find, _key_hash
from freshet.kernels.jit import njit

OPEN = 2**63 - 1


@njit
def bag_step(ring, born, died, came, came_at, rows, went, went_at, dead):
    """Take a batch in: row came[i] gets the number rows[i]; of each row that goes the newest equal one dies.

    Fills in the rows that die; gives how many rows that go had never come.
    """
    index = IndexArrays(ring[0], ring[1], ring[2], ring[3], ring[4])
    links = RingArrays(ring[5], ring[6], ring[7])
    known, sizes, last = index.keys, index.sizes, index.keys.shape[1] - 1
    at = out = strangers = 0
    while at < came_at.shape[0] or out < went_at.shape[0]:
        if out == went_at.shape[0] or (at < came_at.shape[0] and came_at[at] <= went_at[out]):
            row = rows[at]
            entry = _entry_of(index, came, at, _key_hash(came, at))
            word = known[entry, last]
            head = np.int32(-1)
            if word == 0:
                sizes[IDLE] -= 1
            else:
                head = np.int32(word & ROW_MASK)
                links.newer[head] = row
            known[entry, last] = ((word >> 32) + 1) << 32 | row
            links.older[row] = head
            links.newer[row] = -1
            links.entries[row] = entry
            born[row] = came_at[at]
            died[row] = OPEN
            at += 1
            continue
        entry, _ = _find(index, went, out, _key_hash(went, out))
        word = known[entry, last] if entry >= 0 else 0
        if word == 0:
            strangers += 1
            dead[out] = -1
        else:
            row = np.int32(word & ROW_MASK)
            older = links.older[row]
            if older >= 0:
                links.newer[older] = -1
                known[entry, last] = ((word - ONE_ROW) & ~ROW_MASK) | older
            else:
                known[entry, last] = 0
                sizes[IDLE] += 1
            died[row] = went_at[out]
            dead[out] = row
        out += 1
    return strangers
