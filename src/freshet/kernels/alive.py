"""Probing for rows that were alive at a moment: the multiway join of a batch of arrivals (algorithms 4 and 5)."""

import numpy as np

from freshet.kernels.index import BLOCK, ONE_ROW, ROW_MASK, _find, _look
from freshet.kernels.jit import njit
from freshet.kernels.lives import BIRTH, DEATH, LINK_WIDTH, LINKS, OLDER
from freshet.kernels.prefetch import fetch

# Columns of a step of a probing order; behind them, for every key column, the leaf and the column of its value.
LEAF = 0
INDEX = 1
SLOT = 2
SOURCES = 3


@njit
def _rings(index, values, step, pointers, count):
    """The counter and the newest row of each partial result's key, or 0, and how many rows they have in all."""
    known, width = index.keys, index.keys.shape[1] - 1
    words = np.empty(count, np.int64)
    keys = np.zeros((BLOCK, width), np.int64)
    keys[:, 0] = step[INDEX]
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    most = 0
    for first in range(0, count, BLOCK):
        length = min(BLOCK, count - first)
        for column in range(width - 1):
            leaf, source = step[SOURCES + 2 * column], step[SOURCES + 2 * column + 1]
            if source < 0:
                continue
            for at in range(length):
                keys[at, 1 + column] = values[pointers[first + at, leaf], 1 + source]
        _look(index, keys, 0, length, tags, found)
        for at in range(length):
            entry = found[at]
            if entry < 0:
                entry, _ = _find(index, keys, at, tags[at])
            word = known[entry, width] if entry >= 0 else 0
            words[first + at] = word
            most += word >> 32
    return words, most


@njit
def _extend(index, records, values, step, ties, pointers, moments, count):
    """Partial results with the rows that have their keys and are alive when the result is born.

    The rings of a block are walked side by side, so that the waits for their rows overlap.
    """
    words, most = _rings(index, values, step, pointers, count)
    leaf = step[LEAF]
    older = LINKS + LINK_WIDTH * step[SLOT] + OLDER
    extended = np.empty((most, pointers.shape[1]), np.int32)
    births = np.empty(most, np.int64)
    rows = np.empty(BLOCK, np.int64)
    origins = np.empty(BLOCK, np.int64)
    hits = 0
    for first in range(0, count, BLOCK):
        length = min(BLOCK, count - first)
        walking = 0
        for at in range(first, first + length):
            row = words[at] & ROW_MASK
            rows[walking] = row
            origins[walking] = at
            walking += words[at] >= ONE_ROW
            fetch(records, row * records.shape[1])
        while walking > 0:
            further = 0
            for place in range(walking):
                row, at = rows[place], origins[place]
                moment = moments[at]
                if records[row, BIRTH] < moment + ties and records[row, DEATH] > moment:
                    for other in range(pointers.shape[1]):
                        extended[hits, other] = pointers[at, other]
                    extended[hits, leaf] = row
                    fetch(values, row * values.shape[1])  # read by the next step, or when the result is put out
                    births[hits] = moment
                    hits += 1
                rows[further] = records[row, older]
                origins[further] = at
                fetch(records, max(rows[further], 0) * records.shape[1])
                further += rows[further] >= 0
            walking = further
    return extended, births, hits


@njit
def join_born(index, records, values, rows, moments, ends, orders):
    """The results of the rows given (leaf after leaf) with rows that are alive at their moments; lot after lot.

    orders[start] are the steps to take from the rows of leaf `start`. Of rows born at one moment, that of the last leaf
    finds the result.
    """
    leaves = orders.shape[0]
    found = np.empty((0, leaves), np.int32)
    found_births = np.empty(0, np.int64)
    for start in range(leaves):
        count = ends[start + 1] - ends[start]
        if count == 0:
            continue
        pointers = np.zeros((count, leaves), np.int32)
        births = np.empty(count, np.int64)
        for at in range(count):
            pointers[at, start] = rows[ends[start] + at]
            births[at] = moments[ends[start] + at]
        for step in range(leaves - 1):
            if count > 0:
                ties = 1 if orders[start, step, LEAF] < start else 0
                pointers, births, count = _extend(
                    index, records, values, orders[start, step], ties, pointers, births, count
                )
        if count > 0:
            found = np.concatenate((found, pointers[:count]))
            found_births = np.concatenate((found_births, births[:count]))
    return found, found_births


@njit
def column_of(values, pointers, leaf, column):
    """A column of the rows of a leaf that results point to."""
    found = np.empty(pointers.shape[0], np.int64)
    for at in range(pointers.shape[0]):
        found[at] = values[pointers[at, leaf], column]
    return found


@njit
def result_deaths(records, pointers):
    """The moment at which the first of each result's rows dies."""
    deaths = np.empty(pointers.shape[0], np.int64)
    for at in range(pointers.shape[0]):
        death = records[pointers[at, 0], DEATH]
        for leaf in range(1, pointers.shape[1]):
            death = min(death, records[pointers[at, leaf], DEATH])
        deaths[at] = death
    return deaths


@njit
def by_moment(pointers, moments, first, steps):
    """Results in order of moment; equal moments stay as they are. All are in [first, first + steps)."""
    starts = np.zeros(steps + 1, np.int64)
    for moment in moments:
        starts[moment - first + 1] += 1
    for step in range(steps):
        starts[step + 1] += starts[step]
    ordered = np.empty_like(pointers)
    ordered_moments = np.empty_like(moments)
    for at in range(moments.shape[0]):
        place = starts[moments[at] - first]
        starts[moments[at] - first] += 1
        ordered_moments[place] = moments[at]
        for leaf in range(pointers.shape[1]):
            ordered[place, leaf] = pointers[at, leaf]
    return ordered, ordered_moments


@njit
def born_in_order(index, records, values, batch, orders, first, steps):
    """The results born in a batch, in order of their moments."""
    moments = np.empty(batch.born.shape[0], np.int64)
    for at in range(moments.shape[0]):
        moments[at] = records[batch.born[at], BIRTH]
    pointers, births = join_born(index, records, values, batch.born, moments, batch.born_ends, orders)
    return by_moment(pointers, births, first, steps)
