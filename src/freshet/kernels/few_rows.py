"""Steps of leaves and of joins of two for a few rows, row by row: the same as `leaf_turn` and `pair_step` for many.

What these spend on memory of their own, and on waits that overlap, is more than a few rows take. Nothing is made here,
so calls need not count references to the arrays either (see `freshet.kernels.jit`).

Plain tuples are those of `freshet.kernels.leaf` (`leaf`, `ring`) and `freshet.kernels.pair_join` (`left`, `right`,
`kept`). What is not for these, since it is more than a few rows or there is too little room, is left to those for many.
"""

from freshet.kernels.index import (
    EVERY_STEP,
    IDLE,
    ONE_ROW,
    ROW_MASK,
    IndexArrays,
    RingArrays,
    _entry_of,
    _find,
    _key_hash,
)
from freshet.kernels.jit import leaf as row_by_row
from freshet.kernels.pair_join import BORN, COLUMNS, DEAD, FRESH, RING, VALUES, lacks_room
from freshet.kernels.pointers import PointerArrays, pointers_add, unlink_result

FEW_ROWS = 16
AFTER_ALL_POSITIONS = 1 << 62  # where a queue is empty


@row_by_row
def _fill_key(key, values, row, columns):
    for column in range(columns.shape[0]):
        key[0, column] = values[row, columns[column]]


@row_by_row
def _link(index, ring, key, row):
    """Put a row in front of the ring of its key (algorithm 1, insert)."""
    entry = _entry_of(index, key, 0, _key_hash(key, 0))
    last = key.shape[1]
    word = index.keys[entry, last]
    head = -1
    if word == 0:
        index.sizes[IDLE] -= 1
    else:
        head = word & ROW_MASK
        ring.newer[head] = row
    index.keys[entry, last] = ((word >> 32) + 1) << 32 | row
    ring.older[row] = head
    ring.newer[row] = -1
    ring.entries[row] = entry


@row_by_row
def _unlink(index, ring, row):
    """Take a row out of its ring."""
    entry, before, after = ring.entries[row], ring.older[row], ring.newer[row]
    last = index.keys.shape[1] - 1
    word = index.keys[entry, last] - ONE_ROW
    if after >= 0:
        ring.older[after] = before
    else:
        word = word & ~ROW_MASK | before & ROW_MASK
    if before >= 0:
        ring.newer[before] = after
    index.sizes[IDLE] += word < ONE_ROW
    index.keys[entry, last] = word if word >= ONE_ROW else 0


@row_by_row
def _count_before(positions, first, end, bound):
    """How many positions of a queue, up to one more than a few, are before a bound."""
    count = 0
    while count <= FEW_ROWS and first + count < end and positions[first + count] < bound:
        count += 1
    return count


@row_by_row
def _first_of(positions, first, end):
    return positions[first] if first < end else AFTER_ALL_POSITIONS


@row_by_row
def leaf_step_few(
    leaf, ring, waiting, first_waiting, end_waiting, inside, first_inside, end_inside, first, last, number, room, outs
):
    """`leaf_turn_linked` row by row, with those coming that wait before `last`, and leaving that are before `first`.

    `room` is how many may come, `outs` takes the fresh and the dead rows. Gives how many came, left, are fresh and are
    dead, and the first positions of both queues then; -1 came where nothing was done.
    """
    index = IndexArrays(leaf[0], leaf[1], leaf[2], leaf[3], leaf[4])
    ring_index = IndexArrays(ring[0], ring[1], ring[2], ring[3], ring[4])
    links = RingArrays(ring[5], ring[6], ring[7])
    born, columns, key = leaf[5], ring[8], ring[9]
    positions, keys = waiting
    positions_inside, rows_inside = inside
    fresh, dead = outs
    coming = _count_before(positions, first_waiting, end_waiting, last)
    leaving = _count_before(positions_inside, first_inside, end_inside, first)
    room = min(room, positions_inside.shape[0] - end_inside)
    if coming + leaving > FEW_ROWS or coming > room or leaving > dead.shape[0]:
        return -1, 0, 0, 0, 0, 0
    found = gone = 0
    for at in range(coming):
        row = _entry_of(index, keys, first_waiting + at, _key_hash(keys, first_waiting + at))
        positions_inside[end_inside + at] = positions[first_waiting + at]
        rows_inside[end_inside + at] = row
        if index.counts[row] == 0:
            index.sizes[IDLE] -= 1
            born[row] = number
            fresh[found] = row
            found += 1
            _fill_key(key, index.keys, row, columns)
            _link(ring_index, links, key, row)
        index.counts[row] += 1
    for at in range(first_inside, first_inside + leaving):
        row = rows_inside[at]
        index.counts[row] -= 1
        if index.counts[row] == 0:
            index.sizes[IDLE] += 1
            dead[gone] = row
            gone += 1
            _unlink(ring_index, links, row)
    first_waiting, first_inside, end_inside = first_waiting + coming, first_inside + leaving, end_inside + coming
    next_waiting = _first_of(positions, first_waiting, end_waiting)
    return coming, leaving, found, gone, next_waiting, _first_of(positions_inside, first_inside, end_inside)


