"""Leaf buffers: the rows that one triple pattern matches in one window, or in the stored graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from freshet.native.arrivals import Arrivals
from freshet.native.one_way_index import Ids, Mask, OneWayIndex, Rows
from freshet.native.ring_index import RingIndex
from freshet.rdf.elements import Elements

_NO_ROWS = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class LeafPattern:
    """A triple pattern without names: ids where it has constants, and for each variable the places it stands at.

    `constants` has 0 where there is a variable. Patterns that differ only in the names of variables are equal, and
    share one leaf buffer.
    """

    constants: tuple[int, int, int]
    columns: tuple[tuple[int, ...], ...]

    def match(self, elements: Elements) -> tuple[Mask | slice, Ids]:
        """Which elements match, and the variables' values of those that do."""
        triple = (elements.subjects, elements.predicates, elements.objects)
        mask: Mask | None = None
        for constant, values in zip(self.constants, triple, strict=True):
            if constant:
                hit = values == constant
                mask = hit if mask is None else mask & hit
        for places in self.columns:
            for place in places[1:]:
                hit = triple[places[0]] == triple[place]
                mask = hit if mask is None else mask & hit
        chosen: Mask | slice = slice(None) if mask is None else mask
        count = len(elements.times) if mask is None else int(np.count_nonzero(mask))
        values = np.empty((count, len(self.columns)), np.int64)
        for at, places in enumerate(self.columns):
            values[:, at] = triple[places[0]][chosen]
        return chosen, values


class LeafBuffer:
    """Distinct rows of a pattern in a window (a set: a row that comes again stays until its last arrival leaves).

    `fresh` and `dead` give the rows that came and went since a step. Who reads a window's leaf looks at it after its
    every step; a leaf of the stored graph, whose rows stay, may move several steps between two looks. `values` of dead
    rows can be read until the next step.
    """

    def __init__(self, pattern: LeafPattern, *, expires: bool = True) -> None:
        self.pattern = pattern
        self._expires = expires
        self._number = 0
        self._fresh = self._dead = _NO_ROWS
        self.born = np.empty(0, np.int64)
        self._rows = OneWayIndex(len(pattern.columns))
        self._waiting = Arrivals(np.int64, (len(pattern.columns),))
        self._inside = Arrivals(np.int32)
        self._indexes: dict[tuple[int, ...], RingIndex] = {}

    @property
    def values(self) -> Ids:
        """One row a leaf row, one column a variable."""
        return self._rows.keys

    @property
    def row_capacity(self) -> int:
        return self._rows.capacity

    @property
    def live(self) -> int:
        return self._rows.live

    def fresh(self, since: int) -> Rows:
        if self._number <= since:
            return _NO_ROWS
        if self._expires:
            return self._fresh
        first = int(np.searchsorted(self.born[: self.live], since, side="right"))
        return np.arange(first, self.live, dtype=np.int32)

    def dead(self, since: int) -> Rows:
        return self._dead if self._number > since else _NO_ROWS

    def live_rows(self) -> Rows:
        return self._rows.live_entries()

    def receive(self, elements: Elements) -> None:
        """Elements in order of time; those that match wait until a step lets them in."""
        chosen, values = self.pattern.match(elements)
        if len(values):
            self._waiting.append(elements.times[chosen], values)

    def step(self, open_ms: int, close_ms: int, number: int) -> None:
        """Move to the content of [open_ms, close_ms)."""
        self._number = number
        self._waiting.take(self._waiting.count_before(open_ms))  # came between two windows
        self._fresh = self._enter(*self._waiting.take(self._waiting.count_before(close_ms)), number)
        self._dead = self._leave(self._inside.take(self._inside.count_before(open_ms))[1])

    def _enter(self, times: Ids, values: Ids, number: int) -> Rows:
        if len(times) == 0:
            return _NO_ROWS
        rows, new = self._rows.add(np.ascontiguousarray(values))
        if self._expires:
            self._inside.append(times, rows)
        if len(self.born) < self.row_capacity:
            born = np.zeros(self.row_capacity, np.int64)
            born[: len(self.born)] = self.born
            self.born = born
        fresh: Rows = rows[new]
        self.born[fresh] = number
        for index in self._indexes.values():
            index.link(fresh, self.values)
        return fresh

    def _leave(self, rows: Rows) -> Rows:
        if len(rows) == 0:
            return _NO_ROWS
        dead = self._rows.release(rows)
        for index in self._indexes.values():
            index.unlink(dead)
        return dead

    def held_ids(self) -> Iterator[Ids]:
        """The ids of its pattern, of its rows, and of those that wait."""
        yield np.array(self.pattern.constants, np.int64)
        yield self.values[self.live_rows()]
        yield self._waiting.values

    def index_on(self, columns: tuple[int, ...]) -> RingIndex:
        """The ring index on these columns, made the first time it is asked for."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = RingIndex(columns)
            index.link(self.live_rows(), self.values)
        return index
