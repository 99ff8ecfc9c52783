"""Pairs of records of two streams that meet in a window, for the keys of one hash bucket.

Records are rows of arrays: the number of the key, the event time, the side. The first `held` rows are those that were
waiting already, the others come in the order of the rows. Each arrival first moves the watermark (its own time less the
lateness; never back), then ends what the watermark has passed, then meets what waits on the other side. What is behind
the watermark is late: it is counted and meets nothing.

Where one side is ahead of the other, its records move the watermark only up to `reached`, the time up to which both
sides are known.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.growing import longer
from freshet.kernels.jit import inlined, njit

CHILD, PARENT = 0, 1
NEVER = np.iinfo(np.int64).min  # the watermark before anything came
NOTHING = -1


class Pairs(NamedTuple):
    """What a batch gave: rows that met, which rows wait on, which of them are ahead of every subwindow that can be open
    yet, the watermark after it, how many rows were late."""

    children: np.ndarray
    parents: np.ndarray
    waiting: np.ndarray
    ahead: np.ndarray
    watermark: int
    late: int


class KeyWindows(NamedTuple):
    """A subwindow a key: when it was opened, its size, what its two lists are measured against, the newest time of the
    key, and how much of the size the pairs of the subwindow needed."""

    opened: np.ndarray
    sizes: np.ndarray
    limits: np.ndarray  # a row a key, a column a side
    newest: np.ndarray
    needed: np.ndarray


class Sizing(NamedTuple):
    """How subwindows adapt (Dynamic Windows, algorithm 1), in milliseconds or in records."""

    by_count: bool
    adapts: bool  # else the sizes stay as they are given, and a policy changes them between batches
    first: int
    lower: int
    upper: int
    shrink_above: float
    grow_below: float
    list_size: float
    idle_ms: int


class Ended(NamedTuple):
    """The subwindows that ended: of which key, their size, the lengths of their lists, how much their pairs needed."""

    keys: np.ndarray
    sizes: np.ndarray
    children: np.ndarray
    parents: np.ndarray
    needed: np.ndarray


@inlined
def _advance(watermark, time, lateness):
    return watermark if time == NEVER else max(watermark, time - lateness)


@inlined
def _is_past(time, size, tumbling, watermark):
    """Whether no record from the watermark on can meet one of this time."""
    if tumbling:
        return (time // size + 1) * size <= watermark
    return time + size < watermark


@inlined
def _is_match(one, other, size, tumbling):
    if tumbling:
        return one // size == other // size
    return abs(one - other) <= size


@njit
def fixed_pairs(keys, times, sides, held, key_count, size, tumbling, watermark, lateness, reached):
    """The pairs of a window of one size: tumbling, or sliding over each record.

    `reached` is the time up to which both sides are known at the end of the batch.
    """
    rows = keys.shape[0]
    heads = np.full(2 * key_count, NOTHING, np.int64)
    following = np.full(rows, NOTHING, np.int64)
    waiting = np.ones(rows, np.bool_)
    children, parents, found, late = np.empty(rows + 16, np.int64), np.empty(rows + 16, np.int64), 0, 0
    for row in range(rows):
        own = 2 * keys[row] + sides[row]
        if row >= held:
            if times[row] < watermark:
                late += 1
                waiting[row] = False
                continue
            watermark = _advance(watermark, min(times[row], reached), lateness)
            before, place = NOTHING, heads[own ^ 1]
            while place >= 0:
                after = following[place]
                if _is_past(times[place], size, tumbling, watermark):
                    if before >= 0:
                        following[before] = after
                    else:
                        heads[own ^ 1] = after
                else:
                    if _is_match(times[place], times[row], size, tumbling):
                        if found == children.shape[0]:
                            children, parents = longer(children, 2 * found), longer(parents, 2 * found)
                        children[found] = row if sides[row] == CHILD else place
                        parents[found] = place if sides[row] == CHILD else row
                        found += 1
                    before = place
                place = after
        following[row] = heads[own]
        heads[own] = row
    watermark = _advance(watermark, reached, lateness)
    for row in range(rows):
        waiting[row] = waiting[row] and not _is_past(times[row], size, tumbling, watermark)
    ahead = np.zeros(rows, np.bool_)
    return Pairs(children[:found].copy(), parents[:found].copy(), waiting, ahead, watermark, late)


@inlined
def _is_over(key, count, windows, by_count, idle_ms, watermark):
    """Whether the watermark ends a subwindow that has records."""
    if count == 0:
        return False
    if by_count:
        return watermark >= windows.opened[key] + idle_ms
    return watermark >= windows.opened[key] + windows.sizes[key]


@inlined
def _full(child_count, parent_count, size, sizing):
    """Whether a subwindow has as many records as its size says; one without a pair may go on to the upper limit."""
    count = child_count + parent_count
    return count >= sizing.upper or (count >= size and child_count > 0 and parent_count > 0)


@njit
def _adapt(key, child_count, parent_count, windows, sizing):
    """Algorithm 1: halve what costs too much, double what costs too little, and measure the lists anew."""
    child_cost = child_count / windows.limits[key, CHILD]
    parent_cost = parent_count / windows.limits[key, PARENT]
    cost = child_cost + parent_cost
    if cost > sizing.shrink_above:
        windows.sizes[key] = max(sizing.lower, windows.sizes[key] // 2)
    elif cost < sizing.grow_below:
        windows.sizes[key] = min(sizing.upper, windows.sizes[key] * 2)
    else:
        return
    # A list that is measured against less than one record would cost without end.
    windows.limits[key, CHILD] = max(1.0, windows.limits[key, CHILD] * (child_cost + 0.5))
    windows.limits[key, PARENT] = max(1.0, windows.limits[key, PARENT] * (parent_cost + 0.5))


@njit
def _end(key, heads, counts, epochs, windows, sizing, ended, number):
    """End a subwindow: note what it was, adapt, clean both lists."""
    child_count, parent_count = counts[2 * key], counts[2 * key + 1]
    ended.keys[number] = key
    ended.sizes[number] = windows.sizes[key]
    ended.children[number] = child_count
    ended.parents[number] = parent_count
    ended.needed[number] = windows.needed[key]
    if sizing.adapts:
        _adapt(key, child_count, parent_count, windows, sizing)
    windows.needed[key] = NOTHING
    for side in range(2 * key, 2 * key + 2):
        heads[side] = NOTHING
        counts[side] = 0
    epochs[key] += 1


@njit
def _forget(key, windows, sizing):
    windows.sizes[key] = sizing.first
    windows.limits[key, CHILD] = sizing.list_size
    windows.limits[key, PARENT] = sizing.list_size


@inlined
def _open(key, time, watermark, windows, sizing):
    """Open a subwindow; of a key that has been silent for long nothing is known any more."""
    if watermark >= windows.newest[key] + sizing.idle_ms:
        _forget(key, windows, sizing)
    windows.opened[key] = time


@njit
def adaptive_pairs(keys, times, sides, held, windows, sizing, watermark, lateness, reached):
    """The pairs of subwindows that adapt: what is in a key's subwindow meets everything that comes into it.

    A subwindow opens with a record and ends when the watermark has moved by its size from there, or when it has as many
    records as its size says and both sides have one. A record that is beyond `reached` can enter the subwindow that is
    open, but neither end it nor open one, as the other side may still bring records between: it stays ahead, and is to
    come again as an arrival. Gives the pairs and the subwindows that ended; changes `windows`.
    """
    rows, key_count = keys.shape[0], windows.sizes.shape[0]
    heads = np.full(2 * key_count, NOTHING, np.int64)
    counts = np.zeros(2 * key_count, np.int64)
    epochs = np.zeros(key_count, np.int64)
    row_epochs = np.full(rows, NOTHING, np.int64)
    ahead = np.zeros(rows, np.bool_)
    following = np.full(rows, NOTHING, np.int64)
    children, parents, found, late, ends = np.empty(rows + 16, np.int64), np.empty(rows + 16, np.int64), 0, 0, 0
    most = rows + key_count
    ended = Ended(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    for row in range(rows):
        key, side = keys[row], sides[row]
        if row >= held:
            if times[row] < watermark:
                late += 1
                continue
            watermark = _advance(watermark, min(times[row], reached), lateness)
            count = counts[2 * key] + counts[2 * key + 1]
            if times[row] > reached:
                own = times[row] - lateness
                if count == 0 or _is_over(key, count, windows, sizing.by_count, sizing.idle_ms, own):
                    ahead[row] = True
                    continue
            if _is_over(key, count, windows, sizing.by_count, sizing.idle_ms, watermark):
                _end(key, heads, counts, epochs, windows, sizing, ended, ends)
                ends += 1
                count = 0
            if count == 0:
                _open(key, times[row], watermark, windows, sizing)
            windows.newest[key] = max(windows.newest[key], times[row])
            place = heads[2 * key + (side ^ 1)]
            if place >= 0:
                needed = count + 1 if sizing.by_count else times[row] - windows.opened[key]
                windows.needed[key] = max(windows.needed[key], needed)
            while place >= 0:
                if found == children.shape[0]:
                    children, parents = longer(children, 2 * found), longer(parents, 2 * found)
                children[found] = row if side == CHILD else place
                parents[found] = place if side == CHILD else row
                found += 1
                place = following[place]
        following[row] = heads[2 * key + side]
        heads[2 * key + side] = row
        counts[2 * key + side] += 1
        row_epochs[row] = epochs[key]
        if row >= held and sizing.by_count and _full(counts[2 * key], counts[2 * key + 1], windows.sizes[key], sizing):
            _end(key, heads, counts, epochs, windows, sizing, ended, ends)
            ends += 1
    watermark = _advance(watermark, reached, lateness)
    for key in range(key_count):
        if _is_over(key, counts[2 * key] + counts[2 * key + 1], windows, sizing.by_count, sizing.idle_ms, watermark):
            _end(key, heads, counts, epochs, windows, sizing, ended, ends)
            ends += 1
    waiting = np.empty(rows, np.bool_)
    for row in range(rows):
        waiting[row] = ahead[row] or row_epochs[row] == epochs[keys[row]]
    pairs = Pairs(children[:found].copy(), parents[:found].copy(), waiting, ahead, watermark, late)
    return pairs, Ended(
        ended.keys[:ends].copy(),
        ended.sizes[:ends].copy(),
        ended.children[:ends].copy(),
        ended.parents[:ends].copy(),
        ended.needed[:ends].copy(),
    )


class Subwindows(NamedTuple):
    """Subwindows of time in order: when they opened, their sizes, what their two lists are measured against."""

    opened: np.ndarray
    sizes: np.ndarray
    limits: np.ndarray


# What is counted of subwindows that have ended: how many, their records, those of them that met any of the other side,
# the least size and the largest one.
ENDED, RECORDS, MET, LEAST, LARGEST = 0, 1, 2, 3, 4


@njit
def adaptive_subwindows(child_times, parent_times, counts, windows, sizing, tally):
    """The subwindows of one key that the records of two sides open; both sides are in order of time, nothing is late.

    The same as in `adaptive_pairs`, for those who find the pairs otherwise. `counts` has the records of both sides in
    the subwindow that is open. Changes `counts`, `windows` and `tally`.
    """
    child_count, parent_count = child_times.shape[0], parent_times.shape[0]
    most = child_count + parent_count
    opened, sizes, limits = np.empty(most, np.int64), np.empty(most, np.int64), np.empty((most, 2), np.float64)
    child, parent, found = 0, 0, 0
    while child < child_count or parent < parent_count:
        if parent == parent_count or (child < child_count and child_times[child] <= parent_times[parent]):
            side, time = CHILD, child_times[child]
            child += 1
        else:
            side, time = PARENT, parent_times[parent]
            parent += 1
        count = counts[CHILD] + counts[PARENT]
        if _is_over(0, count, windows, False, sizing.idle_ms, time):
            tally[ENDED] += 1
            tally[RECORDS] += count
            if counts[CHILD] > 0 and counts[PARENT] > 0:
                tally[MET] += count
            tally[LEAST] = min(tally[LEAST], windows.sizes[0])
            tally[LARGEST] = max(tally[LARGEST], windows.sizes[0])
            _adapt(0, counts[CHILD], counts[PARENT], windows, sizing)
            counts[CHILD], counts[PARENT], count = 0, 0, 0
        if count == 0:
            _open(0, time, time, windows, sizing)
            opened[found], sizes[found] = time, windows.sizes[0]
            limits[found, CHILD], limits[found, PARENT] = windows.limits[0, CHILD], windows.limits[0, PARENT]
            found += 1
        windows.newest[0] = max(windows.newest[0], time)
        counts[side] += 1
    return Subwindows(opened[:found].copy(), sizes[:found].copy(), limits[:found].copy())
