"""Triples that are appended to a graph: flat arrays, linked from the oldest to the newest of equal key.

Each direction (out: by subject, in: by object) has `nodes`, one a triple, and entries, one for each key of a vertex and
a predicate, which a hash table finds. Predicates go by small numbers, their groups. Rows are linked by their numbers
plus one, so that 0, which everything is filled with, means none.

| array   | word 0       | word 1                                             | word 2                      |
| ------- | ------------ | -------------------------------------------------- | --------------------------- |
| nodes   | other vertex | group << 32, next row + 1 of the key                | -                           |
| entries | vertex       | group << 32, how many rows                          | first row + 1 << 32, last + 1 |

A slot of a table is `tag << 32 | number + 1`, 0 where it is free; the tag is a hash of 31 bits, whose highest bits say
where the search begins. Beside the table of a direction's keys there is a filter, small enough for the cache: a bit for
every quarter of a slot, set where a key's tag points. Most keys that a reader asks for have no appended rows, and the
filter says so.

One writer appends while others read. A reader has a limit, the number of rows that are its own:
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
KNOWN = -1  # a triple that is there already
EARLIER = -2  # one that is there in row r, with a later time, is EARLIER - r
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
def enter_fresh(
    rows, base, base_ends, ends, table, out, into, earliest, first_row,
    subjects, groups, objects, new_times, are_new,
):  # fmt: skip
    """Enter triples in `table`, and give their rows: KNOWN where one is there already.

    New ones are numbered from `first_row` on. One that comes twice in the batch has the earliest of its times; one that
    was there with a later time is EARLIER less its row. Rows that have ended (`base_ends`, `ends`: see `ended_rows`) do
    not count. With `are_new` it is known that no triple is there. Gives how many are new, and how many are EARLIER.
    """
    tags = np.empty(BLOCK, np.int64)
    numbers = np.empty(subjects.size, np.int64)  # of the new triples in the batch
    fresh, earlier = 0, 0
    shift, mask = tag_shift(table), table.size - 1
    for begin in range(0, subjects.size, BLOCK):
        size = min(BLOCK, subjects.size - begin)
        for j in range(size):
            tags[j] = triple_tag(subjects[begin + j], groups[begin + j], objects[begin + j])
            fetch(table, tags[j] >> shift)
            if base.groups.size > 0 and base.groups[groups[begin + j]] >= 0:
                there = base.groups[groups[begin + j]]
                fetch(base.slots, first_place(base.firsts[there], base.shifts[there], subjects[begin + j]))
        for j in range(size):
            i = begin + j
            if not are_new and _in_base(base, base_ends, subjects[i], groups[i], objects[i]):
                rows[i] = KNOWN
                continue
            at = tags[j] >> shift
            is_new = True
            while table[at] != 0:
                if not are_new and table[at] >> 32 == tags[j]:
                    row = (table[at] & LOW) - 1
                    if row < ends.size and ends[row] != 0:
                        pass
                    elif row >= first_row:
                        k = numbers[row - first_row]
                        if subjects[k] == subjects[i] and groups[k] == groups[i] and objects[k] == objects[i]:
                            new_times[k] = min(new_times[k], new_times[i])
                            rows[i] = KNOWN
                            is_new = False
                            break
                    elif out[row, 0] == objects[i] and out[row, 1] >> 32 == groups[i] and into[row, 0] == subjects[i]:
                        rows[i] = KNOWN
                        if new_times[i] < earliest[row]:
                            rows[i] = EARLIER - row
                            earlier += 1
                        is_new = False
                        break
                at = (at + 1) & mask
            if is_new:
                rows[i] = first_row + fresh
                numbers[fresh] = i
                fresh += 1
                table[at] = tags[j] << 32 | (rows[i] + 1)
    return fresh, earlier


@njit
def lower_times(earliest, rows, new_times):
    """Make the earliest times of rows those of triples that came again with an earlier one, which are KNOWN then."""
    for i in range(rows.size):
        if rows[i] <= EARLIER:
            row = EARLIER - rows[i]
            earliest[row] = min(earliest[row], new_times[i])
            rows[i] = KNOWN


@njit
def set_times(times, rows, new_times):
    """The times of new rows."""
    for i in range(rows.size):
        if rows[i] >= 0:
            times[rows[i]] = new_times[i]


@njit
def link_rows(table, filter, entries, nodes, used, different, keys, groups, others, rows):
    """Append rows to the chains of their keys; rows[i] is below 0 where there is nothing to append.

    `used` has the number of entries, `different` the number of keys of each group.
    """
    shift, mask, bit_shift = tag_shift(table), table.size - 1, filter_shift(table)
    tags = np.empty(BLOCK, np.int64)
    for begin in range(0, keys.size, BLOCK):
        size = min(BLOCK, keys.size - begin)
        for j in range(size):
            tags[j] = key_tag(keys[begin + j], groups[begin + j])
            fetch(table, tags[j] >> shift)
        for j in range(size):
            slot = table[tags[j] >> shift]
            if slot != 0:
                fetch(entries, 3 * ((slot & LOW) - 1))
        for j in range(size):
            i = begin + j
            row = rows[i]
            if row < 0:
                continue
            at = tags[j] >> shift
            nodes[row, 0] = others[i]
            nodes[row, 1] = groups[i] << 32
            while table[at] != 0:
                if table[at] >> 32 == tags[j]:
                    entry = (table[at] & LOW) - 1
                    if entries[entry, 0] == keys[i] and entries[entry, 1] >> 32 == groups[i]:
                        break
                at = (at + 1) & mask
            if table[at] == 0:
                entry = used[0]
                used[0] += 1
                different[groups[i]] += 1
                entries[entry, 1] = groups[i] << 32 | 1
                entries[entry, 2] = (row + 1) << 32 | (row + 1)
                entries[entry, 0] = keys[i]
                bit = tags[j] >> bit_shift
                filter[bit >> 6] |= np.int64(1) << (bit & 63)
                table[at] = tags[j] << 32 | (entry + 1)
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
    shift, mask = tag_shift(larger), larger.size - 1
    for i in range(table.size):
        if table[i] != 0:
            at = (table[i] >> 32) >> shift
            while larger[at] != 0:
                at = (at + 1) & mask
            larger[at] = table[i]


@njit
def refill_filter(table, filter):
    """Set the bits of all keys of a table in a filter that is empty."""
    shift = filter_shift(table)
    for i in range(table.size):
        if table[i] != 0:
            bit = (table[i] >> 32) >> shift
            filter[bit >> 6] |= np.int64(1) << (bit & 63)
