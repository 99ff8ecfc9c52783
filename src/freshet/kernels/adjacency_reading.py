"""Look-up in appended triples, for readers who each have a limit: the number of rows that are theirs.

`freshet.kernels.adjacency` says what the arrays are. A reader's arrays may be older than the writer's, and shorter than
what the tables already name: a number beyond them is ignored.
"""

import numpy as np

from freshet.kernels.adjacency import LOW, key_tag, tag_shift, triple_tag
from freshet.kernels.growing import longer
from freshet.kernels.jit import njit
from freshet.kernels.prefetch import fetch

BLOCK = 64


@njit
def seek_entry(table, shift, entries, limit, tag, key, group):
    """The entry of a key, or -1 where the reader has no row of it."""
    at, mask = tag >> shift, table.size - 1
    while table[at] != 0:
        if table[at] >> 32 == tag:
            entry = (table[at] & LOW) - 1
            if entry < entries.shape[0] and entries[entry, 0] == key and entries[entry, 1] >> 32 == group:
                first = entries[entry, 2] >> 32
                return entry if 0 < first <= limit else np.int64(-1)
        at = (at + 1) & mask
    return np.int64(-1)


@njit
def count_chain(table, entries, limit, key, group):
    """How many rows a key has; perhaps some more than the reader sees."""
    entry = seek_entry(table, tag_shift(table), entries, limit, key_tag(key, group), key, group)
    return entries[entry, 1] & LOW if entry >= 0 else np.int64(0)


@njit
def count_every_chain(table, entries, limit, key, groups):
    """The same whatever the group."""
    total = np.int64(0)
    for group in range(groups):
        total += count_chain(table, entries, limit, key, group)
    return total


@njit
def find_row(table, out, into, limit, subject, group, object):
    """The row of a triple, or -1 where the reader does not have it."""
    tag = triple_tag(subject, group, object)
    at, mask = tag >> tag_shift(table), table.size - 1
    while table[at] != 0:
        if table[at] >> 32 == tag:
            row = (table[at] & LOW) - 1
            if row < limit and out[row, 0] == object and out[row, 1] >> 32 == group and into[row, 0] == subject:
                return row
        at = (at + 1) & mask
    return np.int64(-1)


@njit
def find_rows(table, out, into, limit, subjects, groups, objects):
    """The rows of many triples, -1 for those that the reader does not have; a group of -1 has none."""
    rows = np.full(subjects.size, -1, np.int64)
    for i in range(rows.size):
        if groups[i] >= 0:
            rows[i] = find_row(table, out, into, limit, subjects[i], groups[i], objects[i])
    return rows


@njit
def probe_triples(table, out, into, limit, subjects, groups, objects, every):
    """Which of many triples the reader has: their numbers, and the group of each.

    Subjects, groups and objects are one for all or one for each; with `every` above 0 it is all groups below it.
    """
    count = max(subjects.size, max(objects.size, groups.size))
    room = max(16, count)
    numbers, found = np.empty(room, np.int64), np.empty(room, np.int64)
    end = 0
    for i in range(count):
        subject = subjects[i if subjects.size > 1 else 0]
        object = objects[i if objects.size > 1 else 0]
        low, high = np.int64(0), every
        if every == 0:
            low = groups[i if groups.size > 1 else 0]
            high = low + 1
        if end + high - low > room:
            room = 2 * room + high - low
            numbers, found = longer(numbers, room), longer(found, room)
        for group in range(low, high):
            if group >= 0 and find_row(table, out, into, limit, subject, group, object) >= 0:
                numbers[end] = i
                found[end] = group
                end += 1
    return numbers[:end], found[:end]


