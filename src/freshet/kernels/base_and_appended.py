"""Look-up in sorted triples and in those appended to them at once: most queries read both parts of a graph.

One call instead of three, and the waits for the memory of both parts overlap.
"""

import numpy as np

from freshet.kernels.adjacency import LOW, filter_shift, key_tag, tag_shift
from freshet.kernels.adjacency_reading import seek_entry
from freshet.kernels.jit import njit
from freshet.kernels.prefetch import fetch
from freshet.kernels.sorted_triples import find_range, find_ranges, spread

BLOCK = 64


@njit
def find_both(slots, first, shift, table, filter, entries, limit, group, key):
    """The range of a key in the sorted triples, and how many appended rows it has, or somewhat more."""
    found = find_range(slots, first, shift, key)
    tag = key_tag(key, group)
    bit = tag >> filter_shift(table)
    if filter[bit >> 6] >> (bit & 63) & 1 == 0:
        return found, np.int64(0)
    entry = seek_entry(table, tag_shift(table), entries, limit, tag, key, group)
    return found, entries[entry, 1] & LOW if entry >= 0 else np.int64(0)


@njit
def _heads(table, filter, entries, limit, group, keys):
    """For each key its first appended row + 1, or 0; and how many rows all have together, or somewhat more."""
    shift, bits_shift = tag_shift(table), filter_shift(table)
    maybe = np.empty(keys.size, np.int64)
    count = 0
    for i in range(keys.size):
        bit = key_tag(keys[i], group) >> bits_shift
        maybe[count] = i
        count += filter[bit >> 6] >> (bit & 63) & 1  # without a branch, which would be guessed wrong
    heads = np.zeros(keys.size, np.int64)
    total = np.int64(0)
    for begin in range(0, count, BLOCK):
        stop = min(begin + BLOCK, count)
        for j in range(begin, stop):
            fetch(table, key_tag(keys[maybe[j]], group) >> shift)
        for j in range(begin, stop):
            key = keys[maybe[j]]
            entry = seek_entry(table, shift, entries, limit, key_tag(key, group), key, group)
            if entry >= 0:
                heads[maybe[j]] = entries[entry, 2] >> 32
                total += entries[entry, 1] & LOW
    return heads, total


@njit
def probe_both(slots, first, shift, seconds, table, filter, entries, nodes, limit, group, keys, predicate):
    """All rows of many keys of a predicate: the numbers of the keys, the keys, their second places, the predicates."""
    ranges, total = find_ranges(slots, first, shift, keys)
    heads, more = _heads(table, filter, entries, limit, group, keys)
    if more == 0:
        numbers, keys_out, seconds_out = spread(ranges, total, keys, seconds)
    else:
        numbers, keys_out, seconds_out = _spread_both(ranges, heads, total + more, keys, seconds, nodes, limit)
    predicates_out = np.empty(numbers.size, np.int64)
    predicates_out[:] = predicate
    return numbers, keys_out, seconds_out, predicates_out


@njit
def _spread_both(ranges, heads, total, keys, seconds, nodes, limit):
    """The rows of the ranges, each followed by the chain that begins at its head."""
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
    return numbers[:end], keys_out[:end], seconds_out[:end]
