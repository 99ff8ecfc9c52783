"""The state behind aggregates: what is kept of the terms that rows bring into groups, which the caller numbers.

Each accumulator follows one operand and serves every aggregate over it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.groups import SumArrays, add_numbers, count_bound, totals
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
from freshet.kernels.values import NOTHING, Values
from freshet.native.one_way_index import Ids, OneWayIndex, Rows
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
        entries, _ = self._index.add(_pairs(groups, ids))  # for the numbers of the entries
        self._make_entries()
        self._index.release(entries)
        gone = self._index.release(entries)
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
        return np.where(best == NOBODY, 0, self._arrays.ids[best])

    def held_ids(self) -> Iterator[Ids]:
        yield self._index.keys[self._index.live_entries(), 1]

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


def _pairs(groups: Rows, ids: Ids) -> Ids:
    pairs = np.empty((ids.size, 2), np.int64)
    pairs[:, 0] = groups
    pairs[:, 1] = ids
    return pairs
