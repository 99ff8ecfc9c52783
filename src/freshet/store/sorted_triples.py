"""Triples in one sorted order, and the directory that finds the rows of a key in it."""

from __future__ import annotations

import threading

import numpy as np

from freshet.kernels.sorted_triples import (
    find_grouped_ranges,
    find_in_every_group,
    find_range,
    match_in_every_group,
    narrow_range,
    narrow_ranges,
    probe_keys,
    spread,
    spread_rows,
)
from freshet.rdf.triples import ANY, Ids, Triples
from freshet.store.directory import about_different, about_different_everywhere
from freshet.store.order_arrays import OrderArrays
from freshet.store.sorting import sort_order

__all__ = ["OrderArrays", "SortedTriples"]

SUBJECT, OBJECT = 0, 2
_COUNT_MASK = 0xFFFFFFFF
_NOTHING = np.empty(0, np.int64)
_MANY_GROUPS = 128  # with more, it pays to know in which of them a key is
_ALWAYS = 1  # the one predicate of the order that says so
_VIEWED = 1 << 10  # rows from which on a column of one predicate is not written out

Found = tuple[Ids, Ids, Ids, Ids]
Group = tuple[int, int, int]


class SortedTriples:
    """Triples sorted by predicate, key (0: the subject, 2: the object) and second place.

    A range is `start << 32 | count`, 0 for no rows.
    """

    def __init__(self, arrays: OrderArrays, key: int) -> None:
        arrays = OrderArrays(*(np.asarray(array) for array in arrays))  # a map of a file is an array like any other
        self.arrays = arrays
        self.key = key
        bounds = arrays.bounds.tolist()
        tables = zip(bounds, bounds[1:], arrays.firsts.tolist(), arrays.shifts.tolist(), strict=False)
        # by predicate: its rows as a range, and its table in the directory
        self._groups = {
            predicate: (start << 32 | (stop - start), first, shift)
            for predicate, (start, stop, first, shift) in zip(arrays.predicates.tolist(), tables, strict=True)
        }
        self._different: dict[int, int] = {}
        self._groups_of_keys: SortedTriples | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self.arrays.keys.size

    def different(self, predicate: int) -> int:
        """How many different keys a predicate's triples have, or all triples; about, where they are very many."""
        if predicate not in self._different:
            if predicate == ANY:
                found = about_different_everywhere(self.arrays)
            else:
                group = self._groups.get(predicate)
                found = 0 if group is None else about_different(self.arrays.slots, *group[1:])
            self._different[predicate] = found
        return self._different[predicate]

    def range(self, predicate: int, key: int, second: int) -> int:
        """The rows of a predicate that have a key, and a second place, where they are not ANY."""
        group = self._groups.get(predicate)
        if group is None:
            return 0
        rows, first, shift = group
        if key == ANY:
            return int(rows)
        found = find_range(self.arrays.slots, first, shift, key)
        return int(found if second == ANY else narrow_range(self.arrays.seconds, found, second))

    def group(self, predicate: int) -> Group | None:
        """The rows of a predicate as a range, and its table in the directory: where it begins, and its shift."""
        return self._groups.get(predicate)

    def rows(self, predicate: int, found: int) -> Triples:
        """The triples of a predicate's range, without copying them."""
        start, count = found >> 32, found & _COUNT_MASK
        predicates = np.full(min(count, _VIEWED), predicate, np.int64)
        if count > _VIEWED:
            predicates = np.broadcast_to(predicates[0], count)
        return self._triples(
            self.arrays.keys[start : start + count], predicates, self.arrays.seconds[start : start + count]
        )

    def all_rows(self) -> Triples:
        """All triples."""
        predicates = np.repeat(self.arrays.predicates, np.diff(self.arrays.bounds))
        return self._triples(self.arrays.keys, predicates, self.arrays.seconds)

    def count_everywhere(self, key: int, second: int) -> int:
        """How many rows have a key, and a second place where it is not ANY, with any predicate."""
        keys = np.array([key], np.int64)
        _, _, ranges = self.find_everywhere(keys)
        return int(self._narrowed(ranges, _second_terms(second))) if ranges.size else 0

    def match_everywhere(self, key: int) -> Triples:
        """The rows that have a key, with any predicate."""
        arrays = self.arrays
        if len(self._groups) > _MANY_GROUPS:
            return self.probe(ANY, np.array([key], np.int64), ANY)[1]
        keys, seconds, predicates = match_in_every_group(
            arrays.slots, arrays.firsts, arrays.shifts, arrays.seconds, arrays.predicates, key
        )
        return self._triples(keys, predicates, seconds)

    def probe(self, predicates: Ids | int, keys: Ids, seconds: Ids | int) -> tuple[Ids, Triples]:
        """All rows of many keys, with the number of the key, in the order of the keys.

        A second place is ANY, one for all keys or one for each, a predicate too.
        """
        numbers, found, between, others = self._probe(predicates, keys, _second_terms(seconds))
        return numbers, self._triples(found, between, others)

    def probe_predicates(self, predicates: Ids) -> tuple[Ids, Triples]:
        """All rows of many predicates, with the number of the predicate."""
        groups = self.groups_of(predicates)
        bounds = self.arrays.bounds
        ranges = np.append(bounds[:-1] << 32 | np.diff(bounds), 0)[groups]
        numbers, rows = spread_rows(ranges, int((ranges & _COUNT_MASK).sum()))
        return numbers, self._triples(self.arrays.keys[rows], predicates[numbers], self.arrays.seconds[rows])

    def groups_of(self, predicates: Ids) -> Ids:
        """The group of each predicate, -1 where there is none."""
        known = self.arrays.predicates
        if known.size == 0:
            return np.full(predicates.size, -1, np.int64)
        at = np.minimum(np.searchsorted(known, predicates), known.size - 1)
        return np.where(known[at] == predicates, at, -1)

    def _probe(self, predicates: Ids | int, keys: Ids, wanted: Ids) -> Found:
        arrays = self.arrays
        if isinstance(predicates, np.ndarray):
            groups = self.groups_of(predicates)
            ranges, _ = find_grouped_ranges(arrays.slots, arrays.firsts, arrays.shifts, groups, keys)
            total = self._narrowed(ranges, wanted)
            numbers, found, others = spread(ranges, total, keys, arrays.seconds)
            return numbers, found, predicates[numbers], others
        if predicates == ANY:
            return self._probe_everywhere(keys, wanted)
        group = self._groups.get(int(predicates))
        if group is None or not keys.size:
            return _NOTHING, _NOTHING, _NOTHING, _NOTHING
        numbers, found, others, between = probe_keys(
            arrays.slots, *group[1:], arrays.seconds, keys, wanted, int(predicates)
        )
        return numbers, found, between, others

    def _probe_everywhere(self, keys: Ids, wanted: Ids) -> Found:
        """With any predicate."""
        numbers, groups, ranges = self.find_everywhere(keys)
        total = self._narrowed(ranges, wanted[numbers] if wanted.size > 1 else wanted)
        at, found, others = spread(ranges, total, keys[numbers], self.arrays.seconds)
        return numbers[at], found, self.arrays.predicates[groups[at]], others

    def find_everywhere(self, keys: Ids) -> tuple[Ids, Ids, Ids]:
        """The groups in which keys are, and their ranges there, with the number of the key."""
        arrays = self.arrays
        if len(self._groups) <= _MANY_GROUPS:
            everywhere: tuple[Ids, Ids, Ids] = find_in_every_group(arrays.slots, arrays.firsts, arrays.shifts, keys)
            return everywhere
        numbers, found = self._key_groups().probe(_ALWAYS, keys, ANY)
        groups = found.objects - 1
        ranges, _ = find_grouped_ranges(arrays.slots, arrays.firsts, arrays.shifts, groups, found.subjects)
        return numbers, groups, ranges

    def _key_groups(self) -> SortedTriples:
        """The numbers of the groups (from 1) in which a key is, as triples."""
        with self._lock:
            if self._groups_of_keys is None:
                places = np.flatnonzero(self.arrays.slots[::2])
                groups = np.searchsorted(self.arrays.firsts >> 1, places, side="right")
                keys = self.arrays.slots[2 * places]
                order = sort_order(keys, np.full(keys.size, _ALWAYS, np.int64), groups)
                self._groups_of_keys = SortedTriples(order, SUBJECT)
        return self._groups_of_keys

    def _narrowed(self, ranges: Ids, wanted: Ids) -> int:
        """Makes ranges those of the wanted second places; how many rows they have."""
        if wanted.size and ranges.size:
            return int(narrow_ranges(self.arrays.seconds, ranges, wanted))
        return int((ranges & _COUNT_MASK).sum())

    def _triples(self, keys: Ids, predicates: Ids, seconds: Ids) -> Triples:
        return Triples(keys, predicates, seconds) if self.key == SUBJECT else Triples(seconds, predicates, keys)


def _second_terms(seconds: Ids | int) -> Ids:
    """What second places must hold, as kernels take it: nothing, one term for all keys, or one for each."""
    if isinstance(seconds, np.ndarray):
        return np.ascontiguousarray(seconds)
    return _NOTHING if seconds == ANY else np.array([seconds], np.int64)
