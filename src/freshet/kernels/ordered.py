"""ORDER BY, DISTINCT, OFFSET and LIMIT after every due moment of a batch of rows that come and go.

All rows are in a tree in their order (with DISTINCT, of equal rows the first; another tree has all rows by group). A
row that comes or goes moves at most one row over each end of the slice, so that a change costs log n, whatever the
slice. What has moved since the due moment before is listed, and put out if it is not where it was then. Where a due
moment brings more changes than half of the rows that are there, as where windows tumble, the tree is made anew.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.growing import with_room
from freshet.kernels.index import IDLE, IndexArrays, entries_of, index_find
from freshet.kernels.jit import leaf, njit
from freshet.kernels.order_keys import CONDITIONS, GROUP, merge_rows, sort_rows, term_keys
from freshet.kernels.order_tree import (
    COUNT,
    NIL,
    TreeArrays,
    tree_build,
    tree_insert,
    tree_next,
    tree_previous,
    tree_remove,
    tree_select,
)

# Flags of a row.
_INSIDE = np.uint8(1)  # it is in the slice
_SHOWN = np.uint8(2)  # it was in the slice at the last due moment
_MOVED = np.uint8(4)  # it is listed
_GONE = np.uint8(8)
_NEW = np.uint8(16)  # it is not in the tree yet

# Places in `RowArrays.sizes`.
USED = 0  # row numbers ever handed out
FREE = 1  # row numbers in `free`
LISTED = 2  # rows in `moved`
_ARRIVALS = 3  # rows that ever came
SIZES = 4

_FEW = 64  # changes that are taken one by one in any case
_AFTER_ALL = np.int64(2**63 - 1)


class RowArrays(NamedTuple):
    """Rows by number, each with its entry in a one-way index of all their values. Of equal rows the newest goes."""

    keys: np.ndarray  # int64 [row, column]: see `freshet.kernels.order_keys`
    entries: np.ndarray  # int32, one a row
    older: np.ndarray  # int32, one a row: the equal row that came before it, or NIL
    flags: np.ndarray  # uint8, one a row
    free: np.ndarray  # int32, a stack of row numbers to use again
    moved: np.ndarray  # int32: rows that were moved since the last due moment
    newest: np.ndarray  # int32, one an entry: its newest row, or NIL
    sizes: np.ndarray  # int64: USED, FREE, LISTED, _ARRIVALS


class OrderedArrays(NamedTuple):
    """The rows, their order, and with DISTINCT the order of all rows within their groups."""

    rows: RowArrays
    tree: TreeArrays
    members: TreeArrays
    counted: IndexArrays  # of all columns
    groups: IndexArrays  # of the columns that are put out, used with DISTINCT only


class Slice(NamedTuple):
    """What is put out, and in which order: the rows from rank `offset` to `end`, the first `width` of their columns."""

    offset: int
    end: int
    width: int
    distinct: bool
    descending: np.ndarray  # bool, one a condition


class RowEvents(NamedTuple):
    """Rows that come, and rows that go, both in order of moments."""

    came: np.ndarray  # int64 [row, column]
    ids: np.ndarray  # int64 [row, condition]: the terms that they are ordered by
    came_at: np.ndarray  # int64
    went: np.ndarray  # int64 [row, column]
    went_at: np.ndarray  # int64


class _Numbered(NamedTuple):
    """The same as numbers of rows that come, and entries of rows that go."""

    came: np.ndarray  # int32
    came_at: np.ndarray  # int64
    went: np.ndarray  # int32
    went_at: np.ndarray  # int64
    taken: np.ndarray  # int64: how many of both have been taken in


@leaf
def _move(rows, row, inside):
    """A row enters or leaves the slice."""
    flags = rows.flags[row]
    if not flags & _MOVED:
        rows.moved[rows.sizes[LISTED]] = row
        rows.sizes[LISTED] += 1
    rows.flags[row] = _MOVED | (flags | _INSIDE if inside else flags & ~_INSIDE)


@leaf
def _place(rows, tree, texts, bounds, row):
    """Put a row in order, and see what is in the slice now. Who enters comes first: with LIMIT 0 it leaves as well."""
    rank = tree_insert(tree, rows.keys, texts, CONDITIONS, row)
    if rank >= bounds.end:
        return
    count = tree.sizes[COUNT]
    if rank >= bounds.offset:
        _move(rows, row, True)
    elif count > bounds.offset:
        _move(rows, tree_select(tree, bounds.offset), True)
    if count > bounds.end:
        _move(rows, tree_select(tree, bounds.end), False)


@leaf
def _withdraw(rows, tree, bounds, row):
    """Take a row out of the order, and see what is in the slice now."""
    rank = tree_remove(tree, row)
    if rank >= bounds.end:
        return
    count = tree.sizes[COUNT]
    if count >= bounds.end:
        _move(rows, tree_select(tree, bounds.end - 1), True)
    if rank >= bounds.offset:
        _move(rows, row, False)
    elif count >= bounds.offset:
        _move(rows, tree_select(tree, bounds.offset - 1), False)


@leaf
def _is_fellow(keys, row, other):
    """Whether another row is there and of the same group."""
    return other != NIL and keys[row, GROUP] == keys[other, GROUP]


@leaf
def _insert(ordered, texts, bounds, row):
    rows, tree, members = ordered.rows, ordered.tree, ordered.members
    if bounds.distinct:
        tree_insert(members, rows.keys, texts, GROUP, row)
        if _is_fellow(rows.keys, row, tree_previous(members, row)):
            return
        following = tree_next(members, row)
        if _is_fellow(rows.keys, row, following):
            _withdraw(rows, tree, bounds, following)
    _place(rows, tree, texts, bounds, row)


@leaf
def _go(ordered, texts, bounds, row):
    rows, tree, members = ordered.rows, ordered.tree, ordered.members
    following = NIL
    if bounds.distinct:
        is_first = not _is_fellow(rows.keys, row, tree_previous(members, row))
        following = tree_next(members, row)
        tree_remove(members, row)
        _count(ordered.groups, rows.keys[row, GROUP], -1)
        if not is_first:
            return
    _withdraw(rows, tree, bounds, row)
    if _is_fellow(rows.keys, row, following):
        _place(rows, tree, texts, bounds, following)


@leaf
def _count(index, entry, sign):
    """Count an entry once more or once less."""
    if index.counts[entry] == 0:
        index.sizes[IDLE] -= 1
    index.counts[entry] += sign
    if index.counts[entry] == 0:
        index.sizes[IDLE] += 1


@leaf
def _new_number(rows):
    if rows.sizes[FREE] > 0:
        rows.sizes[FREE] -= 1
        return rows.free[rows.sizes[FREE]]
    rows.sizes[USED] += 1
    return np.int32(rows.sizes[USED] - 1)


@njit
def _number_events(ordered, bounds, events, terms):
    """The events under numbers. Rows that come are there from now on under their entries, but in no order yet."""
    rows, index = ordered.rows, ordered.counted
    entries = entries_of(index, events.came)
    groups = entries
    if bounds.distinct:
        groups = entries_of(ordered.groups, events.came[:, : bounds.width].copy())
    numbers = np.empty(entries.shape[0], np.int32)
    for at in range(entries.shape[0]):
        row = numbers[at] = _new_number(rows)
        rows.entries[row], rows.flags[row] = entries[at], 0
        rows.keys[row, GROUP] = groups[at]
        for column in range(terms.shape[1]):
            rows.keys[row, CONDITIONS + column] = terms[at, column]
        rows.keys[row, CONDITIONS + terms.shape[1]] = rows.sizes[_ARRIVALS]
        rows.sizes[_ARRIVALS] += 1
        _count(index, entries[at], 1)
        if bounds.distinct:
            _count(ordered.groups, groups[at], 1)
    gone = index_find(index, events.went)  # when what comes is counted
    return _Numbered(numbers, events.came_at, gone, events.went_at, np.zeros(2, np.int64))


@leaf
def _free(rows, index, row):
    """Give a row's number back; it is not given out again in this batch, so that its values can still be read."""
    rows.free[rows.sizes[FREE]] = row
    rows.sizes[FREE] += 1
    rows.flags[row] = 0
    _count(index, rows.entries[row], -1)


