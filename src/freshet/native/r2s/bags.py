"""Differences of bags of rows: what ISTREAM and DSTREAM put out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from freshet.kernels.bags import bag_less
from freshet.kernels.direct_call import DirectCall
from freshet.native.buffers.one_way_index import Ids, OneWayIndex
from freshet.native.change import Change
from freshet.oneshot.table import Table

_FEW_PAIRS = 256  # fewer are compared one by one sooner than an index is made
_LESS = DirectCall(bag_less)
_ONE = np.array([0, 1])


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
    if table.count == 1:  # NumPy takes twice as long for a column
        columns, numbers = table.columns, rows.data
        for at, name in enumerate(names):
            column = columns.get(name)
            numbers[0, at] = 0 if column is None else column.item()
        return rows
    for at, name in enumerate(names):
        rows[:, at] = table.column(name)
    return rows


def as_columns(table: Table, names: Sequence[str]) -> Ids:
    """Some columns of a table one below the other."""
    columns = np.empty((len(names), table.count), np.int64)
    for at, name in enumerate(names):
        columns[at] = table.column(name)
    return columns


class Dealt(NamedTuple):
    """Reports of several queries: those of a query stand together, in order of their evaluations."""

    numbers: Ids  # of the queries that have any
    ends: Ids  # where the reports of each begin, with the end of the last
    places: Ids  # the evaluation of each report
    offsets: Ids  # where the rows of each report begin, with the end of the last
    rows: Ids


def dealt_out(places: Ids, rows: Ids) -> Dealt:
    """Rows by the number of the query in their last column, which they lose; each has the place of its evaluation."""
    if len(rows) == 1:  # as it mostly is where every arrival is evaluated
        return Dealt(rows[0, -1:], _ONE, places, _ONE, rows[:, :-1])
    # A sort of numbers with their places is several times as fast as a stable sort of places.
    order = np.sort((rows[:, -1] << 32) + np.arange(len(rows))) & 0xFFFF_FFFF
    rows, places = rows[order], places[order]
    of = rows[:, -1]
    starts = np.flatnonzero((of[1:] != of[:-1]) | (places[1:] != places[:-1])) + 1
    offsets = np.concatenate(([0], starts, [len(rows)]))
    of, places = of[offsets[:-1]], places[offsets[:-1]]
    ends = np.concatenate(([0], np.flatnonzero(of[1:] != of[:-1]) + 1, [len(of)]))
    return Dealt(of[ends[:-1]], ends, places, offsets, rows[:, :-1])
