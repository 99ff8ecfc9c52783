"""Bags of a few rows."""

import numpy as np

from freshet.kernels.jit import njit


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
