"""Compatible rows of two tables (SPARQL 1.1, 18.3).

Where all shared variables are bound, compatible is equal, and a hash table finds the pairs. Rows that leave shared
variables unbound are compared on those that both sides bind: the rows of each side fall into classes by what they
bind, and each pair of classes is joined by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.joins import BEGIN, build, build_range, empty_slots, equal_pairs, have_equals
from freshet.oneshot.dataset import Ids
from freshet.oneshot.table import Rows, Table, empty, keys, stack_tables
from freshet.rdf.deadline import current
from freshet.rdf.row_numbers import ROWS_AT_ONCE

PAIRS_AT_ONCE = 1 << 20
_FIRST_ROOM = 1 << 10

Pairs = tuple[Rows, Rows]


def join(left: Table, right: Table) -> Table:
    """Every compatible pair of solutions as one."""
    if not left.columns and left.count == 1:
        return right
    if not right.columns and right.count == 1:
        return left
    names = shared_variables(left, right)
    if not names:
        _reserve_product(left, right)
    merged = [merge_rows(left, right, *rows) for rows in pairs(left, right, names)]
    return stack_tables(merged) if merged else empty(dict.fromkeys([*left.columns, *right.columns]))


def _reserve_product(left: Table, right: Table) -> None:
    """See that there is room for all pairs before the first is made."""
    with current().step():
        current().reserve(8 * left.count * right.count * (len(left.columns) + len(right.columns)))


def shared_variables(left: Table, right: Table) -> tuple[str, ...]:
    """The variables that both tables have."""
    return tuple(name for name in left.columns if name in right.columns)


def merge_rows(left: Table, right: Table, left_rows: Rows, right_rows: Rows) -> Table:
    """Pairs of compatible rows as one row each."""
    columns = {name: ids[left_rows] for name, ids in left.columns.items()}
    current().reserve(8 * len(left_rows) * (len(left.columns) + len(right.columns)))
    for name, ids in right.columns.items():
        if name not in columns:
            columns[name] = ids[right_rows]
        elif not columns[name].all():
            columns[name] = np.where(columns[name] != 0, columns[name], ids[right_rows])
    return Table(columns, len(left_rows))


def pairs(left: Table, right: Table, names: Sequence[str]) -> Iterator[Pairs]:
    """The numbers of the rows that are compatible on some variables, some pairs at a time."""
    if left.count == 0 or right.count == 0:
        return
    for left_rows, right_rows, bound in _classes(left, right, names):
        some_left = left if left_rows is None else left.select(bound).take(left_rows)
        some_right = right if right_rows is None else right.select(bound).take(right_rows)
        for left_found, right_found in _equal(some_left, some_right, bound):
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
            heads, following = _build(right_keys)
            left_keys = keys(some_left, bound)
            parts = []
            for first in range(0, len(left_keys), ROWS_AT_ONCE):
                current().check()
                parts.append(have_equals(right_keys, heads, following, left_keys[first : first + ROWS_AT_ONCE]))
            found = parts[0] if len(parts) == 1 else np.concatenate(parts)
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


def _equal(left: Table, right: Table, names: Sequence[str]) -> Iterator[Pairs]:
    if not names:
        yield from _all_pairs(left.count, right.count)
    elif left.count <= right.count:
        yield from _probe(keys(left, names), keys(right, names))
    else:
        for right_rows, left_rows in _probe(keys(right, names), keys(left, names)):
            yield left_rows, right_rows


def _build(rows: Ids) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """A hash table of rows, with looks at the deadline."""
    if len(rows) <= ROWS_AT_ONCE:
        heads, following = build(rows)
        return heads, following
    current().reserve(20 * len(rows))
    heads, following = empty_slots(len(rows)), np.empty(len(rows), np.int32)
    for end in range(len(rows), 0, -ROWS_AT_ONCE):
        current().check()
        build_range(rows, max(0, end - ROWS_AT_ONCE), end, heads, following)
    return heads, following


def _probe(built: Ids, probing: Ids) -> Iterator[Pairs]:
    """Pairs of equal rows; the table is built on the first."""
    heads, following = _build(built)
    room = min(PAIRS_AT_ONCE, max(_FIRST_ROOM, 2 * len(probing)))
    for first in range(0, len(probing), ROWS_AT_ONCE):
        some = probing[first : first + ROWS_AT_ONCE]
        row, place = 0, BEGIN
        while row < len(some):
            current().check()
            found, rows = np.empty(room, np.int64), np.empty(room, np.int64)
            filled, row, place = equal_pairs(built, heads, following, some, row, place, found, rows)
            yield found[:filled], rows[:filled] + first
            room = PAIRS_AT_ONCE


def _all_pairs(left_count: int, right_count: int) -> Iterator[Pairs]:
    """Every row with every row; a side of very many rows is gone through in parts."""
    across = min(right_count, PAIRS_AT_ONCE)
    step = max(1, PAIRS_AT_ONCE // across)
    for first in range(0, left_count, step):
        some = np.arange(first, min(first + step, left_count))
        for start in range(0, right_count, across):
            current().check()
            others = np.arange(start, min(start + across, right_count))
            yield np.repeat(some, len(others)), np.tile(others, len(some))
