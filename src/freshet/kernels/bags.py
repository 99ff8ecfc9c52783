"""Bags of rows on a ring index over all their columns: equal rows are a ring, and one of them is taken out by value."""

import numpy as np

from freshet.kernels.index import IDLE, _find, _key_hash
from freshet.kernels.jit import njit


@njit
def ring_pop(index, ring, keys):
    """Take out the newest row of each key in turn, and give its number; -1 where there is none."""
    rows = np.empty(keys.shape[0], np.int32)
    for at in range(keys.shape[0]):
        entry, _ = _find(index, keys, at, _key_hash(keys, at))
        if entry < 0 or index.counts[entry] == 0:
            rows[at] = -1
            continue
        row = ring.heads[entry]
        older = ring.older[row]
        ring.heads[entry] = older
        if older >= 0:
            ring.newer[older] = -1
        index.counts[entry] -= 1
        if index.counts[entry] == 0:
            index.sizes[IDLE] += 1
        rows[at] = row
    return rows
