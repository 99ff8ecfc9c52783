"""Rows by the value of a column, in order: what has a value within a range is found without a look at the rest.

There is a tree for each class of values; terms of different classes are never less, equal or greater.

| class | values | key |
| --- | --- | --- |
| NUMBERS | integers, decimals, doubles | float64 |
| FLOATS | floats, which others are rounded to when they are compared | float64 |
| DATE_TIMES, DATES, TIMES | with a time zone or without | seconds, as float64 |
| OTHERS | all other terms, in no order | 0 |
| NEVER | NaN and nothing, which no comparison holds for | not in a tree |
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.growing import longer
from freshet.kernels.jit import leaf, njit
from freshet.kernels.members import _ordered_real
from freshet.kernels.order_keys import GROUP
from freshet.kernels.order_tree import NIL, TreeArrays, tree_insert, tree_next, tree_remove, tree_seek
from freshet.kernels.values import BOOLEAN, DATE_TIME, DOUBLE, FLOAT, NOTHING, TIME_LOCAL

NUMBERS = 0
FLOATS = 1
DATE_TIMES = 2  # then DATES, TIMES
OTHERS = 5
NEVER = 6
CLASSES = 6  # that have a tree

KEY_WIDTH = 2  # the value, then the number of the row, which decides between equal ones

_HIGH_UNITS = 2.0**64 * 1e-18
_LOW_UNITS = 1e-18


class OrderedIndexArrays(NamedTuple):
    """Trees over the rows of a buffer, by their numbers; each row is in one of them at most."""

    links: np.ndarray  # int32: see `TreeArrays`
    sizes: np.ndarray  # int64 [class, 2]: see `TreeArrays`
    keys: np.ndarray  # int64 [row, KEY_WIDTH]
    classes: np.ndarray  # uint8, one a row


@leaf
def _class_of(kind, real):
    if kind == NOTHING or (kind <= DOUBLE and real != real):
        return NEVER
    if kind <= DOUBLE:
        return FLOATS if kind == FLOAT else NUMBERS
    if DATE_TIME <= kind <= TIME_LOCAL:
        return DATE_TIMES + (kind - DATE_TIME >> 1)
    return OTHERS


@leaf
def _real_of(kind, high, low, real):
    if kind <= DOUBLE:
        return real
    if kind > BOOLEAN and kind <= TIME_LOCAL:
        return np.float64(high) * _HIGH_UNITS + np.float64(low) * _LOW_UNITS
    return 0.0


@njit
def classes_and_reals(values):
    """The class of each value, and the number that orders it there."""
    classes, reals = np.empty(values.kinds.shape[0], np.uint8), np.empty(values.kinds.shape[0])
    for at in range(classes.shape[0]):
        classes[at] = _class_of(values.kinds[at], values.reals[at])
        reals[at] = _real_of(values.kinds[at], values.high[at], values.low[at], values.reals[at])
    return classes, reals


@leaf
def ordered_link(index, nothing, rows, classes, reals):
    """Put rows in order. `nothing` are texts, of which there are none."""
    for at in range(rows.shape[0]):
        row = rows[at]
        index.classes[row] = classes[at]
        index.keys[row, GROUP], index.keys[row, KEY_WIDTH - 1] = _ordered_real(reals[at]), row
        if classes[at] < NEVER:
            tree_insert(TreeArrays(index.links, index.sizes[classes[at]]), index.keys, nothing, GROUP, row)


@leaf
def ordered_unlink(index, rows):
    """Take rows out."""
    for at in range(rows.shape[0]):
        if index.classes[rows[at]] < NEVER:
            tree_remove(TreeArrays(index.links, index.sizes[index.classes[rows[at]]]), rows[at])


@njit
def ordered_probe(index, asked, lows, highs, born, died, moments, ties, is_still):
    """All rows of the classes asked for whose values are within ranges, and that live at the moments beside these, as
    pairs (which range, row). As `ring_probe`, but that of numbers those of both classes are asked for.

    `lows` and `highs` have two columns, of which floats go by the second.
    """
    lefts, rows = np.empty(asked.shape[0], np.int64), np.empty(asked.shape[0], np.int32)
    hits = 0
    for at in range(asked.shape[0]):
        last = FLOATS if asked[at] == NUMBERS else asked[at]
        for number in range(asked[at], last + 1 if asked[at] < NEVER else asked[at]):
            column = np.int64(number == FLOATS)
            low, high = _ordered_real(lows[at, column]), _ordered_real(highs[at, column])
            tree = TreeArrays(index.links, index.sizes[number])
            row = tree_seek(tree, index.keys, GROUP, low)
            while row != NIL and index.keys[row, GROUP] <= high:
                if is_still or (born[row] < moments[at] + ties and moments[at] < died[row]):
                    if hits == rows.shape[0]:
                        lefts, rows = longer(lefts, 2 * hits), longer(rows, 2 * hits)
                    lefts[hits], rows[hits] = at, row
                    hits += 1
                row = tree_next(tree, row)
    return lefts[:hits].copy(), rows[:hits].copy()