@leaf
def _take_in(ordered, texts, bounds, events, moment, singly):
    """All that happens up to a moment. At one moment rows come before others go.

    Where rows are not taken in one by one (`singly`), new rows are left out of the tree, and those that are gone in it.
    """
    came, came_at, went, went_at, taken = events
    rows = ordered.rows
    while True:
        comes = taken[0] < came.shape[0] and came_at[taken[0]] <= moment
        goes = taken[1] < went.shape[0] and went_at[taken[1]] <= moment
        if comes and not (goes and went_at[taken[1]] < came_at[taken[0]]):
            row = came[taken[0]]
            taken[0] += 1
            entry = rows.entries[row]
            rows.older[row], rows.newest[entry] = rows.newest[entry], row
            if singly:
                _insert(ordered, texts, bounds, row)
            else:
                rows.flags[row] = _NEW
        elif goes:
            entry = went[taken[1]]
            taken[1] += 1
            row = rows.newest[entry] if entry >= 0 else NIL
            if row == NIL:
                raise ValueError("a row goes that is not there")
            rows.newest[entry] = rows.older[row]
            if singly:
                _go(ordered, texts, bounds, row)
            if rows.flags[row] & _MOVED or not (singly or rows.flags[row] & _NEW):
                rows.flags[row] |= _GONE
            else:
                _free(rows, ordered.counted, row)
        else:
            break


