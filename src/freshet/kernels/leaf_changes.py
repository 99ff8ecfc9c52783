"""What comes and goes in a leaf buffer in a batch, by its record (`freshet.kernels.records`)."""

import numpy as np

from freshet.kernels.jit import njit
from freshet.kernels.records import (
    BORN,
    DEAD,
    DEAD_COUNT,
    DIED,
    FRESH,
    FRESH_COUNT,
    NUMBER,
    ROOM,
    buffer_at,
    numbers_at,
    small_numbers_at,
    values_of,
)


@njit
def leaf_changes(address, number):
    """The values of the rows that come, and behind them of those that go, a row for each column; their moments; and how
    many come.
    """
    leaf = buffer_at(address)
    came = leaf[FRESH_COUNT] if leaf[NUMBER] == number else 0
    went = leaf[DEAD_COUNT] if leaf[NUMBER] == number else 0
    values = values_of(leaf)
    found, moments = np.empty((values.shape[1], came + went), np.int64), np.empty(came + went, np.int64)
    fresh, dead = small_numbers_at(leaf[FRESH], came), small_numbers_at(leaf[DEAD], went)
    born, died = numbers_at(leaf[BORN], leaf[ROOM]), numbers_at(leaf[DIED], leaf[ROOM])
    for place in range(came):
        row = fresh[place]
        moments[place] = born[row]
        for column in range(values.shape[1]):
            found[column, place] = values[row, column]
    for place in range(went):
        row = dead[place]
        moments[came + place] = died[row]
        for column in range(values.shape[1]):
            found[column, came + place] = values[row, column]
    return found, moments, came
