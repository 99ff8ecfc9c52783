"""The one-way index and the ring index (operator-aware structures, section 3), as arrays.

A key is a row of int64 columns; keys are compared in full, the hash only finds the place. The table keeps 31 bits of
the hash beside the entry, so that a place taken by another key is seldom worth a look at that key, and a larger table
is filled without hashing anything again. An entry keeps its number while its key is in the index, so entry numbers
serve as row pointers. Keys whose counter has fallen to zero stay until `index_sweep` deletes them in one batch; a
key that comes again before that gets its old entry back.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import njit

# Places in `IndexArrays.sizes`.
USED = 0  # entries ever handed out, the live ones and those in `free` below this number
IDLE = 1  # entries whose counter is zero but whose key is still in the table
FREE = 2  # entries in `free`

BLOCK = 64  # rows whose waits for memory overlap


class IndexArrays(NamedTuple):
    """Key -> entry with a counter (one-way index)."""

    table: np.ndarray  # int64, a power of two long: hash << 32 | entry, or -1
    keys: np.ndarray  # int64, one row an entry
    counts: np.ndarray  # int32, one an entry
    free: np.ndarray  # int32, a stack of entries to use again
    sizes: np.ndarray  # int64: USED, IDLE, FREE


class RingArrays(NamedTuple):
    """Rows of equal key, newest first, on top of a one-way index."""

    heads: np.ndarray  # int32, one an entry: its newest row or -1
    older: np.ndarray  # int32, one a row
    newer: np.ndarray  # int32, one a row
    entries: np.ndarray  # int32, one a row


@njit
def _key_hash(keys, row):
    """A 31-bit hash of one row of keys."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for column in range(keys.shape[1]):
        h ^= np.uint64(keys[row, column])
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    return np.int64(h >> np.uint64(33))


@njit
def _same(index, entry, keys, row):
    same = True
    for column in range(keys.shape[1]):
        same &= index.keys[entry, column] == keys[row, column]
    return same


@njit
def _look(index, keys, first, stop, tags, entries):
    """Hash a block of keys and look at the first place of each: its entry where the key stands there, else -1.

    Most of an index's time goes into waiting for memory. Each loop does one kind of access, so that the waits of a
    block overlap; who has to look further finds the place in the cache.
    """
    mask = index.table.shape[0] - 1
    for row in range(first, stop):
        tag = _key_hash(keys, row)
        tags[row - first] = tag
        entries[row - first] = index.table[tag & mask]
    for at in range(stop - first):
        slot = entries[at]
        if slot >= 0:
            entry = slot & 0xFFFFFFFF
            entries[at] = entry if slot >> 32 == tags[at] and _same(index, entry, keys, first + at) else -1


@njit
def _find(index, keys, row, tag):
    """The entry of a key with this hash, or -1, and the empty place where it would stand."""
    mask = index.table.shape[0] - 1
    place = tag & mask
    while True:
        slot = index.table[place]
        if slot < 0:
            return np.int64(-1), place
        if slot >> 32 == tag:
            entry = slot & 0xFFFFFFFF
            if _same(index, entry, keys, row):
                return entry, place
        place = (place + 1) & mask


@njit
def _entry_of(index, keys, row, tag):
    """The entry of a key, made if it is not there yet. Its counter is left as it is."""
    entry, place = _find(index, keys, row, tag)
    if entry >= 0:
        return entry
    if index.sizes[FREE] > 0:
        index.sizes[FREE] -= 1
        entry = np.int64(index.free[index.sizes[FREE]])
    else:
        entry = index.sizes[USED]
        index.sizes[USED] += 1
    index.table[place] = tag << 32 | entry
    index.counts[entry] = 0
    index.sizes[IDLE] += 1
    for column in range(keys.shape[1]):
        index.keys[entry, column] = keys[row, column]
    return entry


@njit
def index_add(index, keys):
    """Count each key once more. Gives the entry of each, and which of them counted nothing before."""
    entries = np.empty(keys.shape[0], np.int32)
    fresh = np.empty(keys.shape[0], np.bool_)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for first in range(0, keys.shape[0], BLOCK):
        stop = min(first + BLOCK, keys.shape[0])
        _look(index, keys, first, stop, tags, found)
        for row in range(first, stop):
            entry = found[row - first]
            if entry < 0:
                entry = _entry_of(index, keys, row, tags[row - first])
            fresh[row] = index.counts[entry] == 0
            if fresh[row]:
                index.sizes[IDLE] -= 1
            index.counts[entry] += 1
            entries[row] = entry
    return entries, fresh


@njit
def index_release(index, entries):
    """Count each entry once less. Gives the entries whose counter fell to zero."""
    dead = np.empty(entries.shape[0], np.int32)
    found = 0
    for entry in entries:
        index.counts[entry] -= 1
        if index.counts[entry] == 0:
            index.sizes[IDLE] += 1
            dead[found] = entry
            found += 1
    return dead[:found].copy()


