"""The state behind aggregates: what is kept of the terms that rows bring into groups, which the caller numbers.

Each accumulator follows one operand and serves every aggregate over it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.groups import SumArrays, add_numbers, count_bound, count_rows, totals
from freshet.kernels.members import (
    GREATEST,
    LEAST,
    NOBODY,
    MemberArrays,
    admit,
    chains,
    dismiss,
    settle,
    settle_texts,
)
from freshet.kernels.sequences import FREE, USED, SequenceArrays, append_terms, listed_terms, remove_terms
from freshet.kernels.values import NOTHING, Values
from freshet.native.one_way_index import Ids, Mask, OneWayIndex, Rows
from freshet.rdf.arrow import key_ranges
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import number_ids


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
        entries, fresh = self._index.add(keys)
        if sign > 0:
            count_rows(self.counts, groups[fresh], 1)
        else:
            gone = _taken_out(self._index, entries, fresh)
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
        entries, fresh = self._index.add(_pairs(groups, ids))
        self._make_entries(ids.size)
        if sign > 0:
            append_terms(self._arrays, entries, fresh, groups, ids)
        else:
            _taken_out(self._index, entries, fresh)
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

    def __init__(self) -> None:
        self._index = OneWayIndex(2)
        self._arrays = MemberArrays(
            ids=np.zeros(0, np.int64),
            values=Values(
                np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.float64)
            ),
            older=np.zeros(0, np.int32),
            newer=np.zeros(0, np.int32),
            heads=np.zeros(0, np.int32),
            counts=np.zeros(0, np.int64),
            missing=np.zeros(0, np.int64),
            ends=np.zeros((0, 2), np.int32),
        )

    def make_room(self, groups: int) -> None:
        arrays = self._arrays
        self._arrays = arrays._replace(
            heads=longer(arrays.heads, groups, NOBODY),
            counts=longer(arrays.counts, groups),
            missing=longer(arrays.missing, groups),
            ends=longer(arrays.ends, groups, NOBODY),
        )

    @property
    def counts(self) -> Ids:
        """How many distinct terms each group has."""
        return np.asarray(self._arrays.counts)

    def enter(self, groups: Rows, ids: Ids, values: Values, sums: Sums | None) -> None:
        """Rows enter. What is new in its group is added to the sums of distinct terms."""
        entries, fresh = self._index.add(_pairs(groups, ids))
        self._make_entries()
        admit(self._arrays, entries, fresh, groups, ids, values)
        if sums is not None:
            sums.update(groups[fresh], Values(*(array[fresh] for array in values)), 1)

    def leave(self, groups: Rows, ids: Ids, sums: Sums | None) -> None:
        """Rows leave. What its group has no longer is taken from the sums of distinct terms."""
        entries, fresh = self._index.add(_pairs(groups, ids))
        self._make_entries()
        gone = _taken_out(self._index, entries, fresh)
        pairs = self._index.keys
        dismiss(self._arrays, gone, pairs)
        if sums is not None:
            values = Values(*(array[gone] for array in self._arrays.values))
            values.kinds[pairs[gone, 1] == 0] = NOTHING
            sums.update(pairs[gone, 0].astype(np.int32), values, -1)

    def end(self, groups: Rows, greatest: bool, dictionary: Dictionary) -> Ids:
        """The least or greatest term of each group, 0 where there is none."""
        column = GREATEST if greatest else LEAST
        by_text = settle(self._arrays, groups, column)
        if by_text.size:
            entries = chains(self._arrays, by_text)
            keys = key_ranges(dictionary.keys(self._arrays.ids[entries]))
            settle_texts(self._arrays, by_text, column, entries, *keys)
        best = self._arrays.ends[groups, column]
        found = np.zeros(groups.size, np.int64)
        there = best != NOBODY
        found[there] = self._arrays.ids[best[there]]
        return found

    def missing(self, groups: Rows) -> NDArray[np.bool_]:
        """Where a row of the group has no term."""
        return np.asarray(self._arrays.missing[groups] != 0)

    def _make_entries(self) -> None:
        capacity = self._index.capacity
        arrays = self._arrays
        if capacity > len(arrays.ids):
            self._arrays = arrays._replace(
                ids=longer(arrays.ids, capacity),
                values=Values(*(longer(array, capacity) for array in arrays.values)),
                older=longer(arrays.older, capacity, NOBODY),
                newer=longer(arrays.newer, capacity, NOBODY),
            )


def _taken_out(index: OneWayIndex, entries: Rows, fresh: Mask) -> Rows:
    """Count down what was counted up only to find its entries; gives the entries that count nothing any more."""
    if fresh.any():
        raise ValueError("a row leaves a group that it never entered")
    index.release(entries)
    return index.release(entries)


def _pairs(groups: Rows, ids: Ids) -> Ids:
    pairs = np.empty((ids.size, 2), np.int64)
    pairs[:, 0] = groups
    pairs[:, 1] = ids
    return pairs
