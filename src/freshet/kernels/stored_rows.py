"""Rows of one predicate in a base, by number: what a key's rows are, and what stands in a row.

A base has the triples of a predicate twice, sorted by subject and sorted by object. A row that is found by its subject
is numbered by its place in the first order, one that is found by its object by its place in the second, behind all
those of the first. So one number says where to read, and nothing has to say which place in one order is which in the
other.
Numbers behind both orders are of rows that came later, and are kept elsewhere.
"""

import numpy as np

from freshet.kernels.jit import njit
from freshet.kernels.sorted_triples import find_ranges, narrow_ranges

_COUNT_MASK = np.int64(0xFFFFFFFF)


@njit
def find_rows(slots, first, shift, seconds, keys, wanted, shifted):
    """The rows of many keys: the number of the key, and the place of the row in its order, plus `shifted`.

    `wanted` has what the second place must hold: nothing, or a term for each key.
    """
    ranges, total = find_ranges(slots, first, shift, keys)
    if wanted.size > 0 and total > 0:
        # narrow_ranges takes one term for all where there is only one, which is the same thing here
        total = narrow_ranges(seconds, ranges, wanted)
    numbers = np.empty(total, np.int64)
    rows = np.empty(total, np.int32)
    end = 0
    for number in range(ranges.size):
        start = (ranges[number] >> 32) + shifted
        for at in range(ranges[number] & _COUNT_MASK):
            numbers[end] = number
            rows[end] = start + at
            end += 1
    return numbers, rows


@njit
def row_values(rows, first_order, second_order, later, column):
    """What stands at one place of rows: in the first order, in the second, or in a column of those that came later."""
    count = first_order.size
    values = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        row = rows[i]
        if row < count:
            values[i] = first_order[row]
        elif row < 2 * count:
            values[i] = second_order[row - count]
        else:
            values[i] = later[row - 2 * count, column]
    return values
