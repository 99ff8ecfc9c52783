"""A set of triples that never changes, indexed: what one-shot evaluation reads."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.triples import ANY, Ids, Triples
from freshet.store.found import Column
from freshet.store.mapped_files import is_mapped
from freshet.store.order_arrays import OrderArrays
from freshet.store.sorted_triples import SortedTriples
from freshet.store.sorting import keep_rows, merge_orders, other_order, sort_order

SUBJECT, PREDICATE, OBJECT = range(3)
_COUNT_MASK = 0xFFFFFFFF

Mask = NDArray[np.bool_]


class TripleIndex:
    """A set of triples in two sorted orders, which are made when first asked for.

    | order                      | answers patterns with                      |
    | -------------------------- | ------------------------------------------ |
    | predicate, subject, object | nothing; predicate; subject; all three     |
    | predicate, object, subject | object; predicate and object               |

    Where the predicate is not given, the rows of a subject or object are sought under every predicate.
    """

    def __init__(self, *parts: Triples) -> None:
        """Triples may stand twice in the columns that are given; they count once."""
        self._given: tuple[Triples, ...] | None = parts
        self._orders: dict[int, SortedTriples] = {}
        self._lock = threading.Lock()

    @classmethod
    def of_orders(cls, by_subject: OrderArrays, by_object: OrderArrays) -> TripleIndex:
        """An index of orders that are there already, perhaps as maps of files."""
        index = cls()
        index._given = None
        index._orders = {SUBJECT: SortedTriples(by_subject, SUBJECT), OBJECT: SortedTriples(by_object, OBJECT)}
        return index

    def __len__(self) -> int:
        return len(self.order(SUBJECT))

    def order(self, key: int) -> SortedTriples:
        """The triples by subject (0) or by object (2)."""
        order = self._orders.get(key)
        if order is None:
            with self._lock:
                order = self._orders.get(key)
                if order is None:
                    order = self._orders[key] = SortedTriples(self._sorted(key), key)
                    self._given = None  # what is sorted has them all
        return order

    def orders(self) -> tuple[SortedTriples, ...]:
        """The orders that have been made."""
        return tuple(self._orders.values())

    @property
    def column_bytes(self) -> int:
        """Bytes of what is not sorted yet."""
        return sum(column.nbytes for part in self._given or () for column in part)

    def with_more(self, triples: Triples) -> TripleIndex | None:
        """An index that has more triples; None where this one is sorted already."""
        given = self._given
        return None if given is None else TripleIndex(*given, triples)

    def merged_with(self, triples: Triples) -> TripleIndex:
        """An index that has more triples, none of which is in this one, nor stands twice. Both orders are made."""
        by_subject, by_object = (
            merge_orders(self.order(key).arrays, triples[key], triples.predicates, triples[OBJECT - key])
            for key in (SUBJECT, OBJECT)
        )
        return TripleIndex.of_orders(by_subject, by_object)

    def with_rows(self, by_subject: Mask, by_object: Mask) -> TripleIndex:
        """An index of some rows only, which are given for both orders."""
        orders = (keep_rows(self.order(key).arrays, kept) for key, kept in ((SUBJECT, by_subject), (OBJECT, by_object)))
        return TripleIndex.of_orders(*orders)

    @property
    def is_mapped(self) -> bool:
        """Whether the triples are maps of files."""
        return any(is_mapped(order.arrays.keys) for order in self.orders())

    def triples(self) -> Triples:
        """All triples; where they are not sorted yet some may stand twice."""
        given = self._given
        return self.match(ANY, ANY, ANY) if given is None else _together(given)

    def count(self, subject: int, predicate: int, object: int) -> int:
        """How many triples match a pattern."""
        order, key, second = self._looked_up(subject, object)
        if predicate != ANY:
            return order.range(predicate, key, second) & _COUNT_MASK
        return len(order) if key == ANY else order.count_everywhere(key, second)

    def distinct(self, predicate: int, place: int) -> int:
        """About how many different terms stand at a place (0 subject, 2 object) of a predicate's triples, or of all."""
        return self.order(place).different(predicate)

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        """The triples that match a pattern. The columns may be views of the index: do not write to them."""
        order, key, second = self._looked_up(subject, object)
        if predicate != ANY:
            return order.rows(predicate, order.range(predicate, key, second))
        if key == ANY:
            return order.all_rows()
        if second == ANY:
            return order.match_everywhere(key)
        return order.probe(ANY, np.array([key], np.int64), second)[1]

    def probe(self, subjects: Column, predicates: Column, objects: Column) -> tuple[Ids, Triples]:
        """Every match of many patterns, with the number of the pattern, in the order of the patterns."""
        if isinstance(subjects, np.ndarray):
            return self.order(SUBJECT).probe(predicates, np.ascontiguousarray(subjects), objects)
        if isinstance(objects, np.ndarray):
            return self.order(OBJECT).probe(predicates, np.ascontiguousarray(objects), subjects)
        assert isinstance(predicates, np.ndarray), "one of the places is a column"
        if subjects != ANY:
            return self.probe(np.full(predicates.size, subjects, np.int64), predicates, objects)
        if objects != ANY:
            return self.probe(ANY, predicates, np.full(predicates.size, objects, np.int64))
        return self.order(SUBJECT).probe_predicates(predicates)

    def _looked_up(self, subject: int, object: int) -> tuple[SortedTriples, int, int]:
        """The order that has the matches of a pattern side by side, and what key and second place to seek there."""
        if subject == ANY and object != ANY:
            return self.order(OBJECT), object, ANY
        return self.order(SUBJECT), subject, object if subject != ANY else ANY

    def _sorted(self, key: int) -> OrderArrays:
        if self._given is None:
            return other_order(self._orders[OBJECT - key].arrays)
        given = _together(self._given)
        return sort_order(given[key], given.predicates, given[OBJECT - key])


def _together(parts: tuple[Triples, ...]) -> Triples:
    if len(parts) == 1:
        return parts[0]
    nothing = np.empty(0, np.int64)
    return Triples(*(np.concatenate([nothing, *(part[place] for part in parts)]) for place in range(3)))
