"""Compatible rows of two tables (SPARQL 1.1, 18.3).

Where all shared variables are bound, compatible is equal, and a hash table finds the pairs. Rows that leave shared
variables unbound are compared on those that both sides bind: the rows of each side fall into classes by what they
bind, and each pair of classes is joined by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.joins import BEGIN, build, equal_pairs, have_equals
from freshet.oneshot.dataset import Ids
from freshet.oneshot.deadline import Deadline
from freshet.oneshot.table import Rows, Table, keys

PAIRS_AT_ONCE = 1 << 20
_FIRST_ROOM = 1 << 10

Pairs = tuple[Rows, Rows]


def join(left: Table, right: Table, deadline: Deadline) -> Table:
    """Every compatible pair of solutions as one."""
    if not left.columns and left.count == 1:
        return right
    if not right.columns and right.count == 1:
        return left
    return merge_rows(left, right, *_together(list(pairs(left, right, shared_variables(left, right), deadline))))


def shared_variables(left: Table, right: Table) -> tuple[str, ...]:
    """The variables that both tables have."""
    return tuple(name for name in left.columns if name in right.columns)


def merge_rows(left: Table, right: Table, left_rows: Rows, right_rows: Rows) -> Table:
    """Pairs of compatible rows as one row each."""
    columns = {name: ids[left_rows] for name, ids in left.columns.items()}
    for name, ids in right.columns.items():
        if name not in columns:
            columns[name] = ids[right_rows]
        elif not columns[name].all():
            columns[name] = np.where(columns[name] != 0, columns[name], ids[right_rows])
    return Table(columns, len(left_rows))


def pairs(left: Table, right: Table, names: Sequence[str], deadline: Deadline) -> Iterator[Pairs]:
    """The numbers of the rows that are compatible on some variables, some pairs at a time."""
    if left.count == 0 or right.count == 0:
        return
    for left_rows, right_rows, bound in _classes(left, right, names):
        some_left = left if left_rows is None else left.select(bound).take(left_rows)
        some_right = right if right_rows is None else right.select(bound).take(right_rows)
        for left_found, right_found in _equal(some_left, some_right, bound, deadline):
            yield (
                left_found if left_rows is None else left_rows[left_found],
                right_found if right_rows is None else right_rows[right_found],
            )


def have_compatible(left: Table, right: Table, names: Sequence[str], least: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows of left have a row of right that is compatible on some variables and binds one of `least` with it.

    No `least` at all asks for nothing more than being compatible.
    """
    result = np.zeros(left.count, np.bool_)
    if left.count == 0 or right.count == 0:
        return result
    for left_rows, right_rows, bound in _classes(left, right, names):
        if least and not any(name in bound for name in least):
            continue
        some_left = left if left_rows is None else left.select(bound).take(left_rows)
        some_right = right if right_rows is None else right.select(bound).take(right_rows)
        found: NDArray[np.bool_] | np.bool_ = np.True_
        if bound:
            right_keys = keys(some_right, bound)
            heads, following = build(right_keys)
            found = have_equals(right_keys, heads, following, keys(some_left, bound))
        if left_rows is None:
            result |= found
        else:
            result[left_rows] |= found
    return result


def _classes(
    left: Table, right: Table, names: Sequence[str]
) -> Iterator[tuple[Rows | None, Rows | None, tuple[str, ...]]]:
    """Pairs of row classes and the variables that both bind; None is all rows."""
    left_masks, right_masks = _masks(left, names), _masks(right, names)
    if left_masks is None and right_masks is None:
        yield None, None, tuple(names)
        return
    everything = (1 << len(names)) - 1
    for left_mask, left_rows in _rows_by_mask(left_masks, everything):
        for right_mask, right_rows in _rows_by_mask(right_masks, everything):
            both = left_mask & right_mask
            yield left_rows, right_rows, tuple(name for at, name in enumerate(names) if both >> at & 1)


def _masks(table: Table, names: Sequence[str]) -> Ids | None:
    """A bit for each variable that a row binds; None where every row binds all."""
    result: Ids | None = None
    for at, name in enumerate(names):
        if table.columns[name].all():
            continue
        if result is None:
            result = np.full(table.count, (1 << len(names)) - 1, np.int64)
        result[table.columns[name] == 0] ^= 1 << at
    return result


def _rows_by_mask(masks: Ids | None, everything: int) -> Iterator[tuple[int, Rows | None]]:
    if masks is None:
        yield everything, None
    else:
        for mask in np.unique(masks):
            yield int(mask), np.flatnonzero(masks == mask)


def _equal(left: Table, right: Table, names: Sequence[str], deadline: Deadline) -> Iterator[Pairs]:
    if not names:
        yield from _all_pairs(left.count, right.count, deadline)
    elif left.count <= right.count:
        yield from _probe(keys(left, names), keys(right, names), deadline)
    else:
        for right_rows, left_rows in _probe(keys(right, names), keys(left, names), deadline):
            yield left_rows, right_rows


def _probe(built: Ids, probing: Ids, deadline: Deadline) -> Iterator[Pairs]:
    """Pairs of equal rows; the table is built on the first."""
    heads, following = build(built)
    room = min(PAIRS_AT_ONCE, max(_FIRST_ROOM, 2 * len(probing)))
    row, place = 0, BEGIN
    while row < len(probing):
        deadline.check()
        found, rows = np.empty(room, np.int64), np.empty(room, np.int64)
        filled, row, place = equal_pairs(built, heads, following, probing, row, place, found, rows)
        yield found[:filled], rows[:filled]
        room = PAIRS_AT_ONCE


def _all_pairs(left_count: int, right_count: int, deadline: Deadline) -> Iterator[Pairs]:
    step = max(1, PAIRS_AT_ONCE // right_count)
    for first in range(0, left_count, step):
        deadline.check()
        some = np.arange(first, min(first + step, left_count))
        yield np.repeat(some, right_count), np.tile(np.arange(right_count), len(some))


def _together(chunks: Sequence[Pairs]) -> Pairs:
    if len(chunks) == 1:
        return chunks[0]
    if not chunks:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([chunk[0] for chunk in chunks]), np.concatenate([chunk[1] for chunk in chunks])
