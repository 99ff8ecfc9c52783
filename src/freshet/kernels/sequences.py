"""The terms of groups in order of arrival, where of equal terms the one that came first leaves first.

Every occurrence of a term is linked to its neighbours in the group and to the next occurrence of the same term, so that
one enters and leaves in constant time and a group is read in the order of its rows.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import njit

NOBODY = -1

# Places in `SequenceArrays.sizes`.
USED = 0  # slots ever handed out, the occupied ones and those in `free` below this number
FREE = 1  # slots in `free`


class SequenceArrays(NamedTuple):
    """Occurrences by slot, terms by entry number (that of a group and term in a one-way index), groups by theirs."""

    ids: np.ndarray  # int64, one a slot
    previous: np.ndarray  # int32, one a slot: its neighbour in the group, or NOBODY
    following: np.ndarray  # int32, one a slot
    again: np.ndarray  # int32, one a slot: the next occurrence of the same term in the group, or NOBODY
    free: np.ndarray  # int32, a stack of slots to use again
    oldest: np.ndarray  # int32, one an entry: the slot of the occurrence that leaves first
    newest: np.ndarray  # int32, one an entry
    firsts: np.ndarray  # int32, one a group: the slot or NOBODY
    lasts: np.ndarray  # int32, one a group
    lengths: np.ndarray  # int64, one a group
    sizes: np.ndarray  # int64: USED, FREE


@njit
def append_terms(sequences, entries, fresh, groups, ids):
    """Terms come at the ends of their groups; those that are fresh are not in the group yet."""
    sizes = sequences.sizes
    for row in range(entries.size):
        entry, group = entries[row], groups[row]
        if sizes[FREE] > 0:
            sizes[FREE] -= 1
            slot = sequences.free[sizes[FREE]]
        else:
            slot = np.int32(sizes[USED])
            sizes[USED] += 1
        sequences.ids[slot] = ids[row]
        sequences.again[slot] = NOBODY
        if fresh[row]:
            sequences.oldest[entry] = slot
        else:
            sequences.again[sequences.newest[entry]] = slot
        sequences.newest[entry] = slot
        last = sequences.lasts[group]
        sequences.previous[slot] = last
        sequences.following[slot] = NOBODY
        if last == NOBODY:
            sequences.firsts[group] = slot
        else:
            sequences.following[last] = slot
        sequences.lasts[group] = slot
        sequences.lengths[group] += 1


@njit
def remove_terms(sequences, entries, groups):
    """The oldest occurrence of each term leaves its group."""
    sizes = sequences.sizes
    for row in range(entries.size):
        entry, group = entries[row], groups[row]
        slot = sequences.oldest[entry]
        sequences.oldest[entry] = sequences.again[slot]
        previous, following = sequences.previous[slot], sequences.following[slot]
        if previous == NOBODY:
            sequences.firsts[group] = following
        else:
            sequences.following[previous] = following
        if following == NOBODY:
            sequences.lasts[group] = previous
        else:
            sequences.previous[following] = previous
        sequences.lengths[group] -= 1
        sequences.free[sizes[FREE]] = slot
        sizes[FREE] += 1


@njit
def listed_terms(sequences, groups):
    """The terms of groups in order, and for each the place of its group among `groups`."""
    count = 0
    for group in groups:
        count += sequences.lengths[group]
    ids = np.empty(count, np.int64)
    places = np.empty(count, np.int64)
    found = 0
    for place in range(groups.size):
        slot = sequences.firsts[groups[place]]
        while slot != NOBODY:
            ids[found] = sequences.ids[slot]
            places[found] = place
            found += 1
            slot = sequences.following[slot]
    return ids, places
