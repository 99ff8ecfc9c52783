"""Triples that are appended to a graph: flat arrays, linked from the oldest to the newest of equal key.

Each direction (out: by subject, in: by object) has `nodes`, one a triple, and entries, one for each key of a vertex and
a predicate, which a hash table finds. Predicates go by small numbers, their groups. Rows are linked by their numbers
plus one, so that 0, which everything is filled with, means none.

| array   | word 0       | word 1                                             | word 2                      |
| ------- | ------------ | -------------------------------------------------- | --------------------------- |
| nodes   | other vertex | group << 32, next row + 1 of the key                | -                           |
| entries | vertex       | group << 32, how many rows                          | first row + 1 << 32, last + 1 |

A slot of a table is `tag << 32 | number + 1`, 0 where it is free; the tag is a hash of 31 bits, whose highest bits say
where the search begins. A table has as many rows as there are shards: each is filled by one thread, and a search stays
within its row. Entry numbers are dealt out to the shards in turns. Beside the table of a direction's keys there is a
filter, small enough for the cache: a bit for every quarter of a slot, set where a key's tag points. Most keys that a
reader asks for have no appended rows, and the filter says so.

One writer (or one for each shard) appends while others read. A reader has a limit, the number of rows that are its own:
those below it never change but for the link of a chain's last row, which goes from 0 to a row beyond the limit. So what
a reader sees depends in no way on what the writer does meanwhile, or in what order its writes become visible. That is
also why a triple that comes again with an earlier time leaves `times` as it is: another array has the earliest times.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import njit
from freshet.kernels.prefetch import fetch
from freshet.kernels.sorted_triples import find_range, first_place, narrow_range

BLOCK = 64
ELSEWHERE = -2  # a row that another shard looks after
KNOWN = -1  # a triple that is there already
EARLIER = -3  # one that is there in row r, with a later time, is EARLIER - r
LOW = np.int64(0xFFFFFFFF)

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
_LAST = np.uint64(0xFF51AFD7ED558CCD)


class SortedBase(NamedTuple):
    """What stands in the base already: its order by subject, and the group that each predicate has there, or -1."""

    slots: np.ndarray
    firsts: np.ndarray
    shifts: np.ndarray
    seconds: np.ndarray
    groups: np.ndarray


@njit
def key_tag(vertex, group):
    h = np.uint64(vertex) * _FIRST + np.uint64(group) * _SECOND
    h ^= h >> np.uint64(32)
    h *= _LAST
    return np.int64(h >> np.uint64(33))


@njit
def triple_tag(subject, group, object):
    h = np.uint64(subject) * _FIRST + np.uint64(group) * _SECOND
    h ^= h >> np.uint64(29)
    h += np.uint64(object)
    h *= _LAST
    h ^= h >> np.uint64(32)
    h *= _FIRST
    return np.int64(h >> np.uint64(33))


@njit
def bits_of(size):
    """The exponent of a power of two."""
    bits = 0
    while size > 1:
        bits += 1
        size >>= 1
    return bits


@njit
def filter_shift(table):
    """How far a tag is shifted to be the number of its bit in the filter."""
    return max(0, tag_shift(table) - 2)


@njit
def tag_shift(table):
    """How far a tag is shifted to be the first place of its search."""
    return 31 - bits_of(table.size)


@njit
def enter_groups(predicates, slots, known, first):
    """Enter predicates that are not there yet, as the groups from `first` on."""
    mask = slots.size - 1
    for i in range(predicates.size):
        at = key_tag(predicates[i], 0) & mask
        while slots[at] != 0:
            at = (at + 1) & mask
        known[first + i] = predicates[i]
        slots[at] = first + i + 1


@njit
def find_groups(predicates, slots, known):
    """The group of each predicate, or -1."""
    groups = np.full(predicates.size, -1, np.int64)
    mask = slots.size - 1
    for i in range(predicates.size):
        at = key_tag(predicates[i], 0) & mask
        while slots[at] != 0 and groups[i] < 0:
            group = slots[at] - 1
            if group < known.size and known[group] == predicates[i]:
                groups[i] = group
            at = (at + 1) & mask
    return groups


@njit
def _in_base(base, ends, subject, group, object):
    if base.groups.size == 0 or base.groups[group] < 0:
        return False
    there = base.groups[group]
    found = find_range(base.slots, base.firsts[there], base.shifts[there], subject)
    if found != 0:
        found = narrow_range(base.seconds, found, object)
    return found != 0 and (ends.size == 0 or ends[found >> 32] == 0)


@njit
def mark_fresh(
    places, base, base_ends, ends, table, used, out, into, earliest, first_row,
    subjects, groups, objects, new_times, shard, are_new,
):  # fmt: skip
    """Enter triples in `table`, and say where: KNOWN where one is there already, ELSEWHERE in another shard.

    Triple i is entered as row first_row + i; `settle` says later which it is. One that comes twice in the batch has the
    earliest of its times; one that was there with a later time is EARLIER less its row. `used` counts what each shard
    has in the table. Rows that have ended (`base_ends`, `ends`: see `ended_rows`) do not count. With `are_new` it is
    known that no triple is there.
    """
    tags = np.empty(BLOCK, np.int64)
    slots = table.reshape(table.size)
    shift, shard_shift, mask = tag_shift(table), bits_of(table.shape[1]), table.shape[1] - 1
    for begin in range(0, subjects.size, BLOCK):
        size = min(BLOCK, subjects.size - begin)
        for j in range(size):
            tags[j] = triple_tag(subjects[begin + j], groups[begin + j], objects[begin + j])
            fetch(slots, tags[j] >> shift)
            if base.groups.size > 0 and base.groups[groups[begin + j]] >= 0:
                there = base.groups[groups[begin + j]]
                fetch(base.slots, first_place(base.firsts[there], base.shifts[there], subjects[begin + j]))
        for j in range(size):
            i = begin + j
            at = tags[j] >> shift
            if at >> shard_shift != shard:
                places[i] = ELSEWHERE
                continue
            if not are_new and _in_base(base, base_ends, subjects[i], groups[i], objects[i]):
                places[i] = KNOWN
                continue
            places[i] = at
            while slots[at] != 0:
                if not are_new and slots[at] >> 32 == tags[j]:
                    row = (slots[at] & LOW) - 1
                    if row < ends.size and ends[row] != 0:
                        pass
                    elif row >= first_row:
                        k = row - first_row
                        if subjects[k] == subjects[i] and groups[k] == groups[i] and objects[k] == objects[i]:
                            new_times[k] = min(new_times[k], new_times[i])
                            places[i] = KNOWN
                            break
                    elif out[row, 0] == objects[i] and out[row, 1] >> 32 == groups[i] and into[row, 0] == subjects[i]:
                        places[i] = EARLIER - row if new_times[i] < earliest[row] else KNOWN
                        break
                at = (at & ~mask) | ((at + 1) & mask)
            if places[i] >= 0:
                slots[at] = tags[j] << 32 | (first_row + i + 1)
                places[i] = at
                used[shard] += 1


@njit
def number_fresh(places, first_row):
    """The rows that new triples get, -1 for those that are there already; how many are new, and how many are earlier.

    `places` has what `mark_fresh` says for each shard.
    """
    rows = np.empty(places.shape[1], np.int64)
    count, earlier = 0, 0
    for i in range(rows.size):
        rows[i] = -1
        for shard in range(places.shape[0]):
            if places[shard, i] >= 0:
                rows[i] = first_row + count
                count += 1
            elif places[shard, i] <= EARLIER:
                earlier += 1
    return rows, count, earlier


@njit
def lower_times(earliest, places, new_times):
    """Make the earliest times of rows those of triples that came again with an earlier one."""
    for i in range(new_times.size):
        for shard in range(places.shape[0]):
            if places[shard, i] <= EARLIER:
                row = EARLIER - places[shard, i]
                earliest[row] = min(earliest[row], new_times[i])


@njit
def settle(table, places, rows, first_row):
    """Enter the rows that fresh triples have got in the table of triples."""
    slots = table.reshape(table.size)
    for i in range(places.size):
        if places[i] >= 0 and rows[i] != first_row + i:
            at = places[i]
            slots[at] = (slots[at] & ~LOW) | (rows[i] + 1)


@njit
def set_times(times, rows, new_times):
    """The times of new rows."""
    for i in range(rows.size):
        if rows[i] >= 0:
            times[rows[i]] = new_times[i]


@njit
def link_rows(table, filter, entries, nodes, used, different, shard, keys, groups, others, rows):
    """Append rows to the chains of their keys; rows[i] is -1 where there is nothing to append.

    `used` has the number of entries of each shard, `different` the number of keys of each group, for each shard.
    """
    slots = table.reshape(table.size)
    shards = table.shape[0]
    shift, shard_shift, mask = tag_shift(table), bits_of(table.shape[1]), table.shape[1] - 1
    bit_shift = filter_shift(table)
    tags = np.empty(BLOCK, np.int64)
    for begin in range(0, keys.size, BLOCK):
        size = min(BLOCK, keys.size - begin)
        for j in range(size):
            tags[j] = key_tag(keys[begin + j], groups[begin + j])
            fetch(slots, tags[j] >> shift)
        for j in range(size):
            slot = slots[tags[j] >> shift]
            if slot != 0:
                fetch(entries, 3 * ((slot & LOW) - 1))
        for j in range(size):
            i = begin + j
            row = rows[i]
            at = tags[j] >> shift
            if row < 0 or at >> shard_shift != shard:
                continue
            nodes[row, 0] = others[i]
            nodes[row, 1] = groups[i] << 32
            while slots[at] != 0:
                if slots[at] >> 32 == tags[j]:
                    entry = (slots[at] & LOW) - 1
                    if entries[entry, 0] == keys[i] and entries[entry, 1] >> 32 == groups[i]:
                        break
                at = (at & ~mask) | ((at + 1) & mask)
            if slots[at] == 0:
                entry = used[shard] * shards + shard
                used[shard] += 1
                different[shard, groups[i]] += 1
                entries[entry, 1] = groups[i] << 32 | 1
                entries[entry, 2] = (row + 1) << 32 | (row + 1)
                entries[entry, 0] = keys[i]
                bit = tags[j] >> bit_shift
                filter[bit >> 6] |= np.int64(1) << (bit & 63)
                slots[at] = tags[j] << 32 | (entry + 1)
            else:
                word = entries[entry, 2]
                nodes[(word & LOW) - 1, 1] = groups[i] << 32 | (row + 1)
                entries[entry, 1] += 1
                entries[entry, 2] = (word & ~LOW) | (row + 1)


@njit
def link_groups(along, ends, groups, rows):
    """Append rows to the chains of their groups; `ends` has first row + 1, last row + 1 and the count of each group."""
    for i in range(rows.size):
        row = rows[i]
        if row < 0:
            continue
        group = groups[i]
        if ends[group, 2] == 0:
            ends[group, 0] = row + 1
        else:
            along[ends[group, 1] - 1] = row + 1
        ends[group, 1] = row + 1
        ends[group, 2] += 1


@njit
def refill(table, larger):
    """Enter all that a table has in a larger one, which is empty."""
    slots, free = table.reshape(table.size), larger.reshape(larger.size)
    shift, mask = tag_shift(larger), larger.shape[1] - 1
    for i in range(slots.size):
        if slots[i] != 0:
            at = (slots[i] >> 32) >> shift
            while free[at] != 0:
                at = (at & ~mask) | ((at + 1) & mask)
            free[at] = slots[i]


@njit
def refill_filter(table, filter):
    """Set the bits of all keys of a table in a filter that is empty."""
    slots = table.reshape(table.size)
    shift = filter_shift(table)
    for i in range(slots.size):
        if slots[i] != 0:
            bit = (slots[i] >> 32) >> shift
            filter[bit >> 6] |= np.int64(1) << (bit & 63)
