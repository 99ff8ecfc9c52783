"""Differences of bags of rows: what ISTREAM and DSTREAM put out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from freshet.kernels.bags import bag_less
from freshet.native.change import Change
from freshet.native.direct_call import DirectCall
from freshet.native.one_way_index import Ids, OneWayIndex
from freshet.oneshot.table import Table

_FEW_PAIRS = 256  # fewer are compared one by one sooner than an index is made
_LESS = DirectCall(bag_less)


def bag_difference(rows: Ids, others: Ids) -> Ids:
    """The rows that are left when each of `others` has struck out one that is equal to it."""
    if len(rows) == 0 or len(others) == 0:
        return rows
    rows, others = np.ascontiguousarray(rows), np.ascontiguousarray(others)
    if len(rows) * len(others) <= _FEW_PAIRS:
        left: Ids = _LESS.run(rows, others)
        return left
    counted = OneWayIndex(rows.shape[1])
    counted.add(others)
    return rows[~counted.take(rows)]


def table_difference(table: Table, other: Table, names: Sequence[str]) -> Table:
    """The same of tables, which are compared on some columns."""
    rows = bag_difference(as_rows(table, names), as_rows(other, names))
    return Table({name: rows[:, at] for at, name in enumerate(names)}, len(rows))


def replacement(before: Table, now: Table, names: Sequence[str], moment: int) -> Change:
    """What comes and goes where one bag takes the place of another."""
    came, went = table_difference(now, before, names), table_difference(before, now, names)
    return Change(came, np.full(came.count, moment), went, np.full(went.count, moment))


def as_rows(table: Table, names: Sequence[str]) -> Ids:
    """Some columns of a table side by side."""
    rows = np.empty((table.count, len(names)), np.int64)
    for at, name in enumerate(names):
        rows[:, at] = table.column(name)
    return rows


def dealt_out(rows: Ids) -> tuple[Ids, Iterator[tuple[int, Ids]]]:
    """Rows in the order of the number of the query in their last column; and each number with its part of them, which
    goes without it."""
    if len(rows) <= 1:  # as it mostly is where every arrival is evaluated
        return rows, iter([(number, rows[:, :-1]) for number in rows[:, -1].tolist()])
    # A sort of numbers with their places is several times as fast as a stable sort of places.
    rows = rows[np.sort((rows[:, -1] << 32) + np.arange(len(rows))) & 0xFFFF_FFFF]
    of = rows[:, -1]
    starts = [0, *(np.flatnonzero(of[1:] != of[:-1]) + 1).tolist()]
    shown = rows[:, :-1]
    parts = map(shown.__getitem__, map(slice, starts, [*starts[1:], len(rows)]))
    return rows, zip(of[starts].tolist(), parts, strict=True)
