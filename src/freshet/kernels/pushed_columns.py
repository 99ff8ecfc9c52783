"""Columns of terms that are pushed: texts whose terms are known, and ids that cannot stand where they are."""

import numpy as np

from freshet.kernels.dictionary import LENGTH_BYTES, UNKNOWN, find_slot, is_known, narrow, same_bytes
from freshet.kernels.hashing import hash_id
from freshet.kernels.jit import leaf, njit
from freshet.kernels.prefetch import fetch
from freshet.kernels.statements import holds_checked
from freshet.kernels.terms import QUOTE, inline_id

BLOCK = 64
IRI, BLANK_NODE, LITERAL, TRIPLE_TERM = 1, 2, 4, 8  # kinds of terms, to be added up
_LESS = ord("<")
_NOWHERE, _AS_BEFORE = np.int64(-1), np.int64(-2)


@njit
def find_known(dictionary, hash_mask, data, starts, ends, ids):
    """The ids of texts of terms as N-Triples has them, where they are inline or the dictionary has these very bytes as
    a checked key; 0 for others, among them all blank nodes. Gives how many others there are.

    Rows go in blocks, so that the waits for memory overlap.
    """
    slots, heap = dictionary.slots, dictionary.heap
    places = np.empty(BLOCK, np.int64)
    others = 0
    for first in range(0, starts.size, BLOCK):
        count = min(BLOCK, starts.size - first)
        for at in range(count):
            start, end = starts[first + at], ends[first + at]
            ids[first + at] = UNKNOWN
            places[at] = _NOWHERE
            before = max(first + at - 1, 0)
            if (
                at > 0
                and end - start == ends[before] - starts[before]
                and same_bytes(data, starts[before], data, start, end)
            ):
                places[at] = _AS_BEFORE
            elif end - start >= 2 and (data[start] == QUOTE or data[start] == _LESS):
                ids[first + at] = inline_id(data, start, end)
                if ids[first + at] == UNKNOWN:
                    ids[first + at] = narrow(hash_id(data, start, end), hash_mask)
                    places[at] = (ids[first + at] << 1) & np.int64(slots.size - 2)
                    fetch(slots, places[at])
        for at in range(count):
            if places[at] >= 0:
                places[at] = find_slot(slots, ids[first + at])
                if slots[places[at]] != 0:
                    fetch(heap, slots[places[at] + 1])
        for at in range(count):
            if places[at] >= 0:
                known = slots[places[at]] != 0
                if not known or not holds_checked(
                    heap, slots[places[at] + 1], data, starts[first + at], ends[first + at]
                ):
                    ids[first + at] = UNKNOWN
            elif places[at] == _AS_BEFORE:
                ids[first + at] = ids[first + at - 1]
            others += ids[first + at] == UNKNOWN
    return others


@leaf
def first_misplaced(slots, heap, ids, kinds):
    """The first row with an id that no term has, or one of another kind than these; -1 where there is none."""
    before = np.int64(0)
    for row in range(ids.size):
        term_id = ids[row]
        if term_id == before and term_id != UNKNOWN:
            continue
        before = term_id
        if not is_known(slots, term_id):
            return row
        kind = LITERAL
        if term_id > 0:
            start = slots[find_slot(slots, term_id) + 1] + LENGTH_BYTES
            kind = LITERAL if heap[start] == QUOTE else BLANK_NODE
            if heap[start] == _LESS:
                kind = TRIPLE_TERM if heap[start + 1] == _LESS else IRI
        if kind & kinds == 0:
            return row
    return -1
