"""Rows of a stored graph by number: those that have a key, what stands in them, and those that came since.

A base has each triple twice, sorted by subject and sorted by object. A row that is found by its subject is numbered by
its place in the first order, one that is found by its object by its place in the second, behind all those of the first.
Appended rows have the numbers behind both. So one number says where to read, and nothing has to say which place in one
order is which in the other. Numbers begin where the rows of a predicate do, where the pattern has one.

`freshet.kernels.sorted_triples` and `freshet.kernels.adjacency` say what the arrays are.
"""

import numpy as np

from freshet.kernels.adjacency import LOW, filter_shift, key_tag, tag_shift, triple_tag
from freshet.kernels.adjacency_reading import find_row, seek_entry
from freshet.kernels.growing import longer
from freshet.kernels.jit import leaf, njit
from freshet.kernels.prefetch import fetch
from freshet.kernels.sorted_triples import first_place, narrow_range, search

BLOCK = 64
OLD = np.int64(-(2**63))  # before every moment: of rows that a batch finds there


@njit
def _key_ranges(slots, first, shift, keys, column, constant, ranges):
    """The ranges of keys in the table of their group, and how many rows they have together; no group: shift 0."""
    total = np.int64(0)
    if shift == 0:
        ranges[:] = 0
        return total
    places = np.empty(BLOCK, np.int64)
    for begin in range(0, ranges.size, BLOCK):
        size = min(BLOCK, ranges.size - begin)
        for j in range(size):
            places[j] = first_place(first, shift, keys[begin + j, column] if column >= 0 else constant)
            fetch(slots, places[j])
        for j in range(size):
            key = keys[begin + j, column] if column >= 0 else constant
            found = search(slots, first, shift, places[j], key) if key != 0 else np.int64(0)
            ranges[begin + j] = found
            total += found & LOW
    return total


@njit
def _key_heads(table, filter, entries, limit, group, keys, column, constant, heads, counts):
    """For each key its first appended row + 1, or 0, and how many it has, or somewhat more; all of them together."""
    shift, bit_shift = tag_shift(table), filter_shift(table)
    maybe = np.empty(heads.size, np.int64)
    count = 0
    for i in range(heads.size):
        bit = key_tag(keys[i, column] if column >= 0 else constant, group) >> bit_shift
        maybe[count] = i
        heads[i] = 0
        counts[i] = 0
        count += filter[bit >> 6] >> (bit & 63) & 1  # without a branch, which would be guessed wrong
    found = np.empty(BLOCK, np.int64)
    total = np.int64(0)
    for begin in range(0, count, BLOCK):
        size = min(BLOCK, count - begin)
        for j in range(size):
            i = maybe[begin + j]
            fetch(table, key_tag(keys[i, column] if column >= 0 else constant, group) >> shift)
        for j in range(size):
            i = maybe[begin + j]
            slot = table[key_tag(keys[i, column] if column >= 0 else constant, group) >> shift]
            if slot != 0 and (slot & LOW) <= entries.shape[0]:
                fetch(entries, 3 * ((slot & LOW) - 1))
        for j in range(size):
            i = maybe[begin + j]
            key = keys[i, column] if column >= 0 else constant
            found[j] = seek_entry(table, shift, entries, limit, key_tag(key, group), key, group)
        for j in range(size):
            if found[j] >= 0:
                heads[maybe[begin + j]] = entries[found[j], 2] >> 32
                counts[maybe[begin + j]] = entries[found[j], 1] & LOW
                total += entries[found[j], 1] & LOW
    return total


