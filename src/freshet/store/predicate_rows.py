"""The triples of one predicate in a base, as rows with numbers, so that others can point to them instead of copying."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.stored_rows import find_rows
from freshet.rdf.triples import Ids

if TYPE_CHECKING:
    from freshet.store.order_arrays import OrderArrays

Rows = NDArray[np.int32]

_SUBJECT = 0
_NOTHING = np.empty(0, np.int64)
_NO_ROWS = np.empty(0, np.int32)


class PredicateRows:
    """Rows of one predicate; `freshet.kernels.stored_rows` says how they are numbered."""

    def __init__(self, by_subject: OrderArrays, by_object: OrderArrays, predicate: int) -> None:
        self._orders = (by_subject, by_object)
        group = int(np.searchsorted(by_subject.predicates, predicate))
        self._group = group
        self._start = self.count = 0
        if group < len(by_subject.predicates) and by_subject.predicates[group] == predicate:
            self._start = int(by_subject.bounds[group])  # the groups are the same in both orders
            self.count = int(by_subject.bounds[group + 1]) - self._start
        own = slice(self._start, self._start + self.count)
        self._subjects = (by_subject.keys[own], by_object.seconds[own])
        self._objects = (by_subject.seconds[own], by_object.keys[own])

    def columns(self, place: int) -> tuple[Ids, Ids]:
        """The terms at a place (0 subject, 2 object), in the order of subjects and in that of objects."""
        return self._subjects if place == _SUBJECT else self._objects

    def find(self, place: int, keys: Ids) -> tuple[Ids, Rows]:
        """The rows that have keys at a place: the number of the key, and the row."""
        return self._find(0 if place == _SUBJECT else 1, keys, _NOTHING)

    def find_pairs(self, subjects: Ids, objects: Ids) -> tuple[Ids, Rows]:
        """The rows that have both."""
        return self._find(0, subjects, objects)

    def _find(self, number: int, keys: Ids, wanted: Ids) -> tuple[Ids, Rows]:
        if not self.count or not len(keys):
            return _NOTHING, _NO_ROWS
        order = self._orders[number]
        first, shift = order.firsts[self._group], order.shifts[self._group]
        numbers, rows = find_rows(
            order.slots, first, shift, order.seconds, keys, wanted, number * self.count - self._start
        )
        return numbers, rows
