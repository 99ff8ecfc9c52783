"""The elements of one instant through a join in one call, row by row: what `freshet.kernels.arrival_batches` does for
many instants.

At one instant rows come before they go. So those that go are out of the rings before anybody is joined, nothing has to
be put in order of moments, and no row begins a second life. Nothing is made here, so a call need not count references
to the arrays either (see `freshet.kernels.jit`).

`plans`, `batch`, `tables` and `kept` are those of `freshet.kernels.arrival_batches`. `room` is what is written to: the
rows that were born and where each leaf's end, the same of the dead, two keys, the results found and a walk to them, and
what came and went, with a column for each row (leaf, column) of `homes`.
"""

from freshet.kernels.alive import LEAF, LINK, SLOT, SOURCES, VIA
from freshet.kernels.arrivals import EVERYTHING, KIND, LAST_ELEMENTS, SIZE, SLIDE, LeafPlans, suits
from freshet.kernels.index import IDLE, ROW_MASK, IndexArrays, _entry_of, _find, _key_hash
from freshet.kernels.jit import leaf as row_by_row
from freshet.kernels.lives import (
    BASE,
    BIRTH,
    COLUMNS,
    DEATH,
    END,
    ENTRY,
    FIRST,
    KEYS,
    LINK_WIDTH,
    LINKS,
    NEWER,
    OLDER,
    OPEN,
    ROOM,
    ROWS,
    VARIABLES,
    WORD,
    LifeArrays,
    RingLinks,
    is_idle,
    unlink_dead,
)
from freshet.kernels.pointers import FREE, USED, PointerArrays, pointers_add, unlink_result


