"""Bags of rows on a ring index over all their columns: equal rows are a ring, and one of them is taken out by value."""

import numpy as np

from freshet.kernels.index import IDLE, ONE_ROW, ROW_MASK, _find, _key_hash
from freshet.kernels.jit import njit


@njit
def ring_pop(index, ring, keys):
    """Take out the newest row of each key in turn, and give its number; -1 where there is none."""
    last = keys.shape[1]
    rows = np.empty(keys.shape[0], np.int32)
    for at in range(keys.shape[0]):
        entry, _ = _find(index, keys, at, _key_hash(keys, at))
        word = index.keys[entry, last] if entry >= 0 else 0
        if word == 0:
            rows[at] = -1
            continue
        row = np.int32(word & ROW_MASK)
        older = ring.older[row]
        if older >= 0:
            ring.newer[older] = -1
            index.keys[entry, last] = ((word - ONE_ROW) & ~ROW_MASK) | older
        else:
            index.keys[entry, last] = 0
            index.sizes[IDLE] += 1
        rows[at] = row
    return rows
