"""The state behind aggregates: what is kept of the terms that rows bring into groups, which the caller numbers.

Each accumulator follows one operand and serves every aggregate over it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.groups import SumArrays, add_numbers, count_bound, count_rows, totals
from freshet.kernels.heaps import HeapArrays, heap_add, heap_remove
from freshet.kernels.members import NOBODY, MemberArrays, admit, dismiss
from freshet.kernels.sequences import FREE, USED, SequenceArrays, append_terms, listed_terms, remove_terms
from freshet.kernels.values import Values
from freshet.native.one_way_index import Ids, Mask, OneWayIndex, Rows
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import number_ids, value_table


def longer(array: NDArray, length: int, fill: int = 0) -> NDArray:  # type: ignore[type-arg]
    """The array with more rows."""
    result = np.full((length, *array.shape[1:]), fill, array.dtype)
    result[: len(array)] = array
    return result


class BoundCounts:
    """How many rows of each group have a term."""

    def __init__(self) -> None:
        self.counts = np.zeros(0, np.int64)

    def make_room(self, groups: int) -> None:
        self.counts = longer(self.counts, groups)

    def update(self, groups: Rows, ids: Ids, sign: int) -> None:
        count_bound(self.counts, groups, ids, sign)


class Sums:
    """What SUM and AVG need."""

    def __init__(self) -> None:
        self.arrays = SumArrays(
            np.zeros((0, 5), np.int64),
            np.zeros((0, 3), np.uint64),
            np.zeros((0, 4), np.float64),
            np.zeros((0, 3), np.int64),
        )

    def make_room(self, groups: int) -> None:
        self.arrays = SumArrays(*(longer(array, groups) for array in self.arrays))

    def update(self, groups: Rows, values: Values, sign: int) -> None:
        add_numbers(self.arrays, groups, values, sign)

    def ids(self, groups: Rows, mean: bool, dictionary: Dictionary) -> Ids:
        return number_ids(dictionary, totals(self.arrays, groups, mean))


class DistinctRows:
    """How many distinct rows each group has, for COUNT(DISTINCT *)."""

    def __init__(self) -> None:
        self._index: OneWayIndex | None = None  # made when the first rows say how wide they are
        self.counts = np.zeros(0, np.int64)

    def make_room(self, groups: int) -> None:
        self.counts = longer(self.counts, groups)

    def update(self, groups: Rows, rows: Ids, sign: int) -> None:
        """Whole rows enter (sign 1) or leave (-1)."""
        keys = np.empty((len(rows), 1 + rows.shape[1]), np.int64)
        keys[:, 0] = groups
        keys[:, 1:] = rows
        if self._index is None:
            self._index = OneWayIndex(keys.shape[1])
        if sign > 0:
            _, fresh = self._index.add(keys)
            count_rows(self.counts, groups[fresh], 1)
        else:
            gone = self._index.release(entries_of(self._index, keys))
            count_rows(self.counts, self._index.keys[gone, 0].astype(np.int32), -1)


class Sequences:
    """The terms of each group in order of arrival, for GROUP_CONCAT."""

    def __init__(self) -> None:
        self._index = OneWayIndex(2)
        numbers, nothing = np.zeros(0, np.int64), np.zeros(0, np.int32)
        self._arrays = SequenceArrays(
            ids=numbers,
            previous=nothing,
            following=nothing,
            again=nothing,
            free=nothing,
            oldest=nothing,
            newest=nothing,
            firsts=nothing,
            lasts=nothing,
            lengths=numbers,
            sizes=np.zeros(2, np.int64),
        )

    def make_room(self, groups: int) -> None:
        arrays = self._arrays
        self._arrays = arrays._replace(
            firsts=longer(arrays.firsts, groups, NOBODY),
            lasts=longer(arrays.lasts, groups, NOBODY),
            lengths=longer(arrays.lengths, groups),
        )

    def update(self, groups: Rows, ids: Ids, sign: int) -> None:
        """Rows enter (sign 1) or leave (-1); of rows with equal terms the oldest leaves."""
        pairs = _pairs(groups, ids)
        if sign > 0:
            entries, fresh = self._index.add(pairs)
            self._make_entries(ids.size)
            append_terms(self._arrays, entries, fresh, groups, ids)
        else:
            entries = entries_of(self._index, pairs)
            self._index.release(entries)
            remove_terms(self._arrays, entries, groups)

    def listed(self, groups: Rows) -> tuple[Ids, Ids]:
        """The terms of some groups in order, and for each the place of its group among these."""
        ids, places = listed_terms(self._arrays, groups)
        return ids, places

    def _make_entries(self, more: int) -> None:
        arrays = self._arrays
        if self._index.capacity > len(arrays.oldest):
            oldest, newest = (longer(array, self._index.capacity) for array in (arrays.oldest, arrays.newest))
            arrays = arrays._replace(oldest=oldest, newest=newest)
        needed = int(arrays.sizes[USED] - arrays.sizes[FREE]) + more
        if needed > len(arrays.ids):
            slots = max(needed, 2 * len(arrays.ids))
            arrays = arrays._replace(
                ids=longer(arrays.ids, slots),
                previous=longer(arrays.previous, slots),
                following=longer(arrays.following, slots),
                again=longer(arrays.again, slots),
                free=longer(arrays.free, slots),
            )
        self._arrays = arrays


class Members:
    """The distinct terms of each group with their counters, for MIN, MAX, SAMPLE and DISTINCT."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._index = OneWayIndex(2)
        self._arrays = MemberArrays(
            ids=np.zeros(0, np.int64),
            order=np.zeros((0, 4), np.int64),
            counts=np.zeros(0, np.int64),
            missing=np.zeros(0, np.int64),
        )
        self._heaps: dict[int, HeapArrays] = {}  # by LEAST and GREATEST, those that are asked for

    def keep_first(self, first: int) -> None:
        """From the start on, know the LEAST or GREATEST of each group."""
        self._heaps.setdefault(first, HeapArrays(np.zeros((0, 3), np.int32), np.zeros(0, np.int32)))

    def make_room(self, groups: int) -> None:
        arrays = self._arrays
        self._arrays = arrays._replace(counts=longer(arrays.counts, groups), missing=longer(arrays.missing, groups))
        for first, heap in self._heaps.items():
            self._heaps[first] = heap._replace(roots=longer(heap.roots, groups, NOBODY))

    @property
    def counts(self) -> Ids:
        """How many distinct terms each group has."""
        return np.asarray(self._arrays.counts)

    def enter(self, groups: Rows, ids: Ids, values: Values, sums: Sums | None) -> None:
        """Rows enter. What is new in its group is added to the sums of distinct terms."""
        entries, fresh = self._index.add(_pairs(groups, ids))
        self._make_entries()
        joined, joined_groups = admit(self._arrays, entries, fresh, groups, ids, values)
        for first, heap in self._heaps.items():
            heap_add(heap, self._arrays, self._dictionary.arrays, first, joined, joined_groups)
        if sums is not None:
            sums.update(groups[fresh], Values(*(array[fresh] for array in values)), 1)

    def leave(self, groups: Rows, ids: Ids, sums: Sums | None) -> None:
        """Rows leave. What its group has no longer is taken from the sums of distinct terms."""
        gone = self._index.release(entries_of(self._index, _pairs(groups, ids)))
        pairs = self._index.keys
        dismiss(self._arrays, gone, pairs)
        for first, heap in self._heaps.items():
            heap_remove(heap, self._arrays, self._dictionary.arrays, first, gone, pairs)
        if sums is not None:
            left_groups, left_ids = pairs[gone, 0].astype(np.int32), pairs[gone, 1]
            sums.update(left_groups, value_table(self._dictionary).values(self._dictionary, left_ids), -1)

    def first(self, groups: Rows, first: int) -> Ids:
        """The LEAST or GREATEST term of each group, 0 where there is none."""
        entries = self._heaps[first].roots[groups]
        found = np.zeros(groups.size, np.int64)
        there = entries != NOBODY
        found[there] = self._arrays.ids[entries[there]]
        return found

    def missing(self, groups: Rows) -> Mask:
        """Where a row of the group has no term."""
        return np.asarray(self._arrays.missing[groups] != 0)

    def _make_entries(self) -> None:
        capacity, arrays = self._index.capacity, self._arrays
        if capacity > len(arrays.ids):
            self._arrays = arrays._replace(ids=longer(arrays.ids, capacity), order=longer(arrays.order, capacity))
            for first, heap in self._heaps.items():
                self._heaps[first] = heap._replace(links=longer(heap.links, capacity))


def entries_of(index: OneWayIndex, keys: Ids) -> Rows:
    """The entries of keys that leave, all of which must have entered."""
    entries = index.find(keys)
    if entries.size and entries.min() < 0:
        raise ValueError("a row leaves a group that it never entered")
    return entries


def _pairs(groups: Rows, ids: Ids) -> Ids:
    pairs = np.empty((ids.size, 2), np.int64)
    pairs[:, 0] = groups
    pairs[:, 1] = ids
    return pairs
