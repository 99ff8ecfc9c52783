"""Parameters: the constants of the queries that share a plan, a row each.

    Δ(parameters) = the rows of the queries that were registered and removed since

With each query goes from which element on it sees the windows: a result counts where all of its rows are in sight.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.constant_filter import ConstantFilter
from freshet.native.buffers.one_way_index import Ids
from freshet.native.change import NOTHING, Change, MomentBatch
from freshet.native.plan.sharing import QUERY, parameter
from freshet.oneshot.table import Table

_FIRST_CAPACITY = 16


class QueryBegins:
    """For each query, by its number, the number of the first element of a window that it sees; 0 where that is all."""

    def __init__(self) -> None:
        self.numbers = np.zeros(_FIRST_CAPACITY, np.int64)
        self._recent: deque[int] = deque()  # those that make a difference, in order

    def add(self, query: int, begin: int, left: int) -> None:
        """A query more; of the window the elements before `left` have left."""
        if query >= len(self.numbers):
            self.numbers = longer(self.numbers, 2 * query, 0)
        self.numbers[query] = begin
        while self._recent and self._recent[0] <= left:
            self._recent.popleft()
        if begin and (not self._recent or self._recent[-1] < begin):
            self._recent.append(begin)

    def recent(self) -> Ids:
        """The numbers with which queries begin, in order; all that make no difference as 0."""
        return np.array([0, *self._recent], np.int64)


class ParametersOp:
    """A row a query: its number and its constants. Numbers are given again when all that had one is gone."""

    def __init__(self, count: int, windows: int = 0) -> None:
        self.begins = tuple(QueryBegins() for _ in range(windows))
        self.constant_filters = tuple(ConstantFilter() for _ in range(count))
        self._names = (QUERY, *(parameter(number).name for number in range(count)))
        self._rows: dict[int, Ids] = {}
        self._came: list[Ids] = []
        self._went: list[Ids] = []
        self._number = 0
        self._change = NOTHING
        self._used = 0
        self._free: list[int] = []
        self._gone: list[int] = []  # those whose rows operators do not know that are made anew
        self._leaving: list[int] = []  # those that can be given again after the present batch

    def next_number(self) -> int:
        """A number for a query, from 1 on."""
        if self._free:
            return self._free.pop()
        self._used += 1
        return self._used

    def add(self, number: int, constants: list[int]) -> None:
        """A query with its constants' ids."""
        row = self._rows[number] = np.array([number, *constants], np.int64)
        self._came.append(row)
        for constant_filter, constant in zip(self.constant_filters, constants, strict=True):
            constant_filter.add(constant)

    def remove(self, number: int) -> None:
        row = self._rows.pop(number)
        waiting = [at for at, each in enumerate(self._came) if each is row]
        if waiting:
            del self._came[waiting[0]]
            self._free.append(number)
        else:
            self._went.append(row)
        for constant_filter, constant in zip(self.constant_filters, row[1:].tolist(), strict=True):
            constant_filter.remove(constant)

    def before(self) -> ParametersOp:
        """The rows that were given so far, for operators that are asked what they had."""
        waiting = {id(row) for row in self._came}
        given = ParametersOp(0)
        given.begins, given.constant_filters, given._names = self.begins, self.constant_filters, self._names
        given._came = [*(row for row in self._rows.values() if id(row) not in waiting), *self._went]
        return given

    def restart(self) -> None:
        """Operators that know nothing yet ask next: give them the rows of all queries.

        What has gone is in the answer until the next batch, so its numbers are not given yet.
        """
        self._gone += [row.item(0) for row in self._went]
        self._went, self._came = [], list(self._rows.values())
        self._number, self._change = 0, NOTHING

    def changes(self, batch: MomentBatch) -> Change:
        if batch.number != self._number:  # else another branch of a UNION asks for the same
            self._number = batch.number
            came, went = self._table(self._came), self._table(self._went)
            self._change = Change(came, np.full(came.count, batch.first), went, np.full(went.count, batch.first))
            self._free += self._leaving
            self._leaving = [*self._gone, *(row.item(0) for row in self._went)]
            self._gone = []
            self._came, self._went = [], []
        return self._change

    def _table(self, rows: list[Ids]) -> Table:
        matrix = np.array(rows, np.int64).reshape(-1, len(self._names))
        return Table({name: matrix[:, at] for at, name in enumerate(self._names)}, len(rows))
