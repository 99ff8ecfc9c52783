"""Probing for rows that were alive at a moment: the multiway join of a batch of arrivals (algorithms 4 and 5)."""

import numpy as np

from freshet.kernels.index import BLOCK, ONE_ROW, ROW_MASK, _find, _look
from freshet.kernels.jit import inlined, njit
from freshet.kernels.jit import leaf as no_arrays
from freshet.kernels.lives import BIRTH, DEATH, KEYS, LINK_WIDTH, LINKS, OLDER, ROWS, VARIABLES, WORD
from freshet.kernels.prefetch import fetch

# Columns of a step of a probing order, behind VARIABLES and WORD of the ring index that is looked into; and then, for
# every key column, the leaf and the column of its value.
LEAF = 2
SLOT = 3
VIA = 4  # a leaf before it that has a ring index on the same variables, or -1
LINK = 5  # where records of that leaf's rows have the entry of their key
SOURCES = 6


@inlined
def _expected(sizes, number):
    """How many rows a probe that hits may expect of a ring index, in hundredths, from its counters."""
    return 100 * sizes[number, ROWS] // max(1, sizes[number, KEYS])


@no_arrays
def ranking_of(sizes):
    """A number for the order in which ring indexes stand by how many rows a probe may expect of them.

    Fifteen of them have a number for each order; of more some may share one.
    """
    count = sizes.shape[0]
    ranking = np.int64(count)
    for number in range(count):
        expected = _expected(sizes, number)
        before = 0
        for other in range(count):
            less = _expected(sizes, other)
            before += less < expected or (less == expected and other < number)
        ranking = ranking * count + before
    return ranking


@no_arrays
def _known_rings(known, records, step, pointers, words):
    """As `_rings`, where a row of each partial result has its key."""
    via, link, place, width = step[VIA], step[LINK], step[WORD], known.shape[1]
    most = 0
    for first in range(0, words.shape[0], BLOCK):
        stop = min(first + BLOCK, words.shape[0])
        for at in range(first, stop):
            words[at] = records[pointers[at, via], link]
            fetch(known, words[at] * width)
        for at in range(first, stop):
            words[at] = known[words[at], place]
            most += words[at] >> 32
    return most


@njit
def _rings(index, records, values, step, pointers, count):
    """The counter and the newest row of each partial result's key, or 0, and how many rows they have in all."""
    words = np.empty(count, np.int64)
    if step[VIA] >= 0:
        return words, _known_rings(index.keys, records, step, pointers, words)
    known, place, width = index.keys, step[WORD], 1 + (step.shape[0] - SOURCES) // 2
    keys = np.zeros((BLOCK, width), np.int64)
    keys[:, 0] = step[VARIABLES]
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
            word = known[entry, place] if entry >= 0 else 0
            words[first + at] = word
            most += word >> 32
    return words, most


@njit
def _extend(index, records, values, step, ties, pointers, moments, count):
    """Partial results with the rows that have their keys and are alive when the result is born.

    The rings of a block are walked side by side, so that the waits for their rows overlap.
    """
    words, most = _rings(index, records, values, step, pointers, count)
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
def places_by_moment(moments, first, steps):
    """Where each stands in order of moment; equal ones stay as they are. All are in [first, first + steps)."""
    starts = np.zeros(steps + 1, np.int64)
    for moment in moments:
        starts[moment - first + 1] += 1
    for step in range(steps):
        starts[step + 1] += starts[step]
    places = np.empty_like(moments)
    for at in range(moments.shape[0]):
        places[at] = starts[moments[at] - first]
        starts[moments[at] - first] += 1
    return places


@njit
def by_moment(pointers, moments, first, steps):
    """Results in order of moment; equal moments stay as they are. All are in [first, first + steps)."""
    places = places_by_moment(moments, first, steps)
    ordered = np.empty_like(pointers)
    ordered_moments = np.empty_like(moments)
    for at in range(moments.shape[0]):
        ordered_moments[places[at]] = moments[at]
        for leaf in range(pointers.shape[1]):
            ordered[places[at], leaf] = pointers[at, leaf]
    return ordered, ordered_moments


@njit
def results_born(index, records, values, batch, orders):
    """The results born in a batch, and their moments."""
    moments = np.empty(batch.born.shape[0], np.int64)
    for at in range(moments.shape[0]):
        moments[at] = records[batch.born[at], BIRTH]
    return join_born(index, records, values, batch.born, moments, batch.born_ends, orders)
