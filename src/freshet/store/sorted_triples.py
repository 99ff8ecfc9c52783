"""Triples in one sorted order, and the directory that finds the rows of a key in it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from freshet.kernels.sorted_triples import (
    count_keys,
    find_grouped_ranges,
    find_range,
    find_ranges,
    narrow_range,
    narrow_ranges,
    probe_keys,
    spread,
    spread_rows,
)
from freshet.rdf.triples import ANY, Ids, Triples
from freshet.store.directory import make_directory
from freshet.store.ranks import RankedTriples

PREDICATE = 1
_COUNT_MASK = 0xFFFFFFFF
_NOTHING = np.empty(0, np.int64)


class SortedTriples:
    """Triples sorted by group, key and second place.

    The groups are the predicates; or there is one group of all triples, sorted by key, second place and predicate.
    A range is `start << 32 | count`, 0 for no rows.
    """

    def __init__(self, ranked: RankedTriples, key: int, second: int, *, grouped: bool) -> None:
        places = (PREDICATE, key, second) if grouped else (key, second, PREDICATE)
        self.triples = ranked.sorted_by(*places)
        self._keys, self._seconds = self.triples[key], self.triples[second]
        self._groups: dict[int, int] | None = None
        bounds = np.array([0, len(ranked)], np.int64)
        if grouped:
            predicates = self.triples.predicates
            starts = np.flatnonzero(np.diff(predicates, prepend=0))
            bounds = np.append(starts, len(ranked))
            self._groups = {int(predicate): group for group, predicate in enumerate(predicates[starts])}
        self._ranges: list[int] = [start << 32 | (stop - start) for start, stop in pairwise(bounds.tolist())]
        self._different: list[int] = count_keys(self._keys, bounds).tolist()
        self._slots, self._firsts, self._shifts = make_directory(self._keys, bounds)
        self._tables = list(zip(self._firsts.tolist(), self._shifts.tolist(), strict=True))

    def different(self, predicate: int) -> int:
        """How many different keys a predicate's triples have."""
        group = self._group(predicate)
        return 0 if group < 0 else self._different[group]

    def range(self, predicate: int, key: int, second: int) -> int:
        """The rows that have a key, and a second place, where they are not ANY."""
        group = self._group(predicate)
        if group < 0:
            return 0
        if key == ANY:
            return self._ranges[group]
        found = find_range(self._slots, *self._tables[group], key)
        return int(found if second == ANY else narrow_range(self._seconds, found, second))

    def rows(self, found: int) -> Triples:
        """The triples of a range, without copying them."""
        start = found >> 32
        rows = slice(start, start + (found & _COUNT_MASK))
        subjects, predicates, objects = self.triples
        return Triples(subjects[rows], predicates[rows], objects[rows])

    def probe(self, predicates: Ids | int, keys: Ids, seconds: Ids | int) -> tuple[Ids, Ids, Ids, Ids]:
        """All rows of many keys: the numbers of the keys, then the columns of keys, of second places, of predicates."""
        wanted = _NOTHING
        if isinstance(seconds, np.ndarray):
            wanted = np.ascontiguousarray(seconds)
        elif seconds != ANY:
            wanted = np.array([seconds], np.int64)
        if isinstance(predicates, np.ndarray):
            return self._probe_groups(predicates, keys, wanted)
        group = self._group(predicates)
        if group < 0 or not keys.size:
            return _NOTHING, _NOTHING, _NOTHING, _NOTHING
        if self._groups is None:
            return self._probe_all(keys, wanted)
        columns: tuple[Ids, Ids, Ids, Ids] = probe_keys(
            self._slots, *self._tables[group], self._seconds, keys, wanted, predicates
        )
        return columns

    def _probe_groups(self, predicates: Ids, keys: Ids, wanted: Ids) -> tuple[Ids, Ids, Ids, Ids]:
        """Each key with a predicate of its own."""
        groups = self._groups_of(predicates)
        ranges, total = find_grouped_ranges(self._slots, self._firsts, self._shifts, groups, keys)
        if wanted.size and total:
            total = narrow_ranges(self._seconds, ranges, wanted)
        numbers, keys_out, seconds_out = spread(ranges, total, keys, self._seconds)
        return numbers, keys_out, seconds_out, predicates[numbers]

    def _probe_all(self, keys: Ids, wanted: Ids) -> tuple[Ids, Ids, Ids, Ids]:
        """Whatever the predicate, where there are no groups."""
        ranges, total = find_ranges(self._slots, *self._tables[0], keys)
        if wanted.size and total:
            total = narrow_ranges(self._seconds, ranges, wanted)
        numbers, rows = spread_rows(ranges, total)
        return numbers, keys[numbers], self._seconds[rows], self.triples.predicates[rows]

    def probe_predicates(self, predicates: Ids) -> tuple[Ids, Triples]:
        """All rows of many predicates, with the number of the predicate."""
        groups = self._groups_of(predicates)
        ranges = np.where(groups >= 0, np.array([*self._ranges, 0], np.int64)[groups], 0)
        numbers, rows = spread_rows(ranges, int((ranges & _COUNT_MASK).sum()))
        return numbers, Triples(*(column[rows] for column in self.triples))

    def _group(self, predicate: int) -> int:
        if self._groups is None:
            return 0
        return self._groups.get(predicate, -1)

    def _groups_of(self, predicates: Ids) -> Ids:
        """The group of each predicate, -1 where there is none."""
        groups = self._groups or {}
        known = np.array([*groups], np.int64)  # in order, as the groups are
        if known.size == 0:
            return np.full(predicates.size, -1, np.int64)
        at = np.minimum(np.searchsorted(known, predicates), known.size - 1)
        return np.where(known[at] == predicates, at, -1)
