"""Bags of rows: on a ring index over all their columns, where equal rows are a ring, and small ones as they stand."""

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


@njit
def bag_less(rows, others):
    """The rows that are left when each of `others` has struck out one that is equal to it; for few of both."""
    struck = np.zeros(rows.shape[0], np.bool_)
    left = rows.shape[0]
    for other in range(others.shape[0]):
        for row in range(rows.shape[0]):
            same = not struck[row]
            for column in range(rows.shape[1]):
                same &= rows[row, column] == others[other, column]
            if same:
                struck[row] = True
                left -= 1
                break
    kept = np.empty((left, rows.shape[1]), np.int64)
    at = 0
    for row in range(rows.shape[0]):
        if not struck[row]:
            kept[at] = rows[row]
            at += 1
    return kept
