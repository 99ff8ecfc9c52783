"""Rows that an operator gives, kept with their lives for joins with them."""

from __future__ import annotations

import numpy as np

from freshet.kernels import records
from freshet.kernels.bag_lifetimes import bag_step
from freshet.kernels.direct_call import DirectCall
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.one_way_index import Ids, Rows
from freshet.native.buffers.ordered_index import OrderedIndex
from freshet.native.buffers.record import Record
from freshet.native.buffers.ring_index import Lives, RingIndex
from freshet.native.change import Change, MomentBatch, Operator
from freshet.native.r2s.bags import as_rows
from freshet.rdf.dictionary import Dictionary

_NO_ROWS = np.empty(0, np.int32)
_FIRST_CAPACITY = 64
_STEP = DirectCall(bag_step)


class RowBuffer:
    """The bag of rows that an operator gives, with lives as in a leaf buffer. Of equal rows the newest goes first.

    Rows that died can be read until the next step.
    """

    def __init__(self, source: Operator, names: tuple[str, ...]) -> None:
        self.source = source
        self.names = names
        self._indexes: dict[tuple[int, ...], RingIndex] = {}
        self._ordered: dict[int, OrderedIndex] = {}
        self.values = np.zeros((_FIRST_CAPACITY, len(names)), np.int64)
        self.born = np.zeros(_FIRST_CAPACITY, np.int64)
        self.died = np.zeros(_FIRST_CAPACITY, np.int64)
        self._number = 0
        self._used = 0
        self._alive = np.zeros(_FIRST_CAPACITY, np.bool_)
        self._free = _NO_ROWS
        self._fresh = self._dead = _NO_ROWS
        self._equals = RingIndex(tuple(range(len(names))))  # the rows of each value
        self.record = Record(records.BUFFER_FIELDS)
        self._point()

    @property
    def row_capacity(self) -> int:
        return len(self.values)

    @property
    def live(self) -> int:
        """How many rows can be found: those that live, and those that have died in the present batch."""
        return self._equals.rows + len(self._dead)

    @property
    def held_bytes(self) -> int:
        """What the rows take that are here."""
        indexes = [self._equals, *self._all_indexes()]
        return self.live * (self.values.strides[0] + 17) + sum(index.held_bytes for index in indexes)

    def fresh(self, number: int) -> Rows:
        return self._fresh if self._number == number else _NO_ROWS

    def dead(self, number: int) -> Rows:
        return self._dead if self._number == number else _NO_ROWS

    def births(self, rows: Rows) -> Ids:
        return self.born[rows]

    def deaths(self, rows: Rows) -> Ids:
        return self.died[rows]

    def lives(self, number: int) -> Lives:
        """The lives of all rows in a batch."""
        return Lives(self.born, self.died, self._number != number and not len(self._dead))

    def live_rows(self) -> Rows:
        """The rows that live at the end of the present batch."""
        return np.flatnonzero(self._alive).astype(np.int32)

    def old_rows(self, first_moment: int) -> Rows:
        """The rows that lived before a batch that has begun at a moment, and may have died in it."""
        rows = np.concatenate((self.live_rows(), self._dead))
        return rows[(self.born[rows] < first_moment) & (self.died[rows] >= first_moment)]

    def follow(self, batch: MomentBatch) -> None:
        """Take in what the operator's batch changed."""
        change = self.source.changes(batch)
        if change.is_empty and not (len(self._fresh) or len(self._dead)):
            return
        if len(self._dead):
            for index in self._all_indexes():
                index.unlink(self._dead)
        self._step(batch, change)
        self._point()
        if len(self._fresh):
            for index in self._all_indexes():
                index.link(self._fresh, self.values)

    def _point(self) -> None:
        """Write down where the arrays are, and what has changed."""
        record, fields = self.record, self.record.fields
        if fields[records.ROOM] != len(self.values):
            fields[records.ROOM], fields[records.COLUMNS] = self.values.shape
            record.point(records.VALUES, self.values)
            record.point(records.BORN, self.born)
            record.point(records.DIED, self.died)
        fields[records.NUMBER], fields[records.LIVE] = self._number, self._equals.rows
        fields[records.FRESH_COUNT], fields[records.DEAD_COUNT] = len(self._fresh), len(self._dead)
        if len(self._fresh):
            record.point(records.FRESH, self._fresh)
        if len(self._dead):
            record.point(records.DEAD, self._dead)

    def _step(self, batch: MomentBatch, change: Change) -> None:
        """Take a batch in."""
        self._number = batch.number
        if len(self._dead):
            self._free = np.concatenate((self._free, self._dead))
            self._fresh = self._dead = _NO_ROWS
        if change.is_empty:
            self._fresh = _NO_ROWS
            return
        came, went = as_rows(change.came, self.names), as_rows(change.went, self.names)
        rows, dead = self._take_free(len(came)), np.empty(len(went), np.int32)
        self.values[rows] = came
        self._equals.make_room(len(came), len(self.values))
        came_at, went_at = np.ascontiguousarray(change.came_at), np.ascontiguousarray(change.went_at)
        strangers = _STEP.run(self._equals.arrays, self.born, self.died, came, came_at, rows, went, went_at, dead)
        if strangers:
            raise ValueError("a row goes that never came")
        self._equals.rows += len(rows) - len(dead)
        self._alive[rows] = True
        self._alive[dead] = False
        self._fresh, self._dead = rows, dead

    def _take_free(self, count: int) -> Rows:
        again = min(count, len(self._free))
        rest = count - again
        if self._used + rest > len(self.values):
            capacity = max(2 * len(self.values), self._used + rest)
            self.values, self.born, self.died, self._alive = (
                longer(array, capacity) for array in (self.values, self.born, self.died, self._alive)
            )
        rows = np.arange(self._used, self._used + rest, dtype=np.int32)
        self._used += rest
        if again:
            rows = np.concatenate((self._free[:again], rows))
            self._free = self._free[again:]
        return rows

    def index_on(self, columns: tuple[int, ...]) -> RingIndex:
        """The ring index on these columns, made the first time it is asked for."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = RingIndex(columns)
            index.link(np.concatenate((self.live_rows(), self._dead)), self.values)
        return index

    def ordered_on(self, column: int, dictionary: Dictionary) -> OrderedIndex:
        """The ordered index on a column, made the first time it is asked for."""
        index = self._ordered.get(column)
        if index is None:
            index = self._ordered[column] = OrderedIndex(column, dictionary)
            index.link(np.concatenate((self.live_rows(), self._dead)), self.values)
        return index

    def _all_indexes(self) -> list[RingIndex | OrderedIndex]:
        return [*self._indexes.values(), *self._ordered.values()]