@njit
def index_take(index, keys):
    """For each key in turn: True, and counted once less, where its counter is above zero."""
    taken = np.zeros(keys.shape[0], np.bool_)
    for row in range(keys.shape[0]):
        entry, _ = _find(index, keys, row, _key_hash(keys, row))
        if entry >= 0 and index.counts[entry] > 0:
            index.counts[entry] -= 1
            taken[row] = True
    return taken


@njit
def index_sweep(old_table, index):
    """Fill the empty table of `index` from its old one, without the keys that count nothing: their entries are free.

    Free entries are handed out from the lowest on, so that keys that come together stand together.
    """
    mask = index.table.shape[0] - 1
    for slot in old_table:
        if slot < 0 or index.counts[slot & 0xFFFFFFFF] == 0:
            continue
        place = (slot >> 32) & mask
        while index.table[place] >= 0:
            place = (place + 1) & mask
        index.table[place] = slot
    free = 0
    for entry in range(index.sizes[USED] - 1, -1, -1):
        if index.counts[entry] == 0:
            index.free[free] = entry
            free += 1
    index.sizes[IDLE] = 0
    index.sizes[FREE] = free


@njit
def ring_link(index, ring, rows, values, columns):
    """Put rows in front of the rings of their keys, which are some columns of `values` (algorithm 1, insert)."""
    keys = np.empty((BLOCK, columns.shape[0]), np.int64)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for first in range(0, rows.shape[0], BLOCK):
        count = min(BLOCK, rows.shape[0] - first)
        for at in range(count):
            for column in range(columns.shape[0]):
                keys[at, column] = values[rows[first + at], columns[column]]
        _look(index, keys, 0, count, tags, found)
        for at in range(count):
            row = rows[first + at]
            entry = found[at]
            if entry < 0:
                entry = _entry_of(index, keys, at, tags[at])
            head = np.int32(-1)
            if index.counts[entry] == 0:
                index.sizes[IDLE] -= 1
            else:
                head = ring.heads[entry]
                ring.newer[head] = row
            index.counts[entry] += 1
            ring.heads[entry] = row
            ring.older[row] = head
            ring.newer[row] = -1
            ring.entries[row] = entry


@njit
def ring_unlink(index, ring, rows):
    """Take rows out of their rings, each in constant time and without a look-up."""
    for row in rows:
        entry = ring.entries[row]
        older, newer = ring.older[row], ring.newer[row]
        if newer >= 0:
            ring.older[newer] = older
        else:
            ring.heads[entry] = older
        if older >= 0:
            ring.newer[older] = newer
        index.counts[entry] -= 1
        if index.counts[entry] == 0:
            index.sizes[IDLE] += 1


@njit
def ring_probe(index, ring, keys, born, before):
    """All rows that have the keys (algorithm 2, probe), as pairs of (which key, row).

    Only rows with born[row] < before are seen.
    """
    entries = np.empty(keys.shape[0], np.int32)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    most = 0
    for first in range(0, keys.shape[0], BLOCK):
        stop = min(first + BLOCK, keys.shape[0])
        _look(index, keys, first, stop, tags, found)
        for at in range(first, stop):
            entry = found[at - first]
            if entry < 0:
                entry, _ = _find(index, keys, at, tags[at - first])
            entries[at] = entry
            if entry >= 0:
                most += index.counts[entry]
    lefts = np.empty(most, np.int64)
    rows = np.empty(most, np.int32)
    hits = 0
    for at in range(keys.shape[0]):
        entry = entries[at]
        if entry < 0 or index.counts[entry] == 0:
            continue
        row = ring.heads[entry]
        while row >= 0:
            if born[row] < before:
                lefts[hits] = at
                rows[hits] = row
                hits += 1
            row = ring.older[row]
    return lefts[:hits], rows[:hits]


@njit
def turn_linked(index, keys, leaving, born, number, ring_index, ring, columns):
    """`index_add` of keys, then `index_release` of rows, with the rings of the rows that are new and gone.

    One call in place of four, which counts where it is for a row or two. Gives the row of each key, the new rows, which
    are born at this step, and those that are gone.
    """
    rows, fresh = index_add(index, keys)
    new = rows[fresh]
    for row in new:
        born[row] = number
    ring_link(ring_index, ring, new, index.keys, columns)
    dead = index_release(index, leaving)
    ring_unlink(ring_index, ring, dead)
    return rows, new, dead


@njit
def ring_pairs(index, ring, rows, values, columns, born, before, place):
    """Each of the rows beside every row that `ring_probe` finds for it: the former in column `place`, of two."""
    keys = np.empty((rows.shape[0], columns.shape[0]), np.int64)
    for at in range(rows.shape[0]):
        for column in range(columns.shape[0]):
            keys[at, column] = values[rows[at], columns[column]]
    lefts, found = ring_probe(index, ring, keys, born, before)
    pairs = np.empty((lefts.shape[0], 2), np.int32)
    for at in range(lefts.shape[0]):
        pairs[at, place] = rows[lefts[at]]
        pairs[at, 1 - place] = found[at]
    return pairs
