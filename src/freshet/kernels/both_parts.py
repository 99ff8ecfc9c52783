"""Look-up in sorted triples and in those appended to them at once: most queries read both parts of a graph.

One call instead of three, and the waits for the memory of both parts overlap.
"""

import numpy as np

from freshet.kernels.adjacency import LOW, filter_shift, key_tag, tag_shift
from freshet.kernels.adjacency_reading import seek_entry
from freshet.kernels.jit import njit
from freshet.kernels.prefetch import fetch
from freshet.kernels.sorted_triples import find_range, first_place, search

BLOCK = 64


@njit
def find_both(slots, first, shift, table, filter, entries, limit, group, key):
    """The range of a key in the sorted triples, and how many appended rows it has, or somewhat more."""
    found = find_range(slots, first, shift, key)
    tag = key_tag(key, group)
    bit = tag >> filter_shift(table)
    if filter[bit >> 6] >> (bit & 63) & 1 == 0:
        return found, np.int64(0)
    entry = seek_entry(table.reshape(table.size), table.shape[1] - 1, tag_shift(table), entries, limit, tag, key, group)
    return found, entries[entry, 1] & LOW if entry >= 0 else np.int64(0)


@njit
def _ranges_and_heads(slots, first, shift, table, filter, entries, limit, group, keys):
    """For each key its range, and its first appended row + 1; and how many rows all have together at most."""
    chained = table.reshape(table.size)
    mask, tags_shift, bits_shift = table.shape[1] - 1, tag_shift(table), filter_shift(table)
    ranges = np.empty(keys.size, np.int64)
    heads = np.zeros(keys.size, np.int64)
    places = np.empty(BLOCK, np.int64)
    seen = np.empty(BLOCK, np.int64)
    tags = np.empty(BLOCK, np.int64)
    total = np.int64(0)
    for begin in range(0, keys.size, BLOCK):
        size = min(BLOCK, keys.size - begin)
        for i in range(size):
            key = keys[begin + i]
            places[i] = first_place(first, shift, key)
            seen[i] = slots[places[i]]
            tags[i] = key_tag(key, group)
            bit = tags[i] >> bits_shift
            if filter[bit >> 6] >> (bit & 63) & 1 == 0:
                tags[i] = -1
            else:
                fetch(chained, tags[i] >> tags_shift)
        for i in range(size):
            key = keys[begin + i]
            found = slots[places[i] + 1] if seen[i] == key else search(slots, first, shift, places[i], key)
            ranges[begin + i] = found
            total += found & LOW
        for i in range(size):
            if tags[i] >= 0:
                key = keys[begin + i]
                entry = seek_entry(chained, mask, tags_shift, entries, limit, tags[i], key, group)
                if entry >= 0:
                    heads[begin + i] = entries[entry, 2] >> 32
                    total += entries[entry, 1] & LOW
    return ranges, heads, total


@njit
def probe_both(slots, first, shift, seconds, table, filter, entries, nodes, limit, group, keys, predicate):
    """All rows of many keys of a predicate: the numbers of the keys, the keys, their second places, the predicates."""
    ranges, heads, total = _ranges_and_heads(slots, first, shift, table, filter, entries, limit, group, keys)
    numbers = np.empty(total, np.int64)
    keys_out = np.empty(total, np.int64)
    seconds_out = np.empty(total, np.int64)
    firsts = np.empty(BLOCK, np.int64)
    end = 0
    for begin in range(0, ranges.size, BLOCK):
        size = min(BLOCK, ranges.size - begin)
        for i in range(size):
            found = ranges[begin + i]
            firsts[i] = seconds[found >> 32] if found != 0 else 0
        for i in range(size):
            number = begin + i
            key = keys[number]
            count = ranges[number] & LOW
            if count > 0:
                numbers[end] = number
                keys_out[end] = key
                seconds_out[end] = firsts[i]
                end += 1
                start = ranges[number] >> 32
                for row in range(start + 1, start + count):
                    numbers[end] = number
                    keys_out[end] = key
                    seconds_out[end] = seconds[row]
                    end += 1
            row = heads[number] - 1
            while 0 <= row < limit:
                numbers[end] = number
                keys_out[end] = key
                seconds_out[end] = nodes[row, 0]
                end += 1
                row = (nodes[row, 1] & LOW) - 1
    predicates_out = np.empty(end, np.int64)
    predicates_out[:] = predicate
    return numbers[:end], keys_out[:end], seconds_out[:end], predicates_out