@leaf
def _keep(rows, tree, index, kept):
    """List the rows of the tree in order that are not gone; gives how many these are."""
    row = tree_select(tree, 0) if tree.sizes[COUNT] > 0 else NIL
    count = 0
    while row != NIL:
        following = tree_next(tree, row)
        if not rows.flags[row] & _GONE:
            kept[count] = row
            count += 1
        elif rows.flags[row] & _INSIDE:
            _move(rows, row, False)
        elif not rows.flags[row] & _MOVED:
            _free(rows, index, row)
        row = following
    return count


@njit
def _rebuild(ordered, texts, bounds, came, first, last):
    """The order of the rows that are left and of the new ones among came[first:last]."""
    rows, tree = ordered.rows, ordered.tree
    most = tree.sizes[COUNT] + last - first
    numbers, spare = np.empty(most, np.int32), np.empty(most, np.int32)
    kept = _keep(rows, tree, ordered.counted, numbers)
    count = kept
    for at in range(first, last):
        row = came[at]
        if rows.flags[row] & _NEW:
            rows.flags[row] = 0
            numbers[count] = row
            count += 1
    sort_rows(numbers, kept, count, spare, rows.keys, texts)
    merge_rows(numbers, 0, kept, count, spare, rows.keys, texts)
    tree_build(tree, numbers, count, spare)
    for rank in range(count):
        inside = bounds.offset <= rank < bounds.end
        if inside != (rows.flags[numbers[rank]] & _INSIDE != 0):
            _move(rows, numbers[rank], inside)


@leaf
def _end_of(moments, first, moment):
    """Where the moments up to one end."""
    while first < moments.shape[0] and moments[first] <= moment:
        first += 1
    return first


@njit
def _advance(ordered, texts, bounds, events, moment):
    """All that happens up to a moment, and who is in the slice then."""
    first, second = events.taken[0], events.taken[1]
    last = _end_of(events.came_at, first, moment)
    changes = last - first + _end_of(events.went_at, second, moment) - second
    singly = bounds.distinct or changes <= _FEW or 2 * changes <= ordered.tree.sizes[COUNT]
    _take_in(ordered, texts, bounds, events, moment, singly)
    if not singly:
        _rebuild(ordered, texts, bounds, events.came, first, last)


