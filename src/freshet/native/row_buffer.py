"""Rows that an operator gives, kept so that others can join with them."""

from __future__ import annotations

import numpy as np

from freshet.native.accumulators import longer
from freshet.native.change import Operator
from freshet.native.inputs import NOTHING_MOVED, Moved
from freshet.native.one_way_index import Rows
from freshet.native.r2s.bags import as_rows
from freshet.native.ring_index import RingIndex
from freshet.oneshot.table import Table

_NO_ROWS = np.empty(0, np.int32)
_FIRST_CAPACITY = 64


class RowBuffer:
    """A bag of rows under numbers, as a leaf buffer has them, that follows an operator.

    `values` of dead rows can be read until the next step.
    """

    def __init__(self, source: Operator, names: tuple[str, ...]) -> None:
        self.source = source
        self.names = names
        self.values = np.empty((_FIRST_CAPACITY, len(names)), np.int64)
        self.born = np.zeros(_FIRST_CAPACITY, np.int64)
        self.live = 0
        self._number = 0
        self._used = 0
        self._alive = np.zeros(_FIRST_CAPACITY, np.bool_)
        self._free = _NO_ROWS
        self._fresh = self._dead = _NO_ROWS
        self._whole = RingIndex(tuple(range(len(names))))
        self._indexes = {tuple(range(len(names))): self._whole}

    @property
    def row_capacity(self) -> int:
        return len(self.values)

    @property
    def held_bytes(self) -> int:
        """What the rows take that are here."""
        row_bytes = self.values.strides[0] + self.born.itemsize + self._alive.itemsize
        return self.live * row_bytes + sum(index.held_bytes for index in list(self._indexes.values()))

    def fresh(self, since: int) -> Rows:
        return self._fresh if self._number > since else _NO_ROWS

    def dead(self, since: int) -> Rows:
        return self._dead if self._number > since else _NO_ROWS

    def moved(self, since: int) -> Moved:
        return (self._fresh, self._dead) if self._number > since else NOTHING_MOVED

    def live_rows(self) -> Rows:
        return np.flatnonzero(self._alive).astype(np.int32)

    def follow(self, number: int) -> None:
        """Take in what the operator's step changed."""
        change = self.source.changes(number)
        self._number = number
        if len(self._dead):
            self._free = np.concatenate((self._free, self._dead))
        self._dead = self._remove(change.went) if change.went.count else _NO_ROWS
        self._fresh = self._add(change.came, number) if change.came.count else _NO_ROWS
        self.live += len(self._fresh) - len(self._dead)

    def index_on(self, columns: tuple[int, ...]) -> RingIndex:
        """The ring index on these columns, made the first time it is asked for."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = RingIndex(columns)
            index.link(self.live_rows(), self.values)
        return index

    def _remove(self, table: Table) -> Rows:
        rows = self._whole.pop(as_rows(table, self.names))
        for index in self._indexes.values():
            if index is not self._whole:
                index.unlink(rows)
        self._alive[rows] = False
        return rows

    def _add(self, table: Table, number: int) -> Rows:
        rows = self._take_free(table.count)
        self.values[rows] = as_rows(table, self.names)
        self.born[rows] = number
        self._alive[rows] = True
        for index in self._indexes.values():
            index.link(rows, self.values)
        return rows

    def _take_free(self, count: int) -> Rows:
        again = min(count, len(self._free))
        rest = count - again
        if self._used + rest > len(self.values):
            capacity = max(2 * len(self.values), self._used + rest)
            self.values, self.born, self._alive = (
                longer(array, capacity) for array in (self.values, self.born, self._alive)
            )
        rows = np.arange(self._used, self._used + rest, dtype=np.int32)
        self._used += rest
        if again:
            rows = np.concatenate((self._free[:again], rows))
            self._free = self._free[again:]
        return rows
