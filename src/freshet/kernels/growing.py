"""Columns that turn out longer than was thought."""

import numpy as np

from freshet.kernels.jit import njit


@njit
def longer(column, room):
    """The column with room for more at its end."""
    grown = np.empty(room, column.dtype)
    for at in range(column.size):
        grown[at] = column[at]
    return grown


@njit
def with_room(column, needed):
    """The column, or where that is too short a longer one."""
    return column if needed <= column.shape[0] else longer(column, max(needed, 2 * column.shape[0]))
