"""The terms of groups in order of arrival, where of equal terms the one that came first leaves first.

Every occurrence of a term is linked to its neighbours in the group and to the next occurrence of the same term, so that
one enters and leaves in constant time and a group is read in the order of its rows.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.group_events import GROUP, POINT, ROW, SIGN
from freshet.kernels.jit import leaf, njit
from freshet.kernels.running_aggregates import count_entry

NIL = -1

# Places in `SequenceArrays.sizes`.
USED = 0  # slots ever handed out, the occupied ones and those in `free` below this number
FREE = 1  # slots in `free`


class SequenceArrays(NamedTuple):
    """Occurrences by slot, terms by entry number (that of a group and term in a one-way index), groups by theirs."""

    ids: np.ndarray  # int64, one a slot
    previous: np.ndarray  # int32, one a slot: its neighbour in the group, or NIL
    following: np.ndarray  # int32, one a slot
    again: np.ndarray  # int32, one a slot: the next occurrence of the same term in the group, or NIL
    free: np.ndarray  # int32, a stack of slots to use again
    oldest: np.ndarray  # int32, one an entry: the slot of the occurrence that leaves first
    newest: np.ndarray  # int32, one an entry
    firsts: np.ndarray  # int32, one a group: the slot or NIL
    lasts: np.ndarray  # int32, one a group
    lengths: np.ndarray  # int64, one a group
    sizes: np.ndarray  # int64: USED, FREE


@leaf
def _append(sequences, entry, group, term_id):
    """A term comes at the end of its group."""
    sizes = sequences.sizes
    if sizes[FREE] > 0:
        sizes[FREE] -= 1
        slot = sequences.free[sizes[FREE]]
    else:
        slot = np.int32(sizes[USED])
        sizes[USED] += 1
    sequences.ids[slot] = term_id
    sequences.again[slot] = NIL
    if sequences.oldest[entry] == NIL:
        sequences.oldest[entry] = slot
    else:
        sequences.again[sequences.newest[entry]] = slot
    sequences.newest[entry] = slot
    last = sequences.lasts[group]
    sequences.previous[slot] = last
    sequences.following[slot] = NIL
    if last == NIL:
        sequences.firsts[group] = slot
    else:
        sequences.following[last] = slot
    sequences.lasts[group] = slot
    sequences.lengths[group] += 1


@leaf
def _remove(sequences, entry, group):
    """The oldest occurrence of a term leaves its group; False where there is none."""
    sizes = sequences.sizes
    slot = sequences.oldest[entry]
    if slot == NIL:
        return False
    sequences.oldest[entry] = sequences.again[slot]
    previous, following = sequences.previous[slot], sequences.following[slot]
    if previous == NIL:
        sequences.firsts[group] = following
    else:
        sequences.following[previous] = following
    if following == NIL:
        sequences.lasts[group] = previous
    else:
        sequences.previous[following] = previous
    sequences.lengths[group] -= 1
    sequences.free[sizes[FREE]] = slot
    sizes[FREE] += 1
    return True


@njit
def running_sequences(index, sequences, entries, events, first, stop, ids, listed, places):
    """List the terms of each group in order after every change point, each with the number of the change point.

    Takes events from `first` to `stop`, or as long as `listed` has room; `entries` are theirs in the index of groups
    and terms. Gives the event where it stopped, -1 where a term leaves that never came, and how many terms are listed.
    """
    used = 0
    for event in range(first, stop):
        group, point, sign = events[event, GROUP], events[event, POINT], events[event, SIGN]
        if point >= 0 and used + sequences.lengths[group] + sign > listed.size:
            return event, used
        entry = entries[event - first]
        if sign > 0:
            _append(sequences, entry, group, ids[events[event, ROW]])
            count_entry(index, entry, 1)
        elif sign < 0:
            if not _remove(sequences, entry, group):
                return -1, used
            count_entry(index, entry, -1)
        if point >= 0:
            slot = sequences.firsts[group]
            while slot != NIL:
                listed[used] = sequences.ids[slot]
                places[used] = point
                used += 1
                slot = sequences.following[slot]
    return stop, used
