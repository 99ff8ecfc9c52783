"""Lives of rows: a batch of arrivals enters and leaves the leaves of a join in one pass, each at its own moment.

Moments are numbered in order. A row lives from the moment of its first arrival to the first moment at which none of its
arrivals is in the window; an arrival in between prolongs its life. A row that comes again after its death begins a new
life under another number, since results of the old life may still have to be found in this batch.

The leaves of one join share their arrays, with the leaf's number as first column of every key: so one call takes a
batch through all of them.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.index import BLOCK, FREE, IDLE, ONE_ROW, ROW_MASK, USED, _entry_of, _key_hash, _look, next_place
from freshet.kernels.jit import inlined, njit
from freshet.kernels.jit import leaf as no_arrays
from freshet.kernels.prefetch import fetch, fetch_rows

OPEN = 2**62  # the death of a row that is alive

# Columns of `LifeArrays.records`. Behind them, for each ring index of the leaf, OLDER and NEWER row and ENTRY: what a
# probe looks at stands together, as waiting for memory is most of what it does.
BIRTH = 0
DEATH = 1
LINKS = 2
OLDER = 0
NEWER = 1
ENTRY = 2
LINK_WIDTH = 3

# Columns of `LifeArrays.queues`.
BASE = 0  # where the leaf's circle begins in `places` and `inside`
ROOM = 1  # how long it is, a power of two
FIRST = 2  # arrivals that have left, ever
END = 3  # arrivals that have come, ever

_AHEAD = 16  # how many departures ahead their rows are asked for

# Columns of `RingLinks.sizes`.
ROWS = 0
KEYS = 1

# Columns of `RingLinks.columns`; behind them the columns of a row that are its key, or -1.
VARIABLES = 0  # the number of the variables that stand in them, the first column of a key
WORD = 1  # where the counter and the newest row of a key stand beside it
COLUMNS = 2


class LifeArrays(NamedTuple):
    """What is kept of rows (numbered by the one-way index of their values) and of the arrivals that hold them alive."""

    records: np.ndarray  # int64 [row, 2 + 3 * slots]: BIRTH, DEATH, then the links of each ring index
    heirs: np.ndarray  # int32, one a row: the row that has its values now, or -1
    places: np.ndarray  # int64: the place of each arrival that is inside, one circle a leaf
    inside: np.ndarray  # int32: its row
    queues: np.ndarray  # int64 [leaf, 4]: BASE, ROOM, FIRST, END


class RingLinks(NamedTuple):
    """Ring indexes of all leaves on top of one one-way index.

    Those on the same variables share their keys: so a row that is in one of them is as good as a look-up in the others.
    Beside each key stand its counter and its newest row (as in `freshet.kernels.index.RingArrays`) in each of them.
    """

    slots: np.ndarray  # int64 [leaf, slot]: the number of the ring index, or -1
    columns: np.ndarray  # int64 [ring index, 2 + column]: VARIABLES, WORD, then the columns of its keys
    sizes: np.ndarray  # int64 [ring index, 2]: ROWS, KEYS


class Batch(NamedTuple):
    """The rows whose lives began or ended in a batch, in order of leaf and then of moment."""

    born: np.ndarray  # int32
    born_ends: np.ndarray  # int64: where each leaf's begin and end
    dead: np.ndarray  # int32
    dead_ends: np.ndarray  # int64
    replaced: np.ndarray  # int32: the dead that have an heir


@njit
def _rows_of(index, keys, beside):
    """The row of each key, made where there is none. What stands `beside` a row is read next."""
    rows = np.empty(keys.shape[0], np.int32)
    width = beside.size // beside.shape[0]
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for first in range(0, keys.shape[0], BLOCK):
        stop = min(first + BLOCK, keys.shape[0])
        _look(index, keys, first, stop, tags, found)
        fetch_rows(index.counts, found, stop - first)
        fetch_rows(beside, found, stop - first)
        for at in range(first, stop):
            row = found[at - first]
            if row < 0:
                row = _entry_of(index, keys, at, tags[at - first])
                fetch(beside, row * width)
            rows[at] = row
    return rows


@no_arrays
def _successor(index, life, row):
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
    for column in range(index.keys.shape[1]):
        index.keys[heir, column] = index.keys[row, column]
    life.heirs[row] = heir
    return heir


@njit
def lives_step(index, life, keys, moments, places, ends, starts, first):
    """Let a batch in. Arrival `at` comes at moment first + moments[at]; at moment first + m what has a place before
    starts[leaf, m] is out. At one moment arrivals come before departures.

    Rows that were out at the moment they came are neither born nor dead.
    """
    rows = _rows_of(index, keys, life.records)
    leaves, steps = starts.shape
    held = np.int64(0)
    for leaf in range(leaves):
        held += life.queues[leaf, END] - life.queues[leaf, FIRST]
    born = np.empty(rows.shape[0], np.int32)
    dead = np.empty(rows.shape[0] + held, np.int32)
    replaced = np.empty(rows.shape[0], np.int32)
    born_ends = np.zeros(leaves + 1, np.int64)
    dead_ends = np.zeros(leaves + 1, np.int64)
    births = deaths = heirs = 0
    for leaf in range(leaves):
        base, mask = life.queues[leaf, BASE], life.queues[leaf, ROOM] - 1
        head, end = life.queues[leaf, FIRST], life.queues[leaf, END]
        oldest = life.places[base + (head & mask)]
        at, stop = ends[leaf], ends[leaf + 1]
        step = -1
        while step < steps - 1:
            coming = moments[at] if at < stop else steps - 1
            if head == end or oldest >= starts[leaf, max(coming - 1, 0)]:
                step = coming  # nothing leaves before
            else:
                step += 1
            moment = first + step
            while at < stop and moments[at] == step:
                row = np.int64(rows[at])
                while heirs > 0 and life.heirs[row] >= 0:
                    row = np.int64(life.heirs[row])
                if index.counts[row] == 0:
                    if first <= life.records[row, DEATH] < OPEN:
                        replaced[heirs] = row
                        heirs += 1
                        row = _successor(index, life, row)
                    index.sizes[IDLE] -= 1
                    life.records[row, BIRTH] = moment
                    life.records[row, DEATH] = OPEN
                    born[births] = row
                    births += 1
                index.counts[row] += 1
                life.places[base + (end & mask)] = places[at]
                life.inside[base + (end & mask)] = row
                if head == end:
                    oldest = places[at]
                end += 1
                at += 1
            while head < end and oldest < starts[leaf, step]:
                row = np.int64(life.inside[base + (head & mask)])
                soon = np.int64(life.inside[base + ((head + _AHEAD) & mask)])  # whatever stands there
                fetch(index.counts, soon)
                fetch(life.records, soon * life.records.shape[1])
                head += 1
                oldest = life.places[base + (head & mask)]
                index.counts[row] -= 1
                if index.counts[row] == 0:
                    index.sizes[IDLE] += 1
                    life.records[row, DEATH] = moment
                    if life.records[row, BIRTH] < moment:
                        dead[deaths] = row
                        deaths += 1
        life.queues[leaf, FIRST], life.queues[leaf, END] = head, end
        kept = born_ends[leaf]
        for at in range(kept, births):
            row = born[at]
            if life.records[row, BIRTH] < life.records[row, DEATH]:
                born[kept] = row
                kept += 1
        births = kept
        born_ends[leaf + 1] = births
        dead_ends[leaf + 1] = deaths
    return Batch(born[:births].copy(), born_ends, dead[:deaths].copy(), dead_ends, replaced[:heirs].copy())


@inlined
def is_idle(known, entry, first_word):
    """Whether a key has no row in any of the ring indexes that share it."""
    words = 0
    for word in range(first_word, known.shape[1]):
        words |= known[entry, word]
    return words == 0


@njit
def link_born(index, rings, records, values, rows, ends, only):
    """Put rows, leaf after leaf, in front of the rings of their keys (algorithm 1, insert).

    `only` is the number of the one ring index that takes them, or -1 for all of the leaf's.
    """
    known = index.keys
    width = rings.columns.shape[1] - COLUMNS
    keys = np.zeros((BLOCK, 1 + width), np.int64)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for leaf in range(rings.slots.shape[0]):
        for slot in range(rings.slots.shape[1]):
            number = rings.slots[leaf, slot]
            if number < 0 or (only >= 0 and only != number):
                continue
            keys[:, 0] = rings.columns[number, VARIABLES]
            place = rings.columns[number, WORD]
            links = LINKS + LINK_WIDTH * slot
            for first in range(ends[leaf], ends[leaf + 1], BLOCK):
                count = min(BLOCK, ends[leaf + 1] - first)
                for at in range(count):
                    for column in range(width):
                        source = rings.columns[number, COLUMNS + column]
                        keys[at, 1 + column] = values[rows[first + at], 1 + source] if source >= 0 else 0
                _look(index, keys, 0, count, tags, found)
                for at in range(count):
                    if found[at] >= 0:
                        fetch(records, (known[found[at], place] & ROW_MASK) * records.shape[1] + links)
                for at in range(count):
                    row = np.int64(rows[first + at])
                    entry = found[at]
                    if entry < 0:
                        entry = _entry_of(index, keys, at, tags[at])
                    word = known[entry, place]
                    head = np.int64(-1)
                    if word == 0:
                        index.sizes[IDLE] -= is_idle(known, entry, 1 + width)
                        rings.sizes[number, KEYS] += 1
                    else:
                        head = word & ROW_MASK
                        records[head, links + NEWER] = row
                    known[entry, place] = ((word >> 32) + 1) << 32 | row
                    records[row, links + OLDER] = head
                    records[row, links + NEWER] = -1
                    records[row, links + ENTRY] = entry
            rings.sizes[number, ROWS] += ends[leaf + 1] - ends[leaf]


@no_arrays
def unlink_dead(index, rings, records, rows, ends):
    """Take rows, leaf after leaf, out of their rings."""
    known, width = index.keys, records.shape[1]
    first_word = 1 + rings.columns.shape[1] - COLUMNS
    for leaf in range(rings.slots.shape[0]):
        for slot in range(rings.slots.shape[1]):
            number = rings.slots[leaf, slot]
            if number < 0:
                continue
            place = rings.columns[number, WORD]
            links = LINKS + LINK_WIDTH * slot
            for at in range(ends[leaf], ends[leaf + 1]):
                row = rows[at]
                fetch(records, max(records[row, links + OLDER], 0) * width + links)
                fetch(records, max(records[row, links + NEWER], 0) * width + links)
                fetch(known, records[row, links + ENTRY] * known.shape[1])
            for at in range(ends[leaf], ends[leaf + 1]):
                row = rows[at]
                older, newer = records[row, links + OLDER], records[row, links + NEWER]
                entry = records[row, links + ENTRY]
                word = known[entry, place] - ONE_ROW
                if newer >= 0:
                    records[newer, links + OLDER] = older
                else:
                    word = word & ~ROW_MASK | older & ROW_MASK
                if older >= 0:
                    records[older, links + NEWER] = newer
                if word < ONE_ROW:
                    known[entry, place] = 0
                    index.sizes[IDLE] += is_idle(known, entry, first_word)
                    rings.sizes[number, KEYS] -= 1
                else:
                    known[entry, place] = word
            rings.sizes[number, ROWS] -= ends[leaf + 1] - ends[leaf]


@njit
def let_in(index, life, ring_index, rings, arrived, first):
    """Let a batch of arrivals in, and put the rows born by them into the ring indexes."""
    batch = lives_step(index, life, arrived.keys, arrived.moments, arrived.places, arrived.ends, arrived.starts, first)
    link_born(ring_index, rings, life.records, index.keys, batch.born, batch.born_ends, -1)
    return batch


@njit
def let_out(index, life, ring_index, rings, batch):
    """A batch is done with: its dead leave the ring indexes, and rows that have an heir can be used again."""
    unlink_dead(ring_index, rings, life.records, batch.dead, batch.dead_ends)
    for row in batch.replaced:
        life.heirs[row] = -1
        index.free[index.sizes[FREE]] = row
        index.sizes[FREE] += 1