@row_by_row
def _window_start(plans, leaf, instant, number):
    """Where a leaf's window begins at an instant, by which so many elements of its stream have come."""
    kind, size, slide = plans.windows[leaf, KIND], plans.windows[leaf, SIZE], plans.windows[leaf, SLIDE]
    if kind == EVERYTHING:
        return -OPEN
    if kind == LAST_ELEMENTS:
        return number - size
    start = instant - size
    return start if slide == 0 else (start // slide + 1) * slide


@row_by_row
def _arrive(plans, leaf, batch, index, life, moment, key, born, births):
    """Let the elements in that match a leaf's pattern. Gives how many rows have been born then, in all leaves."""
    times, subjects, predicates, objects, offsets, numbers, kept_out = batch
    stream, constants, columns, equals = plans.streams[leaf], plans.constants, plans.columns, plans.equals
    base, mask, end = life.queues[leaf, BASE], life.queues[leaf, ROOM] - 1, life.queues[leaf, END]
    for at in range(offsets[stream], offsets[stream + 1]):
        s, p, o = subjects[at], predicates[at], objects[at]
        if not suits(
            constants[leaf, 0], constants[leaf, 1], constants[leaf, 2], equals[leaf, 1], equals[leaf, 2], s, p, o
        ):
            continue
        if kept_out.shape[0] > 0 and kept_out[leaf, at]:
            continue
        for column in range(key.shape[1]):
            key[0, column] = 0
        key[0, 0] = leaf
        for place in range(3):
            if columns[leaf, place] >= 0:
                key[0, 1 + columns[leaf, place]] = s if place == 0 else p if place == 1 else o
        row = _entry_of(index, key, 0, _key_hash(key, 0))
        if index.counts[row] == 0:
            index.sizes[IDLE] -= 1
            life.records[row, BIRTH] = moment
            life.records[row, DEATH] = OPEN
            born[births] = row
            births += 1
        index.counts[row] += 1
        by_number = plans.windows[leaf, KIND] == LAST_ELEMENTS
        life.places[base + (end & mask)] = numbers[stream] + at - offsets[stream] if by_number else times[at]
        life.inside[base + (end & mask)] = row
        end += 1
    life.queues[leaf, END] = end
    return births


@row_by_row
def _depart(leaf, start, index, life, moment, dead, deaths):
    """Let out what is placed before the window's start. Gives how many rows have died then, in all leaves."""
    base, mask = life.queues[leaf, BASE], life.queues[leaf, ROOM] - 1
    head, end = life.queues[leaf, FIRST], life.queues[leaf, END]
    while head < end and life.places[base + (head & mask)] < start:
        row = life.inside[base + (head & mask)]
        head += 1
        index.counts[row] -= 1
        if index.counts[row] == 0:
            index.sizes[IDLE] += 1
            life.records[row, DEATH] = moment
            if life.records[row, BIRTH] < moment:
                dead[deaths] = row
                deaths += 1
    life.queues[leaf, FIRST] = head
    return deaths


@row_by_row
def _link(ring_index, rings, life, values, leaf, row, key):
    """Put a row in front of the rings of its keys (algorithm 1, insert)."""
    records, known = life.records, ring_index.keys
    for slot in range(rings.slots.shape[1]):
        number = rings.slots[leaf, slot]
        if number < 0:
            continue
        key[0, 0], place = rings.columns[number, VARIABLES], rings.columns[number, WORD]
        for column in range(key.shape[1] - 1):
            source = rings.columns[number, COLUMNS + column]
            key[0, 1 + column] = values[row, 1 + source] if source >= 0 else 0
        entry = _entry_of(ring_index, key, 0, _key_hash(key, 0))
        links = LINKS + LINK_WIDTH * slot
        word = known[entry, place]
        head = -1
        if word == 0:
            ring_index.sizes[IDLE] -= is_idle(known, entry, key.shape[1])
            rings.sizes[number, KEYS] += 1
        else:
            head = word & ROW_MASK
            records[head, links + NEWER] = row
        known[entry, place] = ((word >> 32) + 1) << 32 | row
        records[row, links + OLDER] = head
        records[row, links + NEWER] = -1
        records[row, links + ENTRY] = entry
        rings.sizes[number, ROWS] += 1


@row_by_row
def _let_in_and_out(
    plans, batch, index, life, ring_index, rings, moment, born, born_ends, dead, dead_ends, key, ring_key
):
    """Take the leaves to an instant, and their rings with them."""
    offsets, numbers = batch[4], batch[5]
    instant = -OPEN
    for stream in range(numbers.shape[0] - 1):
        if offsets[stream + 1] > offsets[stream]:
            instant = batch[0][offsets[stream]]
    births = deaths = 0
    for leaf in range(plans.streams.shape[0]):
        stream = plans.streams[leaf]
        births = _arrive(plans, leaf, batch, index, life, moment, key, born, births)
        number = numbers[stream] + offsets[stream + 1] - offsets[stream]
        deaths = _depart(leaf, _window_start(plans, leaf, instant, number), index, life, moment, dead, deaths)
        kept = born_ends[leaf]
        for at in range(kept, births):  # without those that are out already
            row = born[at]
            if life.records[row, DEATH] == OPEN:
                born[kept] = row
                kept += 1
                _link(ring_index, rings, life, index.keys, leaf, row, ring_key)
        births = kept
        born_ends[leaf + 1], dead_ends[leaf + 1] = births, deaths
    for stream in range(numbers.shape[0]):
        numbers[stream] += offsets[stream + 1] - offsets[stream]
    unlink_dead(ring_index, rings, life.records, dead, dead_ends)


@row_by_row
def _newest(ring_index, records, values, step, pointers, key):
    """The newest row of the ring that a step of a probing order looks up for a partial result, or -1."""
    if step[VIA] >= 0:
        entry = records[pointers[step[VIA]], step[LINK]]
    else:
        key[0, 0] = step[VARIABLES]
        for column in range(key.shape[1] - 1):
            leaf, source = step[SOURCES + 2 * column], step[SOURCES + 2 * column + 1]
            key[0, 1 + column] = values[pointers[leaf], 1 + source] if source >= 0 else 0
        entry, _ = _find(ring_index, key, 0, _key_hash(key, 0))
    word = ring_index.keys[entry, step[WORD]] if entry >= 0 else 0
    return word & ROW_MASK if word > 0 else -1


@row_by_row
def _join_row(ring_index, records, values, order, start, row, moment, key, walk, found, count):
    """The results of a row that was born with rows of the other leaves, found depth first.

    Of rows born at this instant, that of the last leaf finds the result. Gives how many results there are then; there
    may be more than there is room for.
    """
    steps = order.shape[0]
    pointers, rows = walk[0], walk[1]  # of the partial result, and where each step is in its ring
    pointers[start] = row
    depth = 0
    if steps > 0:
        rows[0] = _newest(ring_index, records, values, order[0], pointers, key)
    while True:
        if depth == steps:
            if count < found.shape[0]:
                for leaf in range(found.shape[1]):
                    found[count, leaf] = pointers[leaf]
            count += 1
            depth -= 1
        while depth >= 0 and rows[depth] < 0:
            depth -= 1
        if depth < 0:
            return count
        step = order[depth]
        candidate = rows[depth]
        rows[depth] = records[candidate, LINKS + LINK_WIDTH * step[SLOT] + OLDER]
        if step[LEAF] < start or records[candidate, BIRTH] < moment:
            pointers[step[LEAF]] = candidate
            depth += 1
            if depth < steps:
                rows[depth] = _newest(ring_index, records, values, order[depth], pointers, key)


@row_by_row
def _fill(rows, at, values, pointers, homes):
    for column in range(homes.shape[0]):
        leaf = homes[column, 0]
        rows[at, column] = values[pointers[leaf], 1 + homes[column, 1]] if leaf >= 0 else 0


@row_by_row
def _dependent(results, dead, dead_ends):
    """How many results point to dead rows, those that point to two counted twice."""
    count = 0
    for leaf in range(results.heads.shape[0]):
        for at in range(dead_ends[leaf], dead_ends[leaf + 1]):
            row = dead[at]
            slot = results.heads[leaf, row] if row < results.heads.shape[1] else -1
            while slot >= 0:
                count += 1
                slot = results.older[leaf, slot]
    return count


@row_by_row
def _end_results(results, values, dead, dead_ends, homes, went):
    """Drop the results that point to dead rows, and write them down. Gives how many they were."""
    gone = 0
    for leaf in range(results.heads.shape[0]):
        for at in range(dead_ends[leaf], dead_ends[leaf + 1]):
            row = dead[at]
            slot = results.heads[leaf, row] if row < results.heads.shape[1] else -1
            while slot >= 0:
                following = results.older[leaf, slot]
                _fill(went, gone, values, results.pointers[slot], homes)
                gone += 1
                unlink_result(results, slot)
                slot = following
    return gone


@row_by_row
def pass_instant(plans, batch, tables, kept, orders, homes, moment, keeps, entered, room):
    """Let the elements of one instant in, let out what goes, and join what was born.

    Gives how many results came and how many went (where results are kept, `keeps`), and 0; or where there is too little
    room for them how many there must be room for. Then it is to be called again, with the elements `entered`.
    """
    leaf_plans = LeafPlans(plans[0], plans[1], plans[2], plans[3], plans[4], plans[5])
    index = IndexArrays(tables[0], tables[1], tables[2], tables[3], tables[4])
    life = LifeArrays(tables[5], tables[6], tables[7], tables[8], tables[9])
    ring_index = IndexArrays(tables[10], tables[11], tables[12], tables[13], tables[14])
    rings = RingLinks(tables[15], tables[16], tables[17])
    results = PointerArrays(kept[0], kept[1], kept[2], kept[3], kept[4], kept[5], kept[6])
    born, born_ends, dead, dead_ends, key, ring_key, found, walk, came, went = room
    values, leaves = index.keys, orders.shape[0]
    if not entered:
        _let_in_and_out(
            leaf_plans, batch, index, life, ring_index, rings, moment, born, born_ends, dead, dead_ends, key, ring_key
        )
    coming = 0
    for leaf in range(leaves):
        for at in range(born_ends[leaf], born_ends[leaf + 1]):
            coming = _join_row(
                ring_index, life.records, values, orders[leaf], leaf, born[at], moment, ring_key, walk, found, coming
            )
    chained = keeps and leaves > 1  # the results of a single leaf are its rows
    going = 0
    if keeps:
        going = _dependent(results, dead, dead_ends) if chained else dead_ends[leaves]
    if coming > found.shape[0] or going > went.shape[0]:
        return 0, 0, max(coming, going)
    if chained:
        used = results.sizes[USED] - results.sizes[FREE]
        if life.records.shape[0] > results.heads.shape[1] or used + coming > results.alive.shape[0]:
            return 0, 0, max(coming, going, 1)
        going = _end_results(results, values, dead, dead_ends, homes, went)
        pointers_add(results, found[:coming])
    elif keeps:
        for at in range(going):
            _fill(went, at, values, dead[at : at + 1], homes)
    for at in range(coming):
        _fill(came, at, values, found[at], homes)
    return coming, going, 0


@row_by_row
def distinct_instant(counted, came, went, entries):
    """Count the rows that came at an instant and then those that went (equations 4 and 5).

    The rows that are there since, and those that are not there any more, are moved to the front; gives how many these
    are. `entries` is room for as many numbers as came.
    """
    index = IndexArrays(counted[0], counted[1], counted[2], counted[3], counted[4])
    fresh = 0
    for at in range(came.shape[0]):
        entry = _entry_of(index, came, at, _key_hash(came, at))
        if index.counts[entry] == 0:
            index.sizes[IDLE] -= 1
            entries[fresh] = entry
            fresh += 1
        index.counts[entry] += 1
    vanished = 0
    for at in range(went.shape[0]):
        entry = _entry_of(index, went, at, _key_hash(went, at))
        index.counts[entry] -= 1
        if index.counts[entry] == 0:
            index.sizes[IDLE] += 1
            was_there = True
            for place in range(fresh):
                was_there &= entries[place] != entry
            if was_there:
                for column in range(went.shape[1]):
                    went[vanished, column] = went[at, column]
                vanished += 1
    appeared = 0
    for place in range(fresh):
        entry = entries[place]
        if index.counts[entry] > 0:
            for column in range(came.shape[1]):
                came[appeared, column] = index.keys[entry, column]
            appeared += 1
    return appeared, vanished
