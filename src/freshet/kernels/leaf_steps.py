"""What all leaf buffers of a window do in a batch, in one call: by their records (`freshet.kernels.records`).

A kernel stops at a leaf buffer that has no room, and says at which; once that has more, it goes on from there.
"""

import numpy as np

from freshet.kernels.index import FREE, IDLE, USED, ring_link, ring_unlink
from freshet.kernels.jit import leaf as no_arrays
from freshet.kernels.jit import njit
from freshet.kernels.records import (
    BORN,
    COLUMNS,
    COMING,
    CONSTANTS,
    DEAD,
    DEAD_COUNT,
    DEAD_ROOM,
    DELETED,
    DIED,
    END,
    EQUAL,
    EXPIRES,
    FIRST,
    FRESH,
    FRESH_COUNT,
    FRESH_ROOM,
    HEIRS,
    INSIDE,
    KEY_COLUMNS,
    KEY_PLACES,
    KEY_ROOM,
    LARGEST,
    LEAF_FIELDS,
    LEAVING,
    LIVE,
    NUMBER,
    ORDERED,
    PLACES,
    POSITIONS,
    QUEUE_FIELDS,
    QUEUE_ROOM,
    QUEUED,
    REPLACED,
    REPLACED_COUNT,
    RING_COUNT,
    RING_ROOM,
    RING_ROWS,
    RINGS,
    ROOM,
    ROW_COUNTS,
    ROW_SIZES,
    ROW_TABLE,
    ROW_TABLE_SIZE,
    SIZES,
    UNUSED_ROWS,
    WAITING,
    numbers_at,
    ring_at,
    ring_index,
    ring_links,
    rows_at,
    small_numbers_at,
    values_of,
)
from freshet.kernels.row_lifetimes import DELETES, POSITION_BITS, leaf_step, release_replaced


@njit
def _queue(address):
    return numbers_at(address, QUEUE_FIELDS)


@njit
def _count_before(queue, position):
    """How many rows at the front of a queue have a position before this one."""
    low, high = queue[FIRST], queue[END]
    if low == high:
        return np.int64(0)
    positions = numbers_at(queue[POSITIONS], high)
    if positions[low] >= position:
        return np.int64(0)
    if positions[high - 1] < position:
        return high - low
    first = low
    while low < high:
        middle = (low + high) >> 1
        if positions[middle] < position:
            low = middle + 1
        else:
            high = middle
    return low - first


@njit
def _rows_of(leaf):
    """What `leaf_step` needs of the rows."""
    room = leaf[ROOM]
    return (
        numbers_at(leaf[ROW_TABLE], leaf[ROW_TABLE_SIZE]),
        values_of(leaf),
        small_numbers_at(leaf[ROW_COUNTS], room),
        small_numbers_at(leaf[UNUSED_ROWS], room),
        numbers_at(leaf[ROW_SIZES], 3),
        numbers_at(leaf[BORN], room),
        numbers_at(leaf[DIED], room),
        small_numbers_at(leaf[HEIRS], room),
        numbers_at(leaf[DELETED], 2 * room if leaf[DELETED] != 0 else 0),
    )


@njit
def _finish(leaf):
    """The batch before is done with: its dead leave the ring indexes, and rows that have an heir are free."""
    if leaf[DEAD_COUNT] > 0:
        dead = small_numbers_at(leaf[DEAD], leaf[DEAD_COUNT])
        rings = numbers_at(leaf[RINGS], leaf[RING_COUNT])
        for at in range(rings.shape[0]):
            ring = ring_at(rings[at])
            ring_unlink(ring_index(ring), ring_links(ring), dead)
            ring[RING_ROWS] -= dead.shape[0]
    if leaf[REPLACED_COUNT] > 0:
        release_replaced(_rows_of(leaf), small_numbers_at(leaf[REPLACED], leaf[FRESH_ROOM]), leaf[REPLACED_COUNT])
    leaf[FRESH_COUNT] = leaf[DEAD_COUNT] = leaf[REPLACED_COUNT] = 0


@njit
def _has_room(leaf, inside, coming, leaving):
    """Whether there is room for rows that come, and to list them."""
    sizes = numbers_at(leaf[ROW_SIZES], 3)
    if leaf[ROOM] - sizes[USED] + sizes[FREE] < coming or leaf[FRESH_ROOM] < coming:
        return False
    if leaf[DEAD_ROOM] < coming + leaving or inside[END] + coming > inside[QUEUE_ROOM]:
        return False
    rings = numbers_at(leaf[RINGS], leaf[RING_COUNT])
    for at in range(rings.shape[0]):
        ring = ring_at(rings[at])
        keys = numbers_at(ring[SIZES], 3)
        if ring[KEY_ROOM] - keys[USED] + keys[FREE] < coming or ring[RING_ROOM] < leaf[ROOM]:
            return False
    return True


@njit
def _link(leaf):
    """Put the rows whose lives begin into the ring indexes."""
    fresh, values = small_numbers_at(leaf[FRESH], leaf[FRESH_COUNT]), values_of(leaf)
    rings = numbers_at(leaf[RINGS], leaf[RING_COUNT])
    for at in range(rings.shape[0]):
        ring = ring_at(rings[at])
        columns = numbers_at(ring[KEY_PLACES], ring[KEY_COLUMNS] - 1)
        largest = ring_link(ring_index(ring), ring_links(ring), fresh, values, columns)
        ring[LARGEST] = max(ring[LARGEST], largest)
        ring[RING_ROWS] += fresh.shape[0]