@njit
def key_rows(
    slots, first, shift, shifted, table, filter, entries, nodes, limit, group, appended, keys, column, constant
):
    """The rows of many subjects or objects of a predicate: the number of the key, and the row.

    The keys are a column of `keys`, or with column -1 a constant for each of its rows. `shifted` and `appended` are
    what makes places in the order and numbers of appended rows the numbers of rows. A predicate that the base lacks
    has shift 0, one that nothing appended has is group -1.
    """
    count = keys.shape[0]
    ranges = np.empty(count, np.int64)
    total = _key_ranges(slots, first, shift, keys, column, constant, ranges)
    more = np.int64(0)
    heads, counts = ranges, ranges  # which are not read without `more`
    if group >= 0:
        heads, counts = np.empty(count, np.int64), np.empty(count, np.int64)
        more = _key_heads(table, filter, entries, limit, group, keys, column, constant, heads, counts)
    numbers = np.empty(total + more, np.int64)
    rows = np.empty(total + more, np.int32)
    if more > 0:
        end = _spread_both(ranges, heads, counts, shifted, nodes, limit, appended, numbers, rows)
        return numbers[:end], rows[:end]
    end = 0
    for i in range(count):
        start = (ranges[i] >> 32) + shifted
        for at in range(ranges[i] & LOW):
            numbers[end] = i
            rows[end] = start + at
            end += 1
    return numbers, rows


@njit
def _spread_both(ranges, heads, counts, shifted, nodes, limit, appended, numbers, rows):
    """The rows of ranges, each followed by the chain that begins at its head; how many they are.

    A row of a chain says where the next is, so each step waits for memory. The chains of a block go on side by side, to
    wait together; each has room for its count.
    """
    walking = np.empty(BLOCK, np.int64)  # chains that have not ended
    at_row, at_place = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    end = 0
    for begin in range(0, ranges.size, BLOCK):
        size = min(BLOCK, ranges.size - begin)
        active = 0
        place = end
        for j in range(size):
            i = begin + j
            start = (ranges[i] >> 32) + shifted
            for at in range(ranges[i] & LOW):
                numbers[place] = i
                rows[place] = start + at
                place += 1
            at_row[j], at_place[j] = heads[i] - 1, place
            if heads[i] > 0:
                fetch(nodes, 2 * (heads[i] - 1))
                walking[active] = j
                active += 1
            for at in range(place, place + counts[i]):
                numbers[at] = -1
            place += counts[i]
        while active > 0:
            left = 0
            for k in range(active):
                j = walking[k]
                row = at_row[j]
                numbers[at_place[j]] = begin + j
                rows[at_place[j]] = row + appended
                at_place[j] += 1
                row = (nodes[row, 1] & LOW) - 1
                if 0 <= row < limit:
                    fetch(nodes, 2 * row)
                    at_row[j] = row
                    walking[left] = j
                    left += 1
            active = left
        for at in range(end, place):  # a chain that has grown since has fewer rows than its count
            if numbers[at] >= 0:
                numbers[end], rows[end] = numbers[at], rows[at]
                end += 1
    return end


@njit
def count_rows(slots, first, shift, table, filter, entries, limit, group, keys, column, constant):
    """How many rows each key has, or somewhat more."""
    counts = np.empty(keys.shape[0], np.int64)
    _key_ranges(slots, first, shift, keys, column, constant, counts)
    table_shift, bit_shift = tag_shift(table), filter_shift(table)
    for i in range(counts.size):
        counts[i] &= LOW
        if group < 0:
            continue
        key = keys[i, column] if column >= 0 else constant
        tag = key_tag(key, group)
        bit = tag >> bit_shift
        if filter[bit >> 6] >> (bit & 63) & 1 == 1:
            entry = seek_entry(table, table_shift, entries, limit, tag, key, group)
            if entry >= 0:
                counts[i] += entries[entry, 1] & LOW
    return counts


