"""Join results as pointers to leaf rows, invalidated through those pointers (algorithm 3, in constant time a result).

Every result is linked into one chain for each of its expiring leaf rows: when such a row leaves its window, its chain
names exactly the results to take back, and nothing is joined or searched a second time.

Where one leaf expires, results mostly go in the order in which they came. As long as they do, they stand in a queue
without chains, in which the rows that leave name those at the front.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.index import BLOCK
from freshet.kernels.jit import leaf as no_arrays
from freshet.kernels.jit import njit
from freshet.kernels.prefetch import fetch

# Places in `PointerArrays.sizes`.
USED = 0
LIVE = 1
FREE = 2
FRONT = 3  # of the queue, where there is one: no slot before it is alive
IS_QUEUE = 4


class PointerArrays(NamedTuple):
    """Results by slot. The first heads.shape[0] pointer columns are chained; the others point to rows that stay."""

    pointers: np.ndarray  # int32 [slot, leaf]
    alive: np.ndarray  # bool, one a slot
    heads: np.ndarray  # int32 [leaf, leaf row]: newest result that points there, or -1; in a queue -1 - their number
    older: np.ndarray  # int32 [leaf, slot]
    newer: np.ndarray  # int32 [leaf, slot]
    free: np.ndarray  # int32, a stack of slots to use again
    sizes: np.ndarray  # int64: USED, LIVE, FREE, FRONT, IS_QUEUE


@no_arrays
def _next_slot(results, taken):
    """The slot of the next result, where `taken` free ones are taken already."""
    free = results.sizes[FREE] - taken
    return np.int64(results.free[free - 1]) if free > 0 else results.sizes[USED] - free


@no_arrays
def _fetch_ends(results, pointers, first, stop):
    """Ask for what is written when results are added: their slots, and the results at the ends of their chains."""
    rows, slots = results.heads.shape[1], results.alive.shape[0]
    for at in range(first, stop):
        slot = _next_slot(results, at - first)
        fetch(results.pointers, slot * pointers.shape[1])
        fetch(results.alive, slot)
        for leaf in range(results.heads.shape[0]):
            fetch(results.older, leaf * slots + slot)
            fetch(results.newer, leaf * slots + slot)
            fetch(results.heads, leaf * rows + pointers[at, leaf])
    for at in range(first, stop):
        for leaf in range(results.heads.shape[0]):
            fetch(results.newer, leaf * slots + max(results.heads[leaf, pointers[at, leaf]], 0))


@no_arrays
def pointers_add(results, pointers):
    """Add results, one a row of `pointers`."""
    for first in range(0, pointers.shape[0], BLOCK):
        stop = min(first + BLOCK, pointers.shape[0])
        _fetch_ends(results, pointers, first, stop)
        for at in range(first, stop):
            slot = np.int32(_next_slot(results, 0))
            if results.sizes[FREE] > 0:
                results.sizes[FREE] -= 1
            else:
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


@no_arrays
def unlink_result(results, slot, ended=-1):
    """Drop the result of a slot. Its chain at the leaf `ended`, if any, goes as a whole, so it is not followed."""
    for leaf in range(results.heads.shape[0]):
        if leaf == ended:
            continue
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
def _longer(numbers, least):
    longer = np.empty(max(least, 2 * numbers.shape[0]), np.int32)
    for at in range(numbers.shape[0]):
        longer[at] = numbers[at]
    return longer


@njit
def _slots_of_rows(results, leaf, rows):
    """The slots of the results that point to rows of a leaf, row after row, the oldest of each first.

    The chains of a block of rows are walked side by side, so that the waits for their results overlap.
    """
    older, heads = results.older[leaf], results.heads[leaf]
    slots = np.empty(BLOCK, np.int32)
    found = 0
    walk, owners = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    ats, of = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    ends = np.empty(BLOCK + 1, np.int64)
    for first in range(0, rows.shape[0], BLOCK):
        walking = walked = 0
        for at in range(min(BLOCK, rows.shape[0] - first)):
            row = rows[first + at]
            if row < heads.shape[0] and heads[row] >= 0:  # else no result has pointed that far yet
                ats[walking], of[walking] = heads[row], at
                fetch(older, np.int64(ats[walking]))
                walking += 1
        if found + walking > slots.shape[0]:
            slots = _longer(slots, found + walking)
        has_more = False
        for place in range(walking):
            slots[found + place] = ats[place]
            has_more |= older[ats[place]] >= 0
        if not has_more:  # each chain has one result
            found += walking
            continue
        for at in range(BLOCK + 1):
            ends[at] = 0
        while walking > 0:
            if walked + walking > walk.shape[0]:
                walk, owners = _longer(walk, walked + walking), _longer(owners, walked + walking)
            going = 0
            for place in range(walking):
                slot, owner = ats[place], of[place]
                walk[walked], owners[walked] = slot, owner
                walked += 1
                ends[owner + 1] += 1
                ats[going], of[going] = older[slot], owner
                fetch(older, np.int64(max(older[slot], 0)))
                going += older[slot] >= 0
            walking = going
        for at in range(BLOCK):
            ends[at + 1] += ends[at]
        if found + walked > slots.shape[0]:
            slots = _longer(slots, found + walked)
        for at in range(walked - 1, -1, -1):  # chains begin with the newest
            slots[found + ends[owners[at]]] = walk[at]
            ends[owners[at]] += 1
        found += walked
    return slots[:found]


@no_arrays
def _fetch_neighbours(results, leaf, slots):
    """Ask for what is written when results are taken out of all chains but those of one leaf."""
    rows, room = results.heads.shape[1], results.alive.shape[0]
    for slot in slots:
        fetch(results.pointers, np.int64(slot) * results.pointers.shape[1])
        fetch(results.alive, np.int64(slot))
        for other in range(results.heads.shape[0]):
            if other != leaf:
                fetch(results.older, other * room + slot)
                fetch(results.newer, other * room + slot)
    for slot in slots:
        for other in range(results.heads.shape[0]):
            if other != leaf:
                older, newer = results.older[other, slot], results.newer[other, slot]
                fetch(results.newer, other * room + max(older, 0))
                fetch(results.older, other * room + max(newer, 0))
                fetch(results.heads, other * rows + results.pointers[slot, other])


@njit
def pointers_invalidate(results, leaf, rows):
    """Drop every result that points to one of the rows of a leaf, each named once. Gives the pointers of these."""
    slots = _slots_of_rows(results, leaf, rows)
    gone = np.empty((slots.shape[0], results.pointers.shape[1]), np.int32)
    for first in range(0, slots.shape[0], BLOCK):
        block = slots[first : first + BLOCK]
        _fetch_neighbours(results, leaf, block)
        for at in range(block.shape[0]):
            for column in range(gone.shape[1]):
                gone[first + at, column] = results.pointers[block[at], column]
            unlink_result(results, block[at], leaf)
    for row in rows:
        if row < results.heads.shape[1]:
            results.heads[leaf, row] = -1
    return gone


@no_arrays
def _queue_add(results, pointers):
    """Add results at the end of the queue, one a row of `pointers`."""
    end = results.sizes[USED]
    for at in range(pointers.shape[0]):
        results.alive[end + at] = True
        results.heads[0, pointers[at, 0]] -= 1
        for leaf in range(pointers.shape[1]):
            results.pointers[end + at, leaf] = pointers[at, leaf]
    results.sizes[USED] += pointers.shape[0]
    results.sizes[LIVE] += pointers.shape[0]


@no_arrays
def _queue_place(results, rows):
    """Behind the results that point to some rows, each named once, if these are at the front in this order; else -1."""
    place, rooms = results.sizes[FRONT], results.heads.shape[1]
    for row in rows:
        if row < rooms:  # else no result has pointed that far yet
            end = place - 1 - results.heads[0, row]
            while place < end:
                if results.pointers[place, 0] != row:
                    return np.int64(-1)
                place += 1
    return place


@njit
def _queue_take(results, place):
    """Drop the results at the front, before a place. Gives their pointers."""
    front = results.sizes[FRONT]
    gone = results.pointers[front:place].copy()
    for slot in range(front, place):
        results.alive[slot] = False
        results.heads[0, results.pointers[slot, 0]] = -1
    results.sizes[FRONT] = place
    results.sizes[LIVE] -= place - front
    return gone


@no_arrays
def _leave_queue(results):
    """Link the results of a queue into chains, since they do not go in the order in which they came."""
    sizes = results.sizes
    for slot in range(sizes[FRONT], sizes[USED]):
        results.heads[0, results.pointers[slot, 0]] = -1
    for slot in range(sizes[FRONT], sizes[USED]):
        row = results.pointers[slot, 0]
        head = results.heads[0, row]
        results.older[0, slot], results.newer[0, slot] = head, -1
        if head >= 0:
            results.newer[0, head] = slot
        results.heads[0, row] = slot
    for slot in range(sizes[FRONT]):
        results.free[slot] = slot
    sizes[FREE], sizes[FRONT], sizes[IS_QUEUE] = sizes[FRONT], 0, 0


@njit
def results_add(results, pointers):
    """Add results, one a row of `pointers`; there is room for all."""
    if results.sizes[IS_QUEUE]:
        _queue_add(results, pointers)
    else:
        pointers_add(results, pointers)


@njit
def results_end(results, leaf, rows):
    """Drop every result that points to one of the rows of a leaf, each named once. Gives the pointers of these."""
    if results.sizes[IS_QUEUE]:
        place = _queue_place(results, rows)
        if place >= 0:
            return _queue_take(results, place)
        _leave_queue(results)
    return pointers_invalidate(results, leaf, rows)
