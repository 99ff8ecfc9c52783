"""Rows of a graph that have ended: which triples end, and what a reader still sees.

Each row has the number of the deletion that ended it, 0 where it has not ended: rows of the base by their place in the
order by subject and by their place in the order by object, appended rows by their number. A reader has a number too,
that of the last deletion it knows: rows that ended later are there for it. Rows never come back; a triple that is
inserted again gets a row of its own. So what a reader sees does not change while others delete.

`freshet.kernels.sorted_triples`, `freshet.kernels.adjacency` and `freshet.kernels.pattern_rows` say what the other
arrays are, and how rows are numbered.
"""

import numpy as np

from freshet.kernels.adjacency import LOW, tag_shift, triple_tag
from freshet.kernels.jit import njit
from freshet.kernels.sorted_triples import find_range, narrow_range


@njit
def has_ended(ends, row, number):
    """Whether a row has ended by a deletion; rows beyond the array came later."""
    return row < ends.size and 0 < ends[row] <= number


@njit
def find_live_row(table, out, into, limit, ends, number, subject, group, object):
    """The row of a triple that has not ended, or -1."""
    tag = triple_tag(subject, group, object)
    at, mask = tag >> tag_shift(table), table.size - 1
    while table[at] != 0:
        if table[at] >> 32 == tag:
            row = (table[at] & LOW) - 1
            if (
                row < limit
                and out[row, 0] == object
                and out[row, 1] >> 32 == group
                and into[row, 0] == subject
                and not has_ended(ends, row, number)
            ):
                return row
        at = (at + 1) & mask
    return np.int64(-1)


@njit
def _place(slots, firsts, shifts, seconds, group, key, second):
    """The place of a triple in an order, or -1."""
    if group < 0:
        return np.int64(-1)
    found = find_range(slots, firsts[group], shifts[group], key)
    if found != 0:
        found = narrow_range(seconds, found, second)
    return found >> 32 if found != 0 else np.int64(-1)


@njit
def end_rows(
    by_subject, by_object, base_groups, subject_ends, object_ends,
    table, out, into, limit, groups, appended_ends, number, subjects, objects, ended,
):  # fmt: skip
    """End the rows of triples: fills `ended` with the place by subject, that by object, and the appended row of each.

    Those that it does not have are -1; a triple that is not there has none. Gives how many have ended.
    `base_groups` and `groups` are those of the predicates in the base and among appended rows, -1 for none.
    """
    count = 0
    for i in range(subjects.size):
        ended[i, 0], ended[i, 1], ended[i, 2] = -1, -1, -1
        if subjects[i] == 0 or objects[i] == 0:
            continue
        place = _place(
            by_subject.slots, by_subject.firsts, by_subject.shifts, by_subject.seconds,
            base_groups[i], subjects[i], objects[i],
        )  # fmt: skip
        if place >= 0 and subject_ends[place] == 0:
            other = _place(
                by_object.slots, by_object.firsts, by_object.shifts, by_object.seconds,
                base_groups[i], objects[i], subjects[i],
            )  # fmt: skip
            subject_ends[place], object_ends[other] = number, number
            ended[i, 0], ended[i, 1] = place, other
            count += 1
        elif groups[i] >= 0:
            row = find_live_row(table, out, into, limit, appended_ends, number, subjects[i], groups[i], objects[i])
            if row >= 0:
                appended_ends[row] = number
                ended[i, 2] = row
                count += 1
    return count


@njit
def drop_ended(numbers, rows, start, count, subject_ends, object_ends, appended_ends, number):
    """Keep, in place, the rows that have not ended, with what stands beside them; gives how many are left.

    Rows are numbered as in `pattern_rows`: the base has `count` that matter, from the place `start` on.
    """
    end = 0
    for i in range(rows.size):
        row = np.int64(rows[i])
        if row < count:
            gone = has_ended(subject_ends, row + start, number)
        elif row < 2 * count:
            gone = has_ended(object_ends, row - count + start, number)
        else:
            gone = has_ended(appended_ends, row - 2 * count, number)
        if not gone:
            numbers[end], rows[end] = numbers[i], rows[i]
            end += 1
    return end


@njit
def live_pair_rows(
    slots, first, shift, seconds, shifted, table, out, into, limit, group, appended,
    subject_ends, appended_ends, number, keys, subject_column, subject, object_column, object,
):  # fmt: skip
    """As `pattern_rows.pair_rows`, of rows that have not ended."""
    numbers, rows = np.empty(keys.shape[0], np.int64), np.empty(keys.shape[0], np.int32)
    end = 0
    for i in range(keys.shape[0]):
        first_term = keys[i, subject_column] if subject_column >= 0 else subject
        second_term = keys[i, object_column] if object_column >= 0 else object
        row = np.int64(-1)
        if shift != 0 and first_term != 0:
            found = find_range(slots, first, shift, first_term)
            if found != 0:
                found = narrow_range(seconds, found, second_term)
            if found != 0 and not has_ended(subject_ends, found >> 32, number):
                row = (found >> 32) + shifted
        if row < 0 and group >= 0:
            row = find_live_row(table, out, into, limit, appended_ends, number, first_term, group, second_term)
            if row >= 0:
                row += appended
        if row >= 0:
            numbers[end], rows[end] = i, row
            end += 1
    return numbers[:end], rows[:end]