@njit
def pair_rows(
    slots, first, shift, seconds, shifted, triples, out, into, limit, group, appended,
    keys, subject_column, subject, object_column, object,
):  # fmt: skip
    """The rows of many pairs of a subject and an object: as `key_rows`, each a column of `keys` or a constant."""
    count = keys.shape[0]
    numbers = np.empty(count, np.int64)
    rows = np.empty(count, np.int32)
    ranges = np.empty(count, np.int64)
    _key_ranges(slots, first, shift, keys, subject_column, subject, ranges)
    table_shift = tag_shift(triples)
    tags = np.empty(BLOCK, np.int64)
    end = 0
    for begin in range(0, count, BLOCK):
        stop = min(begin + BLOCK, count)
        for i in range(begin, stop):
            if ranges[i] != 0:
                fetch(seconds, ranges[i] >> 32)
            if group >= 0:
                first_term = keys[i, subject_column] if subject_column >= 0 else subject
                second_term = keys[i, object_column] if object_column >= 0 else object
                tags[i - begin] = triple_tag(first_term, group, second_term)
                fetch(triples, tags[i - begin] >> table_shift)
        if group >= 0:
            for i in range(begin, stop):
                slot = triples[tags[i - begin] >> table_shift]
                if slot >> 32 == tags[i - begin] and slot & LOW <= limit:
                    fetch(out, 2 * ((slot & LOW) - 1))
                    fetch(into, 2 * ((slot & LOW) - 1))
        for i in range(begin, stop):
            first_term = keys[i, subject_column] if subject_column >= 0 else subject
            second_term = keys[i, object_column] if object_column >= 0 else object
            row = np.int64(-1)
            if ranges[i] != 0:
                found = narrow_range(seconds, ranges[i], second_term)
                if found != 0:
                    row = (found >> 32) + shifted
            if row < 0 and group >= 0:
                row = find_row(triples, out, into, limit, first_term, group, second_term)
                if row >= 0:
                    row += appended
            if row >= 0:
                numbers[end] = i
                rows[end] = row
                end += 1
    return numbers[:end], rows[:end]


@njit
def chain_rows(table, entries, nodes, limit, keys, groups, every):
    """The appended rows of many keys: the number of the key, and the row, numbered among those appended.

    A key has a group of its own, -1 for none; with `every` above 0 it is all groups below it.
    """
    shift = tag_shift(table)
    room = max(16, keys.size)
    numbers, rows = np.empty(room, np.int64), np.empty(room, np.int64)
    end = 0
    for i in range(keys.size):
        low, high = np.int64(0), every
        if every == 0:
            low = groups[i]
            high = low + 1
        for group in range(low, high):
            if group < 0:
                continue
            entry = seek_entry(table, shift, entries, limit, key_tag(keys[i], group), keys[i], group)
            if entry < 0:
                continue
            row = (entries[entry, 2] >> 32) - 1
            while 0 <= row < limit:
                if end == room:
                    room *= 2
                    numbers, rows = longer(numbers, room), longer(rows, room)
                numbers[end], rows[end] = i, row
                end += 1
                row = (nodes[row, 1] & LOW) - 1
    return numbers[:end], rows[:end]


@njit
def triple_rows(triples, out, into, limit, subjects, groups, objects, every):
    """As `chain_rows` the appended rows of many pairs of a subject and an object."""
    room = max(16, subjects.size)
    numbers, rows = np.empty(room, np.int64), np.empty(room, np.int64)
    end = 0
    for i in range(subjects.size):
        low, high = np.int64(0), every
        if every == 0:
            low = groups[i]
            high = low + 1
        for group in range(low, high):
            if group < 0:
                continue
            row = find_row(triples, out, into, limit, subjects[i], group, objects[i])
            if row >= 0:
                if end == room:
                    room *= 2
                    numbers, rows = longer(numbers, room), longer(rows, room)
                numbers[end], rows[end] = i, row
                end += 1
    return numbers[:end], rows[:end]


@njit
def rows_along_since(along, first, last, limit):
    """The appended rows of a group behind the one with number `last - 1`; `first` is its first row + 1, or 0.

    Gives the number of the last of all + 1 as well.
    """
    room = 64
    rows = np.empty(room, np.int64)
    end = 0
    row = first if last == 0 else np.int64(along[last - 1])
    while 0 < row <= limit:
        if end == room:
            room *= 2
            rows = longer(rows, room)
        rows[end] = row - 1
        end += 1
        last = row
        row = np.int64(along[row - 1])
    return rows[:end], last


