"""The one-way index and the ring index (operator-aware structures, section 3), as arrays.

A key is a row of int64 columns; keys are compared in full, the hash only finds the place. The table keeps 31 bits of
the hash beside the entry, so that a place taken by another key is seldom worth a look at that key, and a larger table
is filled without hashing anything again. An entry keeps its number while its key is in the index, so entry numbers
serve as row pointers. Keys whose counter has fallen to zero stay until `index_sweep` deletes them in one batch; a
key that comes again before that gets its old entry back.

Most of an index's time goes into waiting for memory. Rows go in blocks, and what a block needs is asked for beforehand:
so the waits of a block overlap, and what follows finds it in the cache.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import inlined, leaf, njit
from freshet.kernels.prefetch import fetch, fetch_rows

# Places in `IndexArrays.sizes`.
USED = 0  # entries ever handed out, the live ones and those in `free` below this number
IDLE = 1  # entries whose counter is zero but whose key is still in the table
FREE = 2  # entries in `free`

UNSEEN = -(2**62)  # what `_look_up` gives for a key that it cannot answer for
BLOCK = 128  # rows whose waits for memory overlap
_LAST_OF_LINE = 7  # a line of the cache has eight places of the table
_AHEAD = 24  # how many rows that leave ahead what they need is asked for

# Beside a key of a ring: how many rows it has, and which is the newest.
ONE_ROW = 1 << 32
ROW_MASK = ONE_ROW - 1


class IndexArrays(NamedTuple):
    """Key -> entry with a counter (one-way index)."""

    table: np.ndarray  # int64, a power of two long: hash << 32 | entry, or -1
    keys: np.ndarray  # int64, one row an entry
    counts: np.ndarray  # int32, one an entry
    free: np.ndarray  # int32, a stack of entries to use again
    sizes: np.ndarray  # int64: USED, IDLE, FREE


class RingArrays(NamedTuple):
    """Rows of equal key, newest first.

    The keys of a ring's one-way index have one more column, where the counter and the newest row of a key stand beside
    it: counter << 32 | row, or 0. (The index's own counters are brought up to date when it is swept.)
    """

    older: np.ndarray  # int32, one a row: the next of its ring, or -1
    newer: np.ndarray  # int32, one a row: the one before, or -1
    entries: np.ndarray  # int32, one a row


@inlined
def _key_hash(keys, row):
    """A 31-bit hash of one row of keys."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for column in range(keys.shape[1]):
        h ^= np.uint64(keys[row, column])
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    return np.int64(h >> np.uint64(33))


@inlined
def _same(index, entry, keys, row):
    same = True
    for column in range(keys.shape[1]):
        same &= index.keys[entry, column] == keys[row, column]
    return same


@inlined
def next_place(place, tag, mask):
    """Where a key with this hash may stand if not at a place: around its line of the cache, which is there, then on."""
    around = place & ~_LAST_OF_LINE | (place + 1) & _LAST_OF_LINE
    return around if (around ^ tag) & _LAST_OF_LINE else (around + _LAST_OF_LINE + 1) & mask


@leaf
def _look_up(index, keys, first, stop, tags, entries):
    """Hash a block of keys and look each up: its entry, or a negative number.

    That is -1 - place for a key that is not there, with the empty place where it would stand, and UNSEEN (hardly ever)
    where another key has the same hash.
    """
    table, known = index.table, index.keys
    mask = table.shape[0] - 1
    width = known.shape[1]
    count = stop - first
    for at in range(count):
        tags[at] = _key_hash(keys, first + at)
        fetch(table, tags[at] & mask)
    for at in range(count):
        tag = tags[at]
        place = tag & mask
        slot = table[place]
        while slot >= 0 and slot >> 32 != tag:
            place = next_place(place, tag, mask)
            slot = table[place]
        entries[at] = slot & 0xFFFFFFFF if slot >= 0 else -1 - place
        fetch(known, max(entries[at], 0) * width)
    for column in range(keys.shape[1]):
        for at in range(count):
            entry = entries[at]
            same = known[max(entry, 0), column] == keys[first + at, column]
            entries[at] = entry if same or entry < 0 else UNSEEN


@leaf
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
        place = next_place(place, tag, mask)


@inlined
def _new_entry(index, keys, row, tag, place):
    """An entry for a key at an empty place of the table. It counts nothing yet."""
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
    for column in range(keys.shape[1], index.keys.shape[1]):
        index.keys[entry, column] = 0
    return entry


@leaf
def _entry_of(index, keys, row, tag):
    """The entry of a key, made if it is not there yet. Its counter is left as it is."""
    entry, place = _find(index, keys, row, tag)
    return entry if entry >= 0 else _new_entry(index, keys, row, tag, place)


@leaf
def _entry_or_new(index, keys, row, tag, looked_up):
    """The entry of a key for which `_look_up` gave none: made, unless a key before it in its block was equal to it."""
    place = -1 - looked_up
    if looked_up != UNSEEN and index.table[place] < 0:
        return _new_entry(index, keys, row, tag, place)
    return _entry_of(index, keys, row, tag)


@leaf
def _entry_if_known(index, keys, row, tag, looked_up):
    """The entry of a key for which `_look_up` gave none, or -1, where nothing has been entered since."""
    return _find(index, keys, row, tag)[0] if looked_up == UNSEEN else np.int64(-1)


@njit
def put_entries(index, keys, first, count, entries):
    """Write down the entry of each key from a place on, made where there is none; counters are left as they are."""
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for start in range(0, count, BLOCK):
        stop = min(start + BLOCK, count)
        _look_up(index, keys, first + start, first + stop, tags, found)
        fetch_rows(index.counts, found, stop - start)
        for at in range(start, stop):
            entry = found[at - start]
            if entry < 0:
                place, tag = -1 - entry, tags[at - start]
                if entry == UNSEEN or index.table[place] >= 0:
                    entry = _entry_of(index, keys, first + at, tag)
                else:  # as it mostly is where a window takes rows in: without a call
                    entry = _new_entry(index, keys, first + at, tag, place)
            entries[at] = entry


@njit
def entries_of(index, keys):
    """The entry of each key, made where there is none; counters are left as they are."""
    entries = np.empty(keys.shape[0], np.int32)
    put_entries(index, keys, 0, keys.shape[0], entries)
    return entries


@njit
def index_add(index, keys):
    """Count each key once more. Gives the entry of each, and which of them counted nothing before."""
    counts, sizes = index.counts, index.sizes
    entries = np.empty(keys.shape[0], np.int32)
    fresh = np.empty(keys.shape[0], np.bool_)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for first in range(0, keys.shape[0], BLOCK):
        stop = min(first + BLOCK, keys.shape[0])
        _look_up(index, keys, first, stop, tags, found)
        fetch_rows(counts, found, stop - first)
        for row in range(first, stop):
            entry = found[row - first]
            if entry < 0:
                entry = _entry_or_new(index, keys, row, tags[row - first], entry)
            fresh[row] = counts[entry] == 0
            sizes[IDLE] -= fresh[row]
            counts[entry] += 1
            entries[row] = entry
    return entries, fresh


@njit
def index_find(index, keys):
    """The entry of each key that counts something, -1 for all others."""
    counts = index.counts
    entries = np.empty(keys.shape[0], np.int32)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for first in range(0, keys.shape[0], BLOCK):
        stop = min(first + BLOCK, keys.shape[0])
        _look_up(index, keys, first, stop, tags, found)
        fetch_rows(counts, found, stop - first)
        for row in range(first, stop):
            entry = found[row - first]
            if entry < 0:
                entry = _entry_if_known(index, keys, row, tags[row - first], entry)
            entries[row] = entry if entry >= 0 and counts[entry] > 0 else -1
    return entries


@njit
def index_release(index, entries):
    """Count each entry once less. Gives the entries whose counter fell to zero."""
    counts = index.counts
    dead = np.empty(entries.shape[0], np.int32)
    found = 0
    for first in range(0, entries.shape[0], BLOCK):
        block = entries[first : first + BLOCK]
        fetch_rows(counts, block, block.shape[0])
        for entry in block:
            counts[entry] -= 1
            dead[found] = entry
            found += counts[entry] == 0
    index.sizes[IDLE] += found
    return dead[:found].copy()


@njit
def index_take(index, keys):
    """For each key in turn: True, and counted once less, where its counter is above zero."""
    counts = index.counts
    taken = np.zeros(keys.shape[0], np.bool_)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for first in range(0, keys.shape[0], BLOCK):
        stop = min(first + BLOCK, keys.shape[0])
        _look_up(index, keys, first, stop, tags, found)
        fetch_rows(counts, found, stop - first)
        for row in range(first, stop):
            entry = found[row - first]
            if entry < 0:
                entry = _entry_if_known(index, keys, row, tags[row - first], entry)
            if entry >= 0 and counts[entry] > 0:
                counts[entry] -= 1
                taken[row] = True
    return taken


@njit
def index_sweep(old_table, index):
    """Fill the empty table of `index` from its old one, without the keys that count nothing: their entries are free.

    Free entries are handed out from the lowest on, so that keys that come together stand together.
    """
    table, counts, unused = index.table, index.counts, index.free
    mask = table.shape[0] - 1
    entries = np.empty(BLOCK, np.int64)
    kept = np.empty(BLOCK, np.int64)
    for first in range(0, old_table.shape[0], BLOCK):
        block = old_table[first : first + BLOCK]  # tables are longer than a block, and both are powers of two
        filled = 0
        for slot in block:  # no branch here and below: which place is empty and which key counts cannot be predicted
            kept[filled] = slot
            filled += slot >= 0
        for at in range(filled):
            entries[at] = kept[at] & 0xFFFFFFFF
            fetch(counts, entries[at])
        living = 0
        for at in range(filled):
            kept[living] = kept[at]
            living += counts[entries[at]] > 0
        for at in range(living):
            tag = kept[at] >> 32
            place = tag & mask
            while table[place] >= 0:
                place = next_place(place, tag, mask)
            table[place] = kept[at]
    free = 0
    for entry in range(index.sizes[USED] - 1, -1, -1):
        unused[free] = entry
        free += counts[entry] == 0
    index.sizes[IDLE] = 0
    index.sizes[FREE] = free


@leaf
def push_newest(index, ring, entry, row):
    """Put a row in front of the ring of an entry; gives how long the ring is then."""
    known, last = index.keys, index.keys.shape[1] - 1
    word = known[entry, last]
    head = np.int32(-1)
    if word == 0:
        index.sizes[IDLE] -= 1
    else:
        head = np.int32(word & ROW_MASK)
        ring.newer[head] = row
    length = (word >> 32) + 1
    known[entry, last] = length << 32 | row
    ring.older[row] = head
    ring.newer[row] = -1
    ring.entries[row] = entry
    return length


@leaf
def pop_newest(index, ring, keys, at):
    """Take the newest row of a key out of its ring; gives the row, -1 where there is none."""
    known, last = index.keys, index.keys.shape[1] - 1
    entry, _ = _find(index, keys, at, _key_hash(keys, at))
    word = known[entry, last] if entry >= 0 else 0
    if word == 0:
        return np.int64(-1)
    row = np.int64(word & ROW_MASK)
    older = ring.older[row]
    if older >= 0:
        ring.newer[older] = -1
        known[entry, last] = ((word - ONE_ROW) & ~ROW_MASK) | older
    else:
        known[entry, last] = 0
        index.sizes[IDLE] += 1
    return row


@njit
def ring_link(index, ring, rows, values, columns):
    """Put rows in front of the rings of their keys, which are some columns of `values` (algorithm 1, insert).

    Gives the length of the longest of these rings.
    """
    known, newer = index.keys, ring.newer
    width = columns.shape[0]
    largest = np.int64(0)
    keys = np.empty((BLOCK, width), np.int64)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for first in range(0, rows.shape[0], BLOCK):
        count = min(BLOCK, rows.shape[0] - first)
        for column in range(width):
            for at in range(count):
                keys[at, column] = values[rows[first + at], columns[column]]
        _look_up(index, keys, 0, count, tags, found)
        for at in range(count):
            if found[at] >= 0:
                fetch(newer, known[found[at], width] & ROW_MASK)
        for at in range(count):
            row = rows[first + at]
            entry = found[at]
            if entry < 0:
                entry = _entry_or_new(index, keys, at, tags[at], entry)
            largest = max(largest, push_newest(index, ring, entry, row))
    return largest


@njit
def ring_counts(index, keys):
    """How many rows each key has."""
    known, width = index.keys, keys.shape[1]
    counts = np.empty(keys.shape[0], np.int64)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    for first in range(0, keys.shape[0], BLOCK):
        stop = min(first + BLOCK, keys.shape[0])
        _look_up(index, keys, first, stop, tags, found)
        for at in range(first, stop):
            entry = found[at - first]
            if entry < 0:
                entry = _entry_if_known(index, keys, at, tags[at - first], entry)
            counts[at] = known[entry, width] >> 32 if entry >= 0 else 0
    return counts


@njit
def ring_unlink(index, ring, rows):
    """Take rows out of their rings, each in constant time and without a look-up."""
    known, sizes = index.keys, index.sizes
    older, newer, entries = ring
    width = known.shape[1]
    last = width - 1
    ahead = min(_AHEAD, rows.shape[0])
    for at in range(-ahead, rows.shape[0]):
        row = rows[min(at + ahead, rows.shape[0] - 1)]
        fetch(known, np.int64(entries[row]) * width)
        fetch(older, max(newer[row], 0))
        fetch(newer, max(older[row], 0))
        if at >= 0:
            row = rows[at]
            entry, before, after = entries[row], older[row], newer[row]
            word = known[entry, last] - ONE_ROW
            if after >= 0:
                older[after] = before
            else:
                word = word & ~ROW_MASK | before & ROW_MASK
            if before >= 0:
                newer[before] = after
            sizes[IDLE] += word < ONE_ROW
            known[entry, last] = word if word >= ONE_ROW else 0


@njit
def _walk(older, places, rows, fronts, lengths, active):
    """Write down the rings of a block, row after row of each in turn, so that their waits overlap.

    Ring i starts at row fronts[i], has lengths[i] rows (one at least) and goes to rows[places[i]:].
    """
    while active > 0:
        going = 0
        for ring in range(active):
            row, place, length = fronts[ring], places[ring], lengths[ring] - 1
            rows[place] = row
            fronts[going], places[going], lengths[going] = row, place + 1, length
            going += length > 0
        active = going
        for ring in range(active):
            fronts[ring] = older[fronts[ring]]


@njit
def _alive_at(lefts, rows, born, died, moments, ties):
    """Keep the pairs whose rows live at the moments of their keys; says how many there are."""
    kept = 0
    for first in range(0, rows.shape[0], BLOCK):
        count = min(BLOCK, rows.shape[0] - first)
        fetch_rows(born, rows[first:], count)
        fetch_rows(died, rows[first:], count)
        for at in range(first, first + count):
            row = rows[at]
            moment = moments[lefts[at]]
            lefts[kept], rows[kept] = lefts[at], row
            kept += (born[row] < moment + ties) & (died[row] > moment)
    return kept


@njit
def ring_probe(index, ring, keys, born, died, moments, ties, is_still):
    """All rows that have the keys (algorithm 2, probe) and live at the moments beside them, as pairs (which key, row).

    A row that is born at the moment of a key is seen where `ties` is 1. Where all rows are known to live at all moments
    (`is_still`), that is not tested.
    """
    known, width = index.keys, keys.shape[1]
    words = np.empty(keys.shape[0], np.int64)
    tags = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    total = 0
    for first in range(0, keys.shape[0], BLOCK):
        stop = min(first + BLOCK, keys.shape[0])
        _look_up(index, keys, first, stop, tags, found)
        for at in range(first, stop):
            entry = found[at - first]
            if entry < 0:
                entry = _entry_if_known(index, keys, at, tags[at - first], entry)
            words[at] = known[entry, width] if entry >= 0 else 0
            total += words[at] >> 32
    lefts = np.empty(total, np.int64)
    rows = np.empty(total, np.int32)
    places = np.empty(BLOCK, np.int64)
    fronts = np.empty(BLOCK, np.int32)
    lengths = np.empty(BLOCK, np.int32)
    hits = 0
    for first in range(0, keys.shape[0], BLOCK):
        active = 0
        for at in range(first, min(first + BLOCK, keys.shape[0])):
            length = words[at] >> 32
            if length > 0:
                fronts[active], places[active], lengths[active] = words[at] & ROW_MASK, hits, length
                active += 1
                for hit in range(hits, hits + length):
                    lefts[hit] = at
                hits += length
        _walk(ring.older, places, rows, fronts, lengths, active)
    if not is_still:
        hits = _alive_at(lefts, rows, born, died, moments, ties)
    return lefts[:hits], rows[:hits]
