"""Equal rows of ids, found block by block, so that a deadline can stop it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.joins import empty_slots, number_range, number_rows
from freshet.rdf.deadline import current

ROWS_AT_ONCE = 1 << 20  # between two looks at the deadline
Rows = NDArray[np.int64]


def number_in_blocks(rows: Rows) -> tuple[Rows, Rows]:
    """A number for each row, the same for equal rows, in order of appearance; and the first row of each number."""
    if len(rows) <= ROWS_AT_ONCE:
        numbers, firsts = number_rows(rows)
        return numbers, firsts
    slots, count = empty_slots(len(rows)), 0
    numbers, firsts = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        current().check()
        end = min(first + ROWS_AT_ONCE, len(rows))
        count = number_range(rows, first, end, slots, numbers, firsts, count)
    return numbers, firsts[:count].copy()
