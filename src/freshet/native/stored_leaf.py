"""The rows of a pattern in a stored graph that has too many of them to be copied for every query.

Those of the base stay where they are, and are found through its directories; what is added later goes to a leaf buffer.
Rows of the base have the numbers that `freshet.kernels.stored_rows` gives them, later rows those behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from freshet.kernels.stored_rows import row_values
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.moments import FIRST_MOMENT, OPEN
from freshet.native.one_way_index import Ids, Rows
from freshet.native.ring_index import Lives, Pairs, RingIndex
from freshet.native.stored import StoredBase
from freshet.rdf.elements import Elements

MOST_ROWS = 1 << 29  # each has two numbers, and those that come later need some too

_NO_ROWS = np.empty(0, np.int32)


class StoredLeaf:
    """A leaf buffer of a pattern `?s <p> ?o` over a base. Its rows never go."""

    def __init__(self, pattern: LeafPattern, base: StoredBase) -> None:
        self.pattern = pattern
        predicate = pattern.constants[1]
        self.base = base.rows_of(predicate)
        self.places = tuple(places[0] for places in pattern.columns)
        self.distinct = tuple(base.distinct(predicate, place) for place in self.places)
        self.later = LeafBuffer(pattern, expires=False)
        self.first_later = 2 * self.base.count
        self.values = _Values(self)
        self._indexes: dict[tuple[int, ...], _StoredIndex] = {}

    @staticmethod
    def suits(pattern: LeafPattern) -> bool:
        """Whether it is `?s <p> ?o`, with two variables."""
        subject, predicate, object_ = pattern.constants
        return predicate != 0 and subject == object_ == 0 and len(pattern.columns) == 2 and not pattern.chosen

    @property
    def live(self) -> int:
        return self.base.count + self.later.live

    @property
    def row_capacity(self) -> int:
        return self.first_later + self.later.row_capacity

    def fresh(self, number: int) -> Rows:
        return self.later.fresh(number) + np.int32(self.first_later)

    def dead(self, number: int) -> Rows:
        return _NO_ROWS

    def births(self, rows: Rows) -> Ids:
        """When later rows were born; those of the base were there before all moments."""
        births = np.full(len(rows), FIRST_MOMENT - 1)
        later = rows >= self.first_later
        births[later] = self.later.births(rows[later] - self.first_later)
        return births

    def deaths(self, rows: Rows) -> Ids:
        return np.full(len(rows), OPEN)

    def lives(self, number: int) -> Lives:
        """The lives of later rows."""
        return self.later.lives(number)

    def old_rows(self, first_moment: int) -> Rows:
        later = self.later.old_rows(first_moment) + np.int32(self.first_later)
        return np.concatenate((np.arange(self.base.count, dtype=np.int32), later))

    def live_rows(self) -> Rows:
        later = self.later.live_rows() + np.int32(self.first_later)
        return np.concatenate((np.arange(self.base.count, dtype=np.int32), later))

    def sizes(self) -> tuple[int, list[int]]:
        """About how many rows there are, and how many different values each column has in them."""
        return self.base.count + self.later.sizes()[0], list(self.distinct)

    def receive(self, elements: Elements) -> None:
        """Elements in order of time. Those that the base has are nothing new."""
        of_predicate = np.flatnonzero(elements.predicates == self.pattern.constants[1])
        if not len(of_predicate):
            return
        subjects, objects = elements.subjects[of_predicate], elements.objects[of_predicate]
        known, _ = self.base.find_pairs(subjects, objects)
        self.later.receive(Elements(*(column[np.delete(of_predicate, known)] for column in elements)))

    def waits_until(self, last_moment: int) -> bool:
        return self.later.waits_until(last_moment)

    def step_stored(self, number: int, first_moment: int, last_moment: int) -> None:
        self.later.step_stored(number, first_moment, last_moment)

    def index_on(self, columns: tuple[int, ...]) -> _StoredIndex:
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = _StoredIndex(self, columns)
        return index


class _Values:
    """The values of a stored leaf's rows, as one would ask an array for them: `values[rows, column]`."""

    def __init__(self, leaf: StoredLeaf) -> None:
        self._leaf = leaf
        self._columns = [leaf.base.columns(place) for place in leaf.places]

    def __getitem__(self, at: tuple[Rows, int]) -> Ids:
        rows, column = at
        values: Ids = row_values(rows, *self._columns[column], self._leaf.later.values, column)
        return values

    def item(self, row: int, column: int) -> int:
        first_later, (first, second) = self._leaf.first_later, self._columns[column]
        if row >= first_later:
            return int(self._leaf.later.values.item(row - first_later, column))
        return int(first.item(row) if row < len(first) else second.item(row - len(first)))


class _StoredIndex:
    """What a ring index is to a leaf buffer."""

    def __init__(self, leaf: StoredLeaf, columns: tuple[int, ...]) -> None:
        self._leaf = leaf
        self._columns = columns
        self._later: RingIndex = leaf.later.index_on(columns)

    def probe(self, keys: Ids, moments: Ids, ties: int, lives: Lives) -> tuple[Ids, Rows]:
        """Pairs (which key, row) for all rows with the keys that live at the moments beside these."""
        lefts, rows = self._in_base(keys)
        if self._leaf.later.live:
            later_lefts, later = self._later.probe(keys, moments, ties, lives)
            if len(later):
                lefts = np.concatenate((lefts, later_lefts))
                rows = np.concatenate((rows, later + np.int32(self._leaf.first_later)))
                order = np.argsort(lefts, kind="stable")
                lefts, rows = lefts[order], rows[order]
        return lefts, rows

    def pairs(
        self, rows: Rows, moments: Ids, values: Any, columns: Ids, ties: int, lives: Lives, place: int
    ) -> tuple[Pairs, Ids]:
        """As `probe` with the values of rows: each row, in column `place`, beside those found."""
        keys = np.empty((len(rows), len(columns)), np.int64)
        for at, column in enumerate(columns.tolist()):
            keys[:, at] = values[rows, column]
        lefts, found = self.probe(keys, moments, ties, lives)
        pairs = np.empty((len(found), 2), np.int32)
        pairs[:, place] = rows[lefts]
        pairs[:, 1 - place] = found
        return pairs, moments[lefts]

    def rows_per_key(self) -> float:
        """How many rows a probe that hits may expect."""
        keys = 1
        for column in self._columns:
            keys = max(keys, self._leaf.distinct[column])
        return self._leaf.base.count / keys if len(self._columns) == 1 else 1.0

    def _in_base(self, keys: Ids) -> tuple[Ids, Rows]:
        base, places = self._leaf.base, self._leaf.places
        if len(self._columns) == 1:
            return base.find(places[self._columns[0]], np.ascontiguousarray(keys[:, 0]))
        if len(self._columns) == 2:
            of_place = {places[column]: np.ascontiguousarray(keys[:, at]) for at, column in enumerate(self._columns)}
            return base.find_pairs(of_place[0], of_place[2])
        every = np.arange(base.count, dtype=np.int32)  # nothing to look for
        return np.repeat(np.arange(len(keys)), base.count), np.tile(every, len(keys))
