"""Larger tables of appended triples, filled bit by bit while smaller ones are in use.

`freshet.kernels.adjacency` says what the arrays are. A table has the numbers of entries, or of rows, in the order of
their hashes, which is nearly the order that the larger one has them in: so those that are there when it is begun are
moved from slot to slot, which goes through memory in order. What comes meanwhile has later numbers; it is entered by
them, which does not.
"""

import numpy as np

from freshet.kernels.adjacency import BLOCK, LOW, filter_shift, key_tag, tag_shift, triple_tag
from freshet.kernels.jit import njit
from freshet.kernels.prefetch import fetch


@njit
def _enter(slots, shift, mask, slot):
    at = (slot >> 32) >> shift
    while slots[at] != 0:
        at = (at + 1) & mask
    slots[at] = slot


@njit
def move_slots(table, larger, filter, first, stop, below):
    """Enter what the slots from `first` up to `stop` have of numbers below one in a larger table.

    Their bits are set in its filter; a filter of no words is none.
    """
    shift, mask, bit_shift = tag_shift(larger), larger.size - 1, filter_shift(larger)
    for i in range(first, stop):
        slot = table[i]
        if slot != 0 and slot & LOW <= below:
            _enter(larger, shift, mask, slot)
            if filter.size > 0:
                bit = (slot >> 32) >> bit_shift
                filter[bit >> 6] |= np.int64(1) << (bit & 63)


@njit
def enter_keys(table, filter, entries, first, stop):
    """Enter the entries with the numbers from `first` up to `stop`, and their bits in the filter."""
    shift, mask, bit_shift = tag_shift(table), table.size - 1, filter_shift(table)
    tags = np.empty(BLOCK, np.int64)
    for begin in range(first, stop, BLOCK):
        size = min(BLOCK, stop - begin)
        for j in range(size):
            tags[j] = key_tag(entries[begin + j, 0], entries[begin + j, 1] >> 32)
            fetch(table, tags[j] >> shift)
        for j in range(size):
            _enter(table, shift, mask, tags[j] << 32 | (begin + j + 1))
            bit = tags[j] >> bit_shift
            filter[bit >> 6] |= np.int64(1) << (bit & 63)


@njit
def enter_triples(table, out, into, first, stop):
    """Enter the triples of the rows from `first` up to `stop`."""
    shift, mask = tag_shift(table), table.size - 1
    tags = np.empty(BLOCK, np.int64)
    for begin in range(first, stop, BLOCK):
        size = min(BLOCK, stop - begin)
        for j in range(size):
            row = begin + j
            tags[j] = triple_tag(into[row, 0], out[row, 1] >> 32, out[row, 0])
            fetch(table, tags[j] >> shift)
        for j in range(size):
            _enter(table, shift, mask, tags[j] << 32 | (begin + j + 1))
