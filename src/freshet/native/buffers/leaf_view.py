"""A leaf buffer as a query sees it that was registered after elements had come."""

from __future__ import annotations

import numpy as np

from freshet.native.buffers.leaf_buffer import LeafBuffer
from freshet.native.buffers.one_way_index import Ids, Rows
from freshet.native.buffers.record import Record
from freshet.native.buffers.ring_index import Lives, RingIndex

_NO_ROWS = np.empty(0, np.int32)


class LeafView:
    """The rows of a leaf buffer, under the same numbers, from the elements with a number on (`RowBegins`).

    Once all earlier elements have left, it is as the leaf buffer.
    """

    def __init__(self, leaf: LeafBuffer, begin: int) -> None:
        self.leaf = leaf
        self.begin = begin
        self._number = 0  # of the batch in which rows came into sight:
        self._fresh, self._births = _NO_ROWS, np.empty(0, np.int64)
        leaf.begin_at(begin)

    @property
    def record(self) -> Record:
        return self.leaf.record

    @property
    def values(self) -> Ids:
        return self.leaf.values

    @property
    def died(self) -> Ids:
        return self.leaf.died

    @property
    def live(self) -> int:
        """How many rows can be found, or more."""
        return self.leaf.live

    @property
    def row_capacity(self) -> int:
        return self.leaf.row_capacity

    def sizes(self) -> tuple[int, list[int]]:
        return self.leaf.sizes()

    def fresh(self, number: int) -> Rows:
        leaf = self.leaf
        if leaf.number != number or leaf.begins is None or leaf.begins.are_seen_from(self.begin):
            return leaf.fresh(number)
        if self._number != number:
            self._number = number
            self._fresh, self._births = leaf.begins.coming_into_sight(self.begin, leaf.died)
        return self._fresh

    def births(self, rows: Rows) -> Ids:
        begins = self.leaf.begins
        if begins is None:
            return self.leaf.births(rows)
        if self._number == self.leaf.number and rows is self._fresh:
            return self._births
        return begins.seen_at(rows, self.begin)

    def dead(self, number: int) -> Rows:
        dead = self.leaf.dead(number)
        begins = self.leaf.begins
        if begins is None or not len(dead):
            return dead
        return dead[begins.seen_at(dead, self.begin) < self.leaf.died[dead]]

    def deaths(self, rows: Rows) -> Ids:
        return self.leaf.deaths(rows)

    def lives(self, number: int) -> Lives:
        return self.leaf.lives(number)

    def old_rows(self, first_moment: int) -> Rows:
        rows, begins = self.leaf.old_rows(first_moment), self.leaf.begins
        return rows if begins is None else rows[begins.seen_at(rows, self.begin) < first_moment]

    def live_rows(self) -> Rows:
        rows, begins = self.leaf.live_rows(), self.leaf.begins
        return rows if begins is None else rows[begins.seen_at(rows, self.begin) < self.leaf.died[rows]]

    @property
    def is_partial(self) -> bool:
        """Whether some rows of the leaf buffer are out of sight. Once none is, none will be."""
        return self.leaf.begins is not None

    def index_on(self, columns: tuple[int, ...]) -> RingIndex | _IndexView:
        index = self.leaf.index_on(columns)
        return index if self.leaf.begins is None else _IndexView(index, self)


class _IndexView:
    """An index of the leaf buffer, of whose rows only those in sight count."""

    def __init__(self, index: RingIndex, view: LeafView) -> None:
        self._index = index
        self._view = view
        self.record = index.record

    def probe(self, keys: Ids, moments: Ids, ties: int, lives: Lives) -> tuple[Ids, Rows]:
        lefts, hits = self._index.probe(keys, moments, ties, lives)
        kept = self._in_sight(hits, moments[lefts], ties)
        return lefts[kept], hits[kept]

    def _in_sight(self, rows: Rows, moments: Ids, ties: int) -> Ids:
        begins = self._view.leaf.begins
        assert begins is not None
        return np.flatnonzero(begins.seen_at(rows, self._view.begin) < moments + ties)

    def rows_per_key(self) -> float:
        return self._index.rows_per_key()

    def counts(self, keys: Ids) -> Ids:
        return self._index.counts(keys)

    @property
    def is_skewed(self) -> bool:
        return self._index.is_skewed
