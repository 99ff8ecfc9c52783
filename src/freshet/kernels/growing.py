"""Columns that turn out longer than was thought."""

import numpy as np

from freshet.kernels.jit import njit


@njit
def longer(column, room):
    """The column with room for more at its end."""
    grown = np.empty(room, np.int64)
    grown[: column.size] = column
    return grown
