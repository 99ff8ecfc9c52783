"""One graph at one moment, indexed: what one-shot evaluation reads."""

from __future__ import annotations

import threading

import numpy as np

from freshet.rdf.triples import ANY, Ids, Triples
from freshet.store.ranks import RankedTriples
from freshet.store.sorted_triples import SortedTriples

SUBJECT, PREDICATE, OBJECT = range(3)
_COUNT_MASK = 0xFFFFFFFF
Column = Ids | int


class TripleIndex:
    """A set of triples that never changes, in sorted orders that are made when first asked for.

    | order                      | answers patterns with              |
    | -------------------------- | ---------------------------------- |
    | predicate, subject, object | predicate; and subject; all three  |
    | predicate, object, subject | predicate and object               |
    | subject, object, predicate | subject; subject and object        |
    | object, subject, predicate | object                             |
    """

    def __init__(self, triples: Triples) -> None:
        """Triples may stand twice in the columns that are given; they count once."""
        self._given: Triples | None = triples
        self._ranked: RankedTriples | None = None
        self._orders: dict[tuple[int, bool], SortedTriples] = {}
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._ranks())

    def count(self, subject: int, predicate: int, object: int) -> int:
        """How many triples match a pattern."""
        return self._lookup(subject, predicate, object)[1] & _COUNT_MASK

    def distinct(self, predicate: int, place: int) -> int:
        """How many different terms stand at a place (0 subject, 2 object) of a predicate's triples, or of all."""
        if predicate == ANY:
            return self._ranks().different(place)
        return self._order(place, grouped=True).different(predicate)

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        """The triples that match a pattern. The columns are views of the index: nobody may write to them."""
        order, found = self._lookup(subject, predicate, object)
        return order.rows(found)

    def probe(self, subjects: Column, predicates: Column, objects: Column) -> tuple[Ids, Triples]:
        """Every match of many patterns, with the number of the pattern, in the order of the patterns."""
        if not isinstance(subjects, np.ndarray) and not isinstance(objects, np.ndarray):
            return self._probe_predicates(subjects, predicates, objects)
        grouped = isinstance(predicates, np.ndarray) or predicates != ANY
        key = SUBJECT if isinstance(subjects, np.ndarray) else OBJECT
        keys, seconds = (subjects, objects) if key == SUBJECT else (objects, subjects)
        order = self._order(key, grouped=grouped)
        numbers, keys, seconds, between = order.probe(predicates, np.ascontiguousarray(keys), seconds)
        return numbers, Triples(keys, between, seconds) if key == SUBJECT else Triples(seconds, between, keys)

    def _probe_predicates(self, subject: int, predicates: Column, object: int) -> tuple[Ids, Triples]:
        """Patterns that differ in nothing but the predicate."""
        assert isinstance(predicates, np.ndarray), "one of the places is a column"
        if subject != ANY:
            return self.probe(np.full(predicates.size, subject, np.int64), predicates, object)
        if object != ANY:
            return self.probe(ANY, predicates, np.full(predicates.size, object, np.int64))
        return self._order(SUBJECT, grouped=True).probe_predicates(predicates)

    def _lookup(self, subject: int, predicate: int, object: int) -> tuple[SortedTriples, int]:
        """The order that has the matches of a pattern side by side, and where."""
        by_object = subject == ANY and object != ANY
        grouped = predicate != ANY or (subject == ANY and object == ANY)
        order = self._order(OBJECT if by_object else SUBJECT, grouped=grouped)
        if grouped and predicate == ANY:
            return order, len(self)
        if by_object:
            return order, order.range(predicate, object, ANY)
        if subject == ANY:
            return order, order.range(predicate, ANY, ANY)
        return order, order.range(predicate, subject, object)

    def _order(self, key: int, *, grouped: bool) -> SortedTriples:
        order = self._orders.get((key, grouped))
        if order is None:
            with self._lock:
                order = self._orders.get((key, grouped))
                if order is None:
                    order = SortedTriples(self._ranks(), key, OBJECT - key, grouped=grouped)
                    self._orders[key, grouped] = order
        return order

    def _ranks(self) -> RankedTriples:
        if self._ranked is None:
            with self._lock:
                if self._given is not None:
                    self._ranked = RankedTriples(self._given)
                    self._given = None
        assert self._ranked is not None
        return self._ranked
