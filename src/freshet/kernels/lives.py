"""Lives of rows: a batch of arrivals enters and leaves a leaf in one pass, each at its own evaluation moment.

Moments are numbered in order. A row lives from the moment of its first arrival to the first moment at which none of its
arrivals is in the window; an arrival in between prolongs its life. A row that comes again after its death begins a new
life under another number, since results of the old life may still have to be found in this batch.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.index import (
    BLOCK,
    FREE,
    IDLE,
    USED,
    _entry_of,
    _find,
    _key_hash,
    _look,
)
from freshet.kernels.jit import njit

OPEN = 2**62  # the death of a row that is alive

# Places in `LeafArrays.ends`.
FIRST = 0
END = 1


class LeafArrays(NamedTuple):
    """What a leaf keeps beside its one-way index, whose entry numbers are the rows."""

    births: np.ndarray  # int64, one a row
    deaths: np.ndarray  # int64, one a row
    heirs: np.ndarray  # int32, one a row: the row that has its values now, or -1
    places: np.ndarray  # int64, one an arrival that is inside: its time, or its number in the stream
    inside: np.ndarray  # int32, one an arrival that is inside: its row
    ends: np.ndarray  # int64: which arrivals are inside, FIRST to END


@njit
def _rows_of(index, keys):
    """The row of each key, made where there is none."""
    rows = np.empty(keys.shape[0], np.int32)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for first in range(0, keys.shape[0], BLOCK):
        stop = min(first + BLOCK, keys.shape[0])
        _look(index, keys, first, stop, tags, found)
        for at in range(first, stop):
            row = found[at - first]
            rows[at] = row if row >= 0 else _entry_of(index, keys, at, tags[at - first])
    return rows


@njit
def _successor(index, leaf, row):
    """Another row for the values of a row that has died in this batch; the index finds it from now on."""
    tag = _key_hash(index.keys, row)
    mask = index.table.shape[0] - 1
    place = tag & mask
    while index.table[place] & 0xFFFFFFFF != row:
        place = (place + 1) & mask
    if index.sizes[FREE] > 0:
        index.sizes[FREE] -= 1
        heir = np.int64(index.free[index.sizes[FREE]])
    else:
        heir = index.sizes[USED]
        index.sizes[USED] += 1
    index.table[place] = tag << 32 | heir
    index.counts[heir] = 0
    for column in range(index.keys.shape[1]):
        index.keys[heir, column] = index.keys[row, column]
    leaf.heirs[row] = heir
    return heir


@njit
def lives_step(index, leaf, keys, moments, places, starts, first):
    """Let a batch in. Arrival `at` comes at moment first + moments[at]; at moment first + m what has a place before
    starts[m] is out. At one moment arrivals come before departures.

    Gives the rows born in the batch, in order of birth, the rows that died in it, and those of the dead that have an
    heir. Rows that were out at the moment they came are in neither.
    """
    rows = _rows_of(index, keys)
    head, end = leaf.ends[FIRST], leaf.ends[END]
    born = np.empty(rows.shape[0], np.int32)
    dead = np.empty(rows.shape[0] + end - head, np.int32)
    replaced = np.empty(rows.shape[0], np.int32)
    births = deaths = heirs = 0
    at = 0
    for step in range(starts.shape[0]):
        moment = first + step
        while at < rows.shape[0] and moments[at] == step:
            row = np.int64(rows[at])
            while leaf.heirs[row] >= 0:
                row = np.int64(leaf.heirs[row])
            if index.counts[row] == 0:
                if first <= leaf.deaths[row] < OPEN:
                    replaced[heirs] = row
                    heirs += 1
                    row = _successor(index, leaf, row)
                index.sizes[IDLE] -= 1
                leaf.births[row] = moment
                leaf.deaths[row] = OPEN
                born[births] = row
                births += 1
            index.counts[row] += 1
            leaf.places[end] = places[at]
            leaf.inside[end] = row
            end += 1
            at += 1
        while head < end and leaf.places[head] < starts[step]:
            row = np.int64(leaf.inside[head])
            head += 1
            index.counts[row] -= 1
            if index.counts[row] == 0:
                index.sizes[IDLE] += 1
                leaf.deaths[row] = moment
                if leaf.births[row] < moment:
                    dead[deaths] = row
                    deaths += 1
    leaf.ends[FIRST], leaf.ends[END] = head, end
    kept = 0
    for at in range(births):
        row = born[at]
        if leaf.births[row] < leaf.deaths[row]:
            born[kept] = row
            kept += 1
    return born[:kept], dead[:deaths].copy(), replaced[:heirs].copy()


@njit
def lives_forget(index, leaf, replaced):
    """Rows that have an heir can be used again."""
    for row in replaced:
        leaf.heirs[row] = -1
        index.free[index.sizes[FREE]] = row
        index.sizes[FREE] += 1


@njit
def probe_alive(index, ring, leaf, keys, pointers, births, column, ties):
    """Extend partial results by the rows with their keys that are alive at the moment the result is born.

    Of rows born at that very moment only those are seen where `ties` is 1. Gives the pointers with `column` filled in,
    and the births.
    """
    count = keys.shape[0]
    entries = np.empty(count, np.int64)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    most = 0
    for first in range(0, count, BLOCK):
        stop = min(first + BLOCK, count)
        _look(index, keys, first, stop, tags, found)
        for at in range(first, stop):
            entry = found[at - first]
            if entry < 0:
                entry, _ = _find(index, keys, at, tags[at - first])
            entries[at] = entry
            if entry >= 0:
                most += index.counts[entry]
    extended = np.empty((most, pointers.shape[1]), np.int32)
    moments = np.empty(most, np.int64)
    hits = 0
    for at in range(count):
        entry = entries[at]
        if entry < 0 or index.counts[entry] == 0:
            continue
        moment = births[at]
        row = ring.heads[entry]
        while row >= 0:
            if leaf.births[row] < moment + ties and leaf.deaths[row] > moment:
                for other in range(pointers.shape[1]):
                    extended[hits, other] = pointers[at, other]
                extended[hits, column] = row
                moments[hits] = moment
                hits += 1
            row = ring.older[row]
    return extended[:hits], moments[:hits]


@njit
def lower_deaths(deaths, pointers, column, row_deaths):
    """The death of each result is not after that of the row in this column."""
    for at in range(pointers.shape[0]):
        deaths[at] = min(deaths[at], row_deaths[pointers[at, column]])


@njit
def moment_order(moments, first, steps):
    """The order of results by moment; equal moments stay as they are. All are in [first, first + steps)."""
    starts = np.zeros(steps + 1, np.int64)
    for moment in moments:
        starts[moment - first + 1] += 1
    for step in range(steps):
        starts[step + 1] += starts[step]
    order = np.empty(moments.shape[0], np.int64)
    for at in range(moments.shape[0]):
        step = moments[at] - first
        order[starts[step]] = at
        starts[step] += 1
    return order