@njit
def _seek_entries(table, entries, limit, keys, groups, every):
    """The entries of many keys, with the number of the key, and how many rows they have at most."""
    shift = tag_shift(table)
    room = max(16, keys.size)
    numbers, found = np.empty(room, np.int64), np.empty(room, np.int64)
    tags = np.empty(BLOCK, np.int64)
    end, total = 0, np.int64(0)
    if every > 0:
        for i in range(keys.size):
            if end + every > room:
                room = 2 * room + every
                numbers, found = longer(numbers, room), longer(found, room)
            for group in range(every):
                entry = seek_entry(table, shift, entries, limit, key_tag(keys[i], group), keys[i], group)
                if entry >= 0:
                    numbers[end], found[end] = i, entry
                    total += entries[entry, 1] & LOW
                    end += 1
        return numbers[:end], found[:end], total
    for begin in range(0, keys.size, BLOCK):
        size = min(BLOCK, keys.size - begin)
        for j in range(size):
            tags[j] = key_tag(keys[begin + j], groups[begin + j if groups.size > 1 else 0])
            fetch(table, tags[j] >> shift)
        for j in range(size):
            i = begin + j
            group = groups[i if groups.size > 1 else 0]
            if group < 0:
                continue
            entry = seek_entry(table, shift, entries, limit, tags[j], keys[i], group)
            if entry >= 0:
                numbers[end], found[end] = i, entry
                total += entries[entry, 1] & LOW
                end += 1
    return numbers[:end], found[:end], total


@njit
def probe_chains(table, entries, nodes, limit, keys, groups, every, predicates):
    """All rows of many keys: the numbers of the keys, the keys, the other vertices and the predicates.

    Groups are one for all keys or one for each, -1 for none; with `every` above 0 it is all groups below it.
    """
    asked, found, room = _seek_entries(table, entries, limit, keys, groups, every)
    numbers = np.empty(room, np.int64)
    keys_out = np.empty(room, np.int64)
    others_out = np.empty(room, np.int64)
    predicates_out = np.empty(room, np.int64)
    end = 0
    for begin in range(0, found.size, BLOCK):
        stop = min(begin + BLOCK, found.size)
        for j in range(begin, stop):
            fetch(nodes, 2 * ((entries[found[j], 2] >> 32) - 1))
        for j in range(begin, stop):
            row = (entries[found[j], 2] >> 32) - 1
            predicate = predicates[entries[found[j], 1] >> 32]
            while 0 <= row < limit:
                numbers[end] = asked[j]
                keys_out[end] = keys[asked[j]]
                others_out[end] = nodes[row, 0]
                predicates_out[end] = predicate
                end += 1
                row = (nodes[row, 1] & LOW) - 1
    return numbers[:end], keys_out[:end], others_out[:end], predicates_out[:end]


@njit
def rows_along(along, out, into, limit, first, count):
    """The subjects and objects of a group's rows; `first` is its first row, `count` no less than it has."""
    subjects, objects = np.empty(count, np.int64), np.empty(count, np.int64)
    end = 0
    row = first
    while 0 <= row < limit:
        subjects[end] = into[row, 0]
        objects[end] = out[row, 0]
        end += 1
        row = np.int64(along[row]) - 1
    return subjects[:end], objects[:end]


@njit
def merge_found(numbers, subjects, predicates, objects, more, more_subjects, more_predicates, more_objects):
    """Two lists of matches, each in the order of their numbers, as one."""
    total = numbers.size + more.size
    numbers_out = np.empty(total, np.int64)
    columns = np.empty((3, total), np.int64)
    i, j = 0, 0
    for end in range(total):
        if j == more.size or (i < numbers.size and numbers[i] <= more[j]):
            numbers_out[end] = numbers[i]
            columns[0, end], columns[1, end], columns[2, end] = subjects[i], predicates[i], objects[i]
            i += 1
        else:
            numbers_out[end] = more[j]
            columns[0, end], columns[1, end], columns[2, end] = (
                more_subjects[j],
                more_predicates[j],
                more_objects[j],
            )
            j += 1
    return numbers_out, columns[0], columns[1], columns[2]
