"""Join results as pointers to leaf rows, invalidated through those pointers (algorithm 3, in constant time a result).

Every result is linked into one chain for each of its expiring leaf rows: when such a row leaves its window, its chain
names exactly the results to take back, and nothing is joined or searched a second time.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import njit

# Places in `PointerArrays.sizes`.
USED = 0
LIVE = 1
FREE = 2


class PointerArrays(NamedTuple):
    """Results by slot. The first heads.shape[0] pointer columns are chained; the others point to rows that stay."""

    pointers: np.ndarray  # int32 [slot, leaf]
    alive: np.ndarray  # bool, one a slot
    heads: np.ndarray  # int32 [leaf, leaf row]: newest result that points there, or -1
    older: np.ndarray  # int32 [leaf, slot]
    newer: np.ndarray  # int32 [leaf, slot]
    free: np.ndarray  # int32, a stack of slots to use again
    sizes: np.ndarray  # int64: USED, LIVE, FREE


@njit
def pointers_add(results, pointers):
    """Add results, one a row of `pointers`."""
    for at in range(pointers.shape[0]):
        if results.sizes[FREE] > 0:
            results.sizes[FREE] -= 1
            slot = results.free[results.sizes[FREE]]
        else:
            slot = np.int32(results.sizes[USED])
            results.sizes[USED] += 1
        results.sizes[LIVE] += 1
        results.alive[slot] = True
        for leaf in range(pointers.shape[1]):
            results.pointers[slot, leaf] = pointers[at, leaf]
        for leaf in range(results.heads.shape[0]):
            row = pointers[at, leaf]
            head = results.heads[leaf, row]
            results.older[leaf, slot] = head
            results.newer[leaf, slot] = -1
            if head >= 0:
                results.newer[leaf, head] = slot
            results.heads[leaf, row] = slot


@njit
def unlink_result(results, slot):
    """Drop the result of a slot."""
    for leaf in range(results.heads.shape[0]):
        older, newer = results.older[leaf, slot], results.newer[leaf, slot]
        if newer >= 0:
            results.older[leaf, newer] = older
        else:
            results.heads[leaf, results.pointers[slot, leaf]] = older
        if older >= 0:
            results.newer[leaf, older] = newer
    results.alive[slot] = False
    results.free[results.sizes[FREE]] = slot
    results.sizes[FREE] += 1
    results.sizes[LIVE] -= 1


@njit
def pointers_invalidate(results, leaf, rows):
    """Drop every result that points to one of the rows of a leaf. Gives the pointers of what was dropped."""
    dropped = np.empty(results.sizes[LIVE], np.int32)
    found = 0
    for row in rows:
        if row >= results.heads.shape[1]:
            continue  # no result has pointed that far yet
        slot = results.heads[leaf, row]
        while slot >= 0:
            following = results.older[leaf, slot]
            unlink_result(results, slot)
            dropped[found] = slot
            found += 1
            slot = following
    gone = np.empty((found, results.pointers.shape[1]), np.int32)
    for at in range(found):
        for column in range(gone.shape[1]):
            gone[at, column] = results.pointers[dropped[at], column]
    return gone
