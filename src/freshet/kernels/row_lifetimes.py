"""Lives of rows: arrivals of a batch enter and leave a leaf buffer, each at its own moment.

A row lives from the moment of its first arrival to the first moment at which none of its arrivals is inside; an arrival
in between prolongs its life. A row that comes again after its death begins a new life under another number, since
results of the old life may still have to be found in this batch.

A deletion ends the life of its row, whatever arrivals are inside: these count no more, and nothing happens when they
leave. One that comes before another arrival at the same moment leaves the life as it is.

`leaf` is IndexArrays (the rows by their values, counted by arrivals), then the first and the last moment of each row's
life and its heir: the row that has its values now, or -1. The last is empty where nothing was ever deleted, or has two
numbers for each row: the position of its last deletion, and room for `_mark_repeated`.
"""

import numpy as np

from freshet.kernels.index import FREE, IDLE, USED, IndexArrays, _key_hash, next_place, put_entries
from freshet.kernels.jit import leaf as no_arrays
from freshet.kernels.jit import njit
from freshet.kernels.prefetch import fetch

OPEN = 2**63 - 1  # the end of a life that has not ended

_AHEAD = 16  # how many departures ahead their rows are asked for

# Bits of a waiting position: whether it deletes, and whether an arrival at the same moment follows that.
DELETES, REPEATED = 1, 2
POSITION_BITS = 2


@no_arrays
def _successor(index, heirs, row):
    """Another row for the values of a row that has died in this batch; the index finds it from now on."""
    tag = _key_hash(index.keys, row)
    mask = index.table.shape[0] - 1
    place = tag & mask
    while index.table[place] & 0xFFFFFFFF != row:
        place = next_place(place, tag, mask)
    if index.sizes[FREE] > 0:
        index.sizes[FREE] -= 1
        heir = np.int64(index.free[index.sizes[FREE]])
    else:
        heir = index.sizes[USED]
        index.sizes[USED] += 1
    index.table[place] = tag << 32 | heir
    index.counts[heir] = 0
    index.sizes[IDLE] += 1
    for column in range(index.keys.shape[1]):
        index.keys[heir, column] = index.keys[row, column]
    heirs[row] = heir
    return heir


@no_arrays
def _mark_repeated(positions, first_waiting, coming, rows, births, entered_before, deleted):
    """Mark the deletions after which their row arrives again at the same moment."""
    for at in range(coming - 1, -1, -1):
        position = positions[first_waiting + at]
        moment = births[(position >> POSITION_BITS) - entered_before]
        scratch = 2 * rows[at] + 1
        if position & DELETES == 0:
            deleted[scratch] = moment
        elif deleted[scratch] == moment:
            positions[first_waiting + at] = position | REPEATED
    for at in range(coming):
        deleted[2 * rows[at] + 1] = OPEN


@njit
def leaf_step(
    leaf, waiting, first_waiting, coming, births, entered_before, inside, first_inside, end_inside, left, deaths,
    left_before, first_moment, fresh, dead, replaced,
):  # fmt: skip
    """Let the first rows of a queue in, and those out that have left, in the order of moments; at one moment rows come
    before others go.

    Both queues are (positions, values) from a place on; `inside` has rows for values, and gets those that come at its
    end, but for deletions. Position p enters at births[p - entered_before]; those before `left` leave, at
    deaths[p - left_before]. Positions that wait have bits beside them.
    Fills in the rows whose lives begin and those whose lives end, in order, and the dead that have an heir. Gives how
    many of each, how many arrivals have left, and how many are added.
    """
    index = IndexArrays(leaf[0], leaf[1], leaf[2], leaf[3], leaf[4])
    born, died, heirs, deleted = leaf[5], leaf[6], leaf[7], leaf[8]
    positions, keys = waiting
    inside_positions, inside_rows = inside
    rows = inside_rows[end_inside : end_inside + coming]
    put_entries(index, keys, first_waiting, coming, rows)
    found = gone = inherited = 0
    at, head, end = 0, first_inside, end_inside
    counts, sizes = index.counts, index.sizes
    if deleted.shape[0] > 0:
        _mark_repeated(positions, first_waiting, coming, rows, births, entered_before, deleted)
    while True:
        enters = births[(positions[first_waiting + at] >> POSITION_BITS) - entered_before] if at < coming else OPEN
        leaves = OPEN
        if head < end and inside_positions[head] < left:
            leaves = deaths[inside_positions[head] - left_before]
        if enters <= leaves:
            if at == coming:
                break
            row = np.int64(rows[at])
            while inherited > 0 and heirs[row] >= 0:
                row = np.int64(heirs[row])
            position = positions[first_waiting + at]
            at += 1
            if position & DELETES:
                if counts[row] > 0:
                    deleted[2 * row] = position >> POSITION_BITS
                    counts[row] = 0
                    if position & REPEATED == 0:
                        sizes[IDLE] += 1
                        died[row] = enters
                        dead[gone] = row
                        gone += born[row] < enters
                continue
            if counts[row] == 0 and died[row] != OPEN:
                if first_moment <= died[row] < OPEN:
                    replaced[inherited] = row
                    inherited += 1
                    row = _successor(index, heirs, row)
                sizes[IDLE] -= 1
                born[row] = enters
                died[row] = OPEN
                fresh[found] = row
                found += 1
            counts[row] += 1
            inside_positions[end] = position >> POSITION_BITS
            inside_rows[end] = row
            end += 1
        else:
            row = np.int64(inside_rows[head])
            if head + _AHEAD < end:
                soon = np.int64(inside_rows[head + _AHEAD])
                fetch(counts, soon)
                fetch(born, soon)
                fetch(died, soon)
            head += 1
            if deleted.shape[0] > 0 and inside_positions[head - 1] < deleted[2 * row]:
                continue
            counts[row] -= 1
            if counts[row] == 0:
                sizes[IDLE] += 1
                died[row] = leaves
                dead[gone] = row
                gone += born[row] < leaves
    kept = 0
    for place in range(found):  # rows that were out at the moment they came are neither born nor dead
        row = fresh[place]
        fresh[kept] = row
        kept += born[row] < died[row]
    return kept, gone, inherited, head - first_inside, end - end_inside


@no_arrays
def release_replaced(leaf, replaced, count):
    """A batch is done with: rows that have an heir can be used again."""
    free, sizes, heirs = leaf[3], leaf[4], leaf[7]
    for at in range(count):
        row = replaced[at]
        heirs[row] = -1
        free[sizes[FREE]] = row
        sizes[FREE] += 1
        sizes[IDLE] -= 1