@njit
def step_leaves(
    leaves, first, number, first_moment, entered, entered_before, births, left, left_before, deaths, changed
):
    """Take a batch into leaf buffers, from one on: see `leaf_step`. Gives the one that has no room, or their number.

    Those in which anything changes are added to `changed`, behind how many they are.
    """
    for at in range(first, leaves.shape[0]):
        leaf = numbers_at(leaves[at], LEAF_FIELDS)
        waiting, inside = _queue(leaf[WAITING]), _queue(leaf[INSIDE])
        coming, leaving = _count_before(waiting, entered << POSITION_BITS), _count_before(inside, left)
        if coming == 0 and leaving == 0:
            continue
        leaf[COMING], leaf[LEAVING] = coming, leaving
        if leaf[ORDERED]:
            return at
        _finish(leaf)
        if not _has_room(leaf, inside, coming, leaving):
            return at
        came = numbers_at(waiting[POSITIONS], waiting[END]), rows_at(waiting[QUEUED], waiting[END], leaf[COLUMNS])
        room = inside[QUEUE_ROOM]
        held = numbers_at(inside[POSITIONS], room), small_numbers_at(inside[QUEUED], room)
        found, gone, replaced, gone_arrivals, added = leaf_step(
            _rows_of(leaf), came, waiting[FIRST], coming, births, entered_before, held, inside[FIRST], inside[END],
            left, deaths, left_before, first_moment, small_numbers_at(leaf[FRESH], leaf[FRESH_ROOM]),
            small_numbers_at(leaf[DEAD], leaf[DEAD_ROOM]), small_numbers_at(leaf[REPLACED], leaf[FRESH_ROOM]),
        )  # fmt: skip
        leaf[NUMBER], leaf[FRESH_COUNT], leaf[DEAD_COUNT], leaf[REPLACED_COUNT] = number, found, gone, replaced
        sizes = numbers_at(leaf[ROW_SIZES], 3)
        leaf[LIVE] = sizes[USED] - sizes[IDLE] - sizes[FREE]
        waiting[FIRST] += coming
        inside[FIRST] += gone_arrivals
        inside[END] += added
        leaf[COMING] = added
        if not leaf[EXPIRES]:  # nothing leaves, so times of arrival are not needed
            inside[FIRST] = inside[END] = 0
        if found > 0:
            _link(leaf)
        changed[0] += 1
        changed[changed[0]] = at
    return leaves.shape[0]


@no_arrays
def _matches(leaf, subject, predicate, object):
    if leaf[CONSTANTS] != 0 and leaf[CONSTANTS] != subject:
        return False
    if leaf[CONSTANTS + 1] != 0 and leaf[CONSTANTS + 1] != predicate:
        return False
    if leaf[CONSTANTS + 2] != 0 and leaf[CONSTANTS + 2] != object:
        return False
    equal = leaf[EQUAL]
    if equal == 0:
        return True
    if equal & 1 and subject != predicate:
        return False
    if equal & 2 and subject != object:
        return False
    return not (equal & 4 and predicate != object)


@njit
def receive(leaves, first, positions, subjects, predicates, objects, filled):
    """Let leaf buffers, from one on, queue those of some elements that match. Gives the one that has no room.

    The predicate of a deletion is negative. Where LEAVING is set, it is for deletions that there is no room.
    Those that had nothing before, and have something now, are added to `filled`, behind how many they are.
    """
    count, deletes = positions.shape[0], False
    for row in range(count):
        deletes |= predicates[row] < 0
    for at in range(first, leaves.shape[0]):
        leaf = numbers_at(leaves[at], LEAF_FIELDS)
        waiting, inside = _queue(leaf[WAITING]), _queue(leaf[INSIDE])
        if waiting[END] + count > waiting[QUEUE_ROOM] or (deletes and leaf[DELETED] == 0):
            matching = 0
            for row in range(count):
                matching += _matches(leaf, subjects[row], abs(predicates[row]), objects[row])
            if waiting[END] + matching > waiting[QUEUE_ROOM] or (deletes and leaf[DELETED] == 0 and matching > 0):
                leaf[COMING], leaf[LEAVING] = matching, deletes
                return at
        room = waiting[QUEUE_ROOM]
        places, columns = numbers_at(waiting[POSITIONS], room), leaf[COLUMNS]
        values, end = rows_at(waiting[QUEUED], room, columns), waiting[END]
        for row in range(count):
            predicate = abs(predicates[row])
            if _matches(leaf, subjects[row], predicate, objects[row]):
                places[end] = positions[row] << POSITION_BITS | (DELETES if predicates[row] < 0 else 0)
                for column in range(columns):
                    place = leaf[PLACES + column]
                    term = subjects[row] if place == 0 else objects[row]
                    values[end, column] = predicate if place == 1 else term
                end += 1
        if end > waiting[END]:
            if waiting[END] == waiting[FIRST] and inside[END] == inside[FIRST]:
                filled[0] += 1
                filled[filled[0]] = at
            waiting[END] = end
    return leaves.shape[0]