@njit
def rows_of_key_since(table, entries, nodes, last, limit, key, group):
    """As `rows_along_since` those of a key."""
    row = np.int64(0)
    if last > 0:
        row = nodes[last - 1, 1] & LOW
    else:
        entry = seek_entry(table, tag_shift(table), entries, limit, key_tag(key, group), key, group)
        if entry >= 0:
            row = entries[entry, 2] >> 32
    room = 64
    rows = np.empty(room, np.int64)
    end = 0
    while 0 < row <= limit:
        if end == room:
            room *= 2
            rows = longer(rows, room)
        rows[end] = row - 1
        end += 1
        last = row
        row = nodes[row - 1, 1] & LOW
    return rows[:end], last


@njit
def begin_rows(rows, times, earliest, first, last, appended):
    """Rows that have come, as numbers of the leaf and with their births: see StoredLeaf.

    Says whether that is all there is to do: they begin by the last moment, are in order, and their first time is the
    earliest.
    """
    fresh, births = np.empty(rows.size, np.int32), np.empty(rows.size, np.int64)
    simple = True
    before = first
    for i in range(rows.size):
        births[i] = 2 * earliest[rows[i]] + 1
        fresh[i] = rows[i] + appended
        at = max(births[i], first)
        if at < before or at > last or earliest[rows[i]] != times[rows[i]]:
            simple = False
        before = at
    return fresh, births, simple


@njit
def row_terms(rows, by_subject, by_object, nodes):
    """What stands at a place of rows: in the order by subject, in that by object, or in the nodes of appended rows."""
    count = by_subject.size
    terms = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        row = np.int64(rows[i])
        if row < count:
            terms[i] = by_subject[row]
        elif row < 2 * count:
            terms[i] = by_object[row - count]
        else:
            terms[i] = nodes[row - 2 * count, 0]
    return terms


@leaf
def _first_above(column, wanted):
    """Where the first number above `wanted` stands in a column in ascending order."""
    low, high = 0, column.size
    while low < high:
        middle = (low + high) >> 1
        if column[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@njit
def row_predicates(rows, bounds, predicates, nodes, known):
    """The predicates of rows, where they are numbered from the beginning of the base."""
    count = bounds[bounds.size - 1]
    terms = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        row = np.int64(rows[i])
        if row < 2 * count:
            if row >= count:
                row -= count
            terms[i] = predicates[_first_above(bounds, row) - 1]
        else:
            terms[i] = known[nodes[row - 2 * count, 1] >> 32]
    return terms


@njit
def _place(column, wanted):
    """Where a number stands in a column in ascending order, or -1."""
    at = _first_above(column, wanted - 1)
    return at if at < column.size and column[at] == wanted else -1


@njit
def birth(row, times, seen, before, first, early, early_births):
    """The moment at which an appended row begins for the batch whose first moment is `first`; OLD: before it.

    The batch before had looked at `seen` rows, up to the moment `before`. Rows that began earlier than their time says
    are in `early`, ascending, with their births.
    """
    at_time = 2 * times[row] + 1
    if row < seen and at_time <= before:
        return OLD
    if early.size > 0:
        at = _place(early, row)
        if at >= 0:
            return early_births[at]
    return max(at_time, first)


@njit
def drop_unborn(
    numbers, rows, moments, ties, appended, base_birth, floor, times, seen, before, first, early, early_births
):
    """Keep, in place, the rows found for numbered moments that began before them; with `ties` 1, or at them.

    Appended rows below `floor` are old. Gives how many are left.
    """
    end = 0
    for i in range(rows.size):
        row = np.int64(rows[i]) - appended
        born = OLD
        if row >= floor:
            born = birth(row, times, seen, before, first, early, early_births)
        elif row < 0:
            born = base_birth
        if born < moments[numbers[i]] + ties:
            numbers[end], rows[end] = numbers[i], rows[i]
            end += 1
    return end


@njit
def row_births(rows, appended, base_birth, floor, times, seen, before, first, early, early_births):
    """The moments at which rows begin, for a batch: none before its first."""
    births = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        row = np.int64(rows[i]) - appended
        born = OLD
        if row >= floor:
            born = birth(row, times, seen, before, first, early, early_births)
        elif row < 0:
            born = base_birth
        births[i] = max(born, first)
    return births