@leaf
def _settle(rows, index, came, went, ends):
    """Add what is no longer where it was at the last due moment behind the ends; gives whether anything is not."""
    comes, goes = ends[0], ends[1]
    for at in range(rows.sizes[LISTED]):
        row = rows.moved[at]
        flags = rows.flags[row]
        inside, shown = flags & _INSIDE != 0, flags & _SHOWN != 0
        if inside and not shown:
            came[comes] = row
            comes += 1
        elif shown and not inside:
            went[goes] = row
            goes += 1
        if flags & _GONE:
            _free(rows, index, row)
        else:
            rows.flags[row] = _INSIDE | _SHOWN if inside else 0
    rows.sizes[LISTED] = 0
    changed = comes > ends[0] or goes > ends[1]
    ends[0], ends[1] = comes, goes
    return changed


@njit
def _values(rows, index, numbers, width):
    """The first columns of rows, each in one piece."""
    columns = np.empty((width, numbers.shape[0]), np.int64)
    for at in range(numbers.shape[0]):
        entry = rows.entries[numbers[at]]
        for column in range(width):
            columns[column, at] = index.keys[entry, column]
    return columns


@njit
def _most_moved(rows, events):
    """How many rows may be listed in a batch: with DISTINCT an event puts one row in order and takes one out."""
    return rows.sizes[LISTED] + 4 * (events.came.shape[0] + events.went.shape[0])


@njit
def ordered_changes(ordered, terms, bounds, events, due):
    """The columns of the rows that enter the slice, with their due moments, then those of the rows that leave it; at
    each moment in order. The last result is False, and nothing is done, where the value of a term is not known.
    """
    rows, index, texts = ordered.rows, ordered.counted, terms.texts
    most = _most_moved(rows, events)
    moved, spare = np.empty((2, most), np.int32), np.empty(most, np.int32)
    moments = np.empty((2, most), np.int64)
    came, went = moved
    ends = np.zeros(2, np.int64)
    keys, known = term_keys(terms, events.ids, bounds.descending)
    if known:
        numbered = _number_events(ordered, bounds, events, keys)
        for moment in due:
            _advance(ordered, texts, bounds, numbered, moment)
            first, second = ends[0], ends[1]
            if _settle(rows, index, came, went, ends):
                moments[0, first : ends[0]] = moment
                moments[1, second : ends[1]] = moment
                sort_rows(came, first, ends[0], spare, rows.keys, texts)
                sort_rows(went, second, ends[1], spare, rows.keys, texts)
        _advance(ordered, texts, bounds, numbered, _AFTER_ALL)
    width, first, second = bounds.width, ends[0], ends[1]
    return (
        _values(rows, index, came[:first], width),
        moments[0, :first].copy(),
        _values(rows, index, went[:second], width),
        moments[1, :second].copy(),
        known,
    )


@leaf
def _list_slice(tree, offset, slices, first, stop):
    row = tree_select(tree, offset) if first < stop else NIL
    for at in range(first, stop):
        slices[at] = row
        row = tree_next(tree, row)


@njit
def ordered_slices(ordered, terms, bounds, events, due):
    """The columns of the whole slice in order at every due moment, with the place of the moment among these. The last
    result is False, and nothing is done, where the value of a term is not known.
    """
    rows, tree, index, texts = ordered.rows, ordered.tree, ordered.counted, terms.texts
    moved = np.empty((2, _most_moved(rows, events)), np.int32)
    came, went = moved
    ends = np.zeros(2, np.int64)
    slices, places = np.empty(due.shape[0], np.int32), np.empty(due.shape[0], np.int64)
    keys, known = term_keys(terms, events.ids, bounds.descending)
    before = first = 0
    if known:
        numbered = _number_events(ordered, bounds, events, keys)
        for place in range(due.shape[0]):
            _advance(ordered, texts, bounds, numbered, due[place])
            ends[:] = 0
            changed = _settle(rows, index, came, went, ends)
            stop = first + max(0, min(bounds.end, tree.sizes[COUNT]) - bounds.offset)
            slices, places = with_room(slices, stop), with_room(places, stop)
            if changed or place == 0:
                _list_slice(tree, bounds.offset, slices, first, stop)
            else:
                for at in range(first, stop):
                    slices[at] = slices[before + at - first]
            for at in range(first, stop):
                places[at] = place
            before, first = first, stop
        _advance(ordered, texts, bounds, numbered, _AFTER_ALL)
    return _values(rows, index, slices[:first], bounds.width), places[:first].copy(), known