@row_by_row
def _add_matches(rows, probing, probed, before, place, pairs, count):
    """Pairs of each fresh row of one input, in column `place`, and the rows of the other that it finds.

    Gives how many pairs there are then, -1 where there is no room for them.
    """
    ring, born = probed[RING], probed[BORN]
    index = IndexArrays(ring[0], ring[1], ring[2], ring[3], ring[4])
    older, key = ring[5], ring[9]
    for row in rows:
        _fill_key(key, probing[VALUES], row, probing[COLUMNS])
        entry, _ = _find(index, key, 0, _key_hash(key, 0))
        word = index.keys[entry, key.shape[1]] if entry >= 0 else 0
        match = word & ROW_MASK
        for _ in range(word >> 32):
            if born[match] < before:
                if count == pairs.shape[0]:
                    return -1
                pairs[count, place] = row
                pairs[count, 1 - place] = match
                count += 1
            match = older[match]
    return count


@row_by_row
def _fill_row(rows, at, left_values, left_row, right_values, right_row, homes):
    for column in range(homes.shape[0]):
        if homes[column, 0] == 0:
            rows[at, column] = left_values[left_row, homes[column, 1]]
        else:
            rows[at, column] = right_values[right_row, homes[column, 1]]


@row_by_row
def pair_step_few(left, left_moved, right, right_moved, kept, homes, since, came, went, pairs):
    """`pair_step` row by row; the last number is not 0 where nothing was done."""
    moved = left_moved[FRESH].shape[0] + right_moved[FRESH].shape[0]
    if moved + left_moved[DEAD].shape[0] + right_moved[DEAD].shape[0] > FEW_ROWS:
        return 0, 0, 1
    results = PointerArrays(kept[0], kept[1], kept[2], kept[3], kept[4], kept[5], kept[6])
    sides = results.heads.shape[0]
    left_values, right_values = left[VALUES], right[VALUES]
    coming = _add_matches(left_moved[FRESH], left, right, since + 1, 0, pairs, 0)
    if coming >= 0:
        coming = _add_matches(right_moved[FRESH], right, left, EVERY_STEP, 1, pairs, coming)
    if coming < 0 or lacks_room(results, sides, left_values.shape[0], right_values.shape[0], coming):
        return 0, 0, 1
    going = 0
    for side in range(sides):
        for row in left_moved[DEAD] if side == 0 else right_moved[DEAD]:
            slot = results.heads[side, row] if row < results.heads.shape[1] else -1
            while slot >= 0:
                going += 1
                slot = results.older[side, slot]
    if going > went.shape[0]:
        return 0, 0, 1
    gone = 0
    for side in range(sides):
        for row in left_moved[DEAD] if side == 0 else right_moved[DEAD]:
            slot = results.heads[side, row] if row < results.heads.shape[1] else -1
            while slot >= 0:
                following = results.older[side, slot]
                pointers = results.pointers
                _fill_row(went, gone, left_values, pointers[slot, 0], right_values, pointers[slot, 1], homes)
                gone += 1
                unlink_result(results, slot)
                slot = following
    for at in range(coming):
        _fill_row(came, at, left_values, pairs[at, 0], right_values, pairs[at, 1], homes)
    pointers_add(results, pairs[:coming])
    return coming, gone, 0
