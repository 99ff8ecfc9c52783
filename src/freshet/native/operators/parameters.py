"""Parameters: the constants of the queries that share a plan, a row each.

Δ(parameters) = the rows of the queries that were registered and removed since
"""

from __future__ import annotations

import numpy as np

from freshet.native.buffers.constant_filter import ConstantFilter
from freshet.native.buffers.one_way_index import Ids
from freshet.native.change import NOTHING, Change, MomentBatch
from freshet.native.plan.sharing import QUERY, parameter
from freshet.oneshot.table import Table


class ParametersOp:
    """A row a query: its number and its constants."""

    def __init__(self, count: int) -> None:
        self.constant_filters = tuple(ConstantFilter() for _ in range(count))
        self._names = (QUERY, *(parameter(number).name for number in range(count)))
        self._rows: dict[int, Ids] = {}
        self._came: list[Ids] = []
        self._went: list[Ids] = []
        self._number = 0
        self._change = NOTHING

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
        else:
            self._went.append(row)
        for constant_filter, constant in zip(self.constant_filters, row[1:].tolist(), strict=True):
            constant_filter.remove(constant)

    def changes(self, batch: MomentBatch) -> Change:
        if batch.number != self._number:  # else another branch of a UNION asks for the same
            self._number = batch.number
            came, went = self._table(self._came), self._table(self._went)
            self._change = Change(came, np.full(came.count, batch.first), went, np.full(went.count, batch.first))
            self._came, self._went = [], []
        return self._change

    def _table(self, rows: list[Ids]) -> Table:
        matrix = np.array(rows, np.int64).reshape(-1, len(self._names))
        return Table({name: matrix[:, at] for at, name in enumerate(self._names)}, len(rows))
