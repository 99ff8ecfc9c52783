"""Makes the directories of sorted triples; `freshet.kernels.sorted_triples` says what they are and reads them."""

from __future__ import annotations

import numpy as np

from freshet.kernels.sorted_triples import SPREAD, Directory, count_keys, fill_directory
from freshet.rdf.triples import Ids
from freshet.store.order_arrays import OrderArrays

_SAMPLE_BITS = 16  # tables of up to this number of bits are counted exactly
_SPILL = 64  # slots behind its own in which a key may be


def make_directory(keys: Ids, bounds: Ids) -> Directory:
    """The directory of rows whose equal keys stand side by side; group g has the rows bounds[g]:bounds[g + 1]."""
    counts = count_keys(keys, bounds)
    # at least a quarter of the slots stays free, so that a search is short and comes to an end
    bits = np.array([max(1, (int(count) + int(count) // 3).bit_length()) for count in counts], np.int64)
    words = 2 << bits
    firsts = np.cumsum(words) - words
    slots = np.zeros(int(words.sum()), np.int64)
    shifts = 64 - bits
    fill_directory(slots, firsts, shifts, keys, bounds)
    return Directory(slots, firsts, shifts)


def about_different(slots: Ids, first: int, shift: int) -> int:
    """How many keys a table has; of a large one a part is counted."""
    bits = 64 - shift
    looked_at = 1 << min(bits, _SAMPLE_BITS)
    return int(np.count_nonzero(slots[first : first + 2 * looked_at : 2])) << (bits - min(bits, _SAMPLE_BITS))


def about_different_everywhere(arrays: OrderArrays) -> int:
    """How many different keys all tables have together.

    The highest bits of its hash say where in a table a key is. So the beginnings of all tables have the same sample of
    the keys, which is counted; of small tables that is all of them.
    """
    if not arrays.firsts.size:
        return 0
    dropped = max(0, 64 - int(arrays.shifts.min()) - _SAMPLE_BITS)
    parts = []
    for first, shift in zip(arrays.firsts.tolist(), arrays.shifts.tolist(), strict=True):
        size = 1 << (64 - shift)
        looked_at = min(size, (size >> dropped) + _SPILL) if dropped else size
        parts.append(arrays.slots[first : first + 2 * looked_at : 2])
    keys = np.concatenate(parts)
    keys = keys[keys != 0]
    if dropped:
        keys = keys[keys.view(np.uint64) * SPREAD >> np.uint64(64 - dropped) == 0]
    return int(np.count_nonzero(np.diff(np.sort(keys), prepend=0))) << dropped
