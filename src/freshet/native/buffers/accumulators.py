"""The state behind aggregates: what is kept of the terms that rows bring into groups, which the caller numbers.

Each accumulator follows one operand and serves every aggregate over it. It takes a batch of events in order and gives,
for every change point, the ids that its aggregates have then (`freshet.kernels.group_events`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.expressions import Aggregate
from freshet.expressions.aggregates import aggregate as aggregated
from freshet.kernels.direct_call import DirectCall
from freshet.kernels.group_events import POINT
from freshet.kernels.groups import ROWS_WIDTH, SumArrays
from freshet.kernels.members import HALVES, NIL, WORDS, MemberArrays
from freshet.kernels.number_text import enter_numbers
from freshet.kernels.running_aggregates import (
    AVG,
    DISTINCT_COUNT,
    MAX,
    MEMBER_RESULTS,
    MIN,
    SAMPLE,
    SUM,
    pair_entries,
    running_counts,
    running_members,
    running_rows,
    running_totals,
)
from freshet.kernels.sequences import FREE, USED, SequenceArrays, running_sequences
from freshet.native.buffers.aligned import aligned
from freshet.native.buffers.one_way_index import Ids, OneWayIndex, Rows
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import intern_numbers, value_table

Signs = NDArray[np.int8]

# Events are taken in slices where each may need an entry of an index: room is made for as many.
_SLICE = 1 << 14
_FIRST_LISTED = 1 << 16  # terms of GROUP_CONCAT that are put together at once
_SUM_BITS = {"SUM": SUM, "AVG": AVG}
# SAMPLE may take any term; the least is the same whatever order the rows came in.
_MEMBER_ROWS = {"COUNT": DISTINCT_COUNT, "MIN": MIN, "MAX": MAX, "SAMPLE": SAMPLE}
_NO_SIGNS = np.empty(0, np.int8)
_ENTER = DirectCall(enter_numbers)
_COUNTS, _TOTALS, _MEMBERS = DirectCall(running_counts), DirectCall(running_totals), DirectCall(running_members)


def longer(array: NDArray, length: int, fill: int = 0) -> NDArray:  # type: ignore[type-arg]
    """The array with more rows."""
    result = np.full((length, *array.shape[1:]), fill, array.dtype)
    result[: len(array)] = array
    return result


def never_entered() -> ValueError:
    return ValueError("a row leaves a group that it never entered")


class Accumulator(ABC):
    """What is kept for some aggregates over one operand. `keyless` where the only group is there without rows, too."""

    def __init__(self, dictionary: Dictionary, keyless: bool) -> None:
        self._dictionary = dictionary
        self._keyless = keyless
        self._served: list[tuple[int, Aggregate]] = []  # each with its row of the results

    def serve(self, row: int, aggregate: Aggregate) -> None:
        """From the start on, keep what this aggregate needs."""
        self._served.append((row, aggregate))

    @abstractmethod
    def make_room(self, groups: int) -> None:
        """Make room for `groups` groups."""

    @abstractmethod
    def run(self, events: Rows, points: Ids, ids: Ids, results: Ids) -> None:
        """Take the events of a batch, and put the ids of the aggregates at its change points into their rows."""


class BoundCounts(Accumulator):
    """How many rows of each group have a term."""

    def __init__(self, dictionary: Dictionary, keyless: bool) -> None:
        super().__init__(dictionary, keyless)
        self._counts = np.zeros(0, np.int64)

    def make_room(self, groups: int) -> None:
        self._counts = longer(self._counts, groups)

    def run(self, events: Rows, points: Ids, ids: Ids, results: Ids) -> None:
        found = _COUNTS.run(self._counts, events, points, ids)
        for row, _ in self._served:
            results[row] = found


class Sums(Accumulator):
    """SUM and AVG."""

    def __init__(self, dictionary: Dictionary, keyless: bool) -> None:
        super().__init__(dictionary, keyless)
        self._wanted = 0
        self._arrays = SumArrays(
            np.zeros((0, ROWS_WIDTH), np.int64),
            np.zeros((0, 3), np.uint64),
            np.zeros((0, 4), np.float64),
            np.zeros((0, 3), np.int64),
        )

    def serve(self, row: int, aggregate: Aggregate) -> None:
        super().serve(row, aggregate)
        self._wanted |= _SUM_BITS[aggregate.function]

    def make_room(self, groups: int) -> None:
        self._arrays = SumArrays(*(longer(array, groups) for array in self._arrays))

    def run(self, events: Rows, points: Ids, ids: Ids, results: Ids, signs: Signs = _NO_SIGNS) -> None:
        """`signs` says of each event whether its term enters or leaves; without them each does."""
        table = value_table(self._dictionary)
        others = -1
        while others < 0:
            found, numbers, others = _TOTALS.run(
                self._arrays, table.known, events, points, signs, ids, self._wanted, self._keyless
            )
            if others < 0:
                table.values(self._dictionary, ids)
        if others:
            intern_numbers(self._dictionary, numbers.reshape(-1, 4), found.reshape(-1), _ENTER.run)
        for row, aggregate in self._served:
            results[row] = found[0 if aggregate.function == "SUM" else -1]


class DistinctRows(Accumulator):
    """How many distinct rows each group has, for COUNT(DISTINCT *)."""

    def __init__(self, dictionary: Dictionary, keyless: bool) -> None:
        super().__init__(dictionary, keyless)
        self._index: OneWayIndex | None = None  # made when the first rows say how wide they are
        self._counts = np.zeros(0, np.int64)

    def make_room(self, groups: int) -> None:
        self._counts = longer(self._counts, groups)

    def run(self, events: Rows, points: Ids, ids: Ids, results: Ids) -> None:
        if self._index is None:
            self._index = OneWayIndex(1 + ids.shape[1])
        found = np.empty(len(points), np.int64)
        for first in range(0, len(events), _SLICE):
            stop = min(first + _SLICE, len(events))
            self._index.make_room(stop - first)
            if not running_rows(self._index.arrays, self._counts, events, first, stop, ids, found):
                raise never_entered()
        for row, _ in self._served:
            results[row] = found


class Members(Accumulator):
    """The distinct terms of each group with their counters, for MIN, MAX, SAMPLE and DISTINCT."""

    def __init__(self, dictionary: Dictionary, keyless: bool) -> None:
        super().__init__(dictionary, keyless)
        self._least = self._greatest = False  # which ends are asked for
        self._sums: Sums | None = None  # of distinct terms
        self._index = OneWayIndex(2)
        self._arrays = MemberArrays(
            *_member_memory(0),
            counts=np.zeros(0, np.int64),
            missing=np.zeros(0, np.bool_),
            roots=np.zeros((0, 2), np.int32),
        )

    def serve(self, row: int, aggregate: Aggregate) -> None:
        if aggregate.function in _SUM_BITS:
            self._sums = self._sums or Sums(self._dictionary, self._keyless)
            self._sums.serve(row, aggregate)
            return
        super().serve(row, aggregate)
        self._least |= aggregate.function in ("MIN", "SAMPLE")
        self._greatest |= aggregate.function == "MAX"

    def make_room(self, groups: int) -> None:
        arrays = self._arrays
        self._arrays = arrays._replace(
            counts=longer(arrays.counts, groups),
            missing=longer(arrays.missing, groups),
            roots=longer(arrays.roots, groups, NIL),
        )
        if self._sums is not None:
            self._sums.make_room(groups)

    def run(self, events: Rows, points: Ids, ids: Ids, results: Ids) -> None:
        found, signs = np.empty((MEMBER_RESULTS, len(points)), np.int64), np.empty(len(events), np.int8)
        table = value_table(self._dictionary)
        for first in range(0, len(events), _SLICE):
            stop = min(first + _SLICE, len(events))
            self._make_entries(stop - first)
            done = -1
            while done < 0:
                done = _MEMBERS.run(
                    self._index.arrays, self._arrays, table.known, self._dictionary.arrays, events, first, stop,
                    ids, self._least, self._greatest, signs, found,
                )  # fmt: skip
                if done < 0:
                    table.values(self._dictionary, ids)
            if done == 0:
                raise never_entered()
        for row, aggregate in self._served:
            results[row] = found[_MEMBER_ROWS[aggregate.function]]
        if self._sums is not None:
            self._sums.run(events, points, ids, results, signs)

    def _make_entries(self, more: int) -> None:
        self._index.make_room(more)
        if self._index.capacity > len(self._arrays.words):
            words, halves = _member_memory(self._index.capacity)
            words[: len(self._arrays.words)] = self._arrays.words
            self._arrays = self._arrays._replace(words=words, halves=halves)


def _member_memory(entries: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same memory as words and as halves."""
    words = aligned((entries, WORDS), np.int64)
    return words, words.view(np.int32).reshape(entries, HALVES)


class Sequences(Accumulator):
    """The terms of each group in order of arrival, for GROUP_CONCAT."""

    def __init__(self, dictionary: Dictionary, keyless: bool) -> None:
        super().__init__(dictionary, keyless)
        self._index = OneWayIndex(2)
        self._room = _FIRST_LISTED
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
            firsts=longer(arrays.firsts, groups, NIL),
            lasts=longer(arrays.lasts, groups, NIL),
            lengths=longer(arrays.lengths, groups),
        )

    def run(self, events: Rows, points: Ids, ids: Ids, results: Ids) -> None:
        """Of rows with equal terms the oldest leaves.

        The text of a group is put together anew at every change point, as the one-shot evaluator does it: for as many
        change points at a time as `_room` has terms for.
        """
        listed, places = np.empty(self._room, np.int64), np.empty(self._room, np.int64)
        first = done = 0
        while first < len(events):
            stop = min(first + _SLICE, len(events))
            self._make_entries(stop - first)
            index = self._index.arrays
            entries = pair_entries(index, events, first, stop, ids)
            stop, used = running_sequences(index, self._arrays, entries, events, first, stop, ids, listed, places)
            if stop < 0:
                raise never_entered()
            if stop == first:
                self._room *= 2
                listed, places = np.empty(self._room, np.int64), np.empty(self._room, np.int64)
            count = int(np.count_nonzero(events[first:stop, POINT] >= 0))
            if count:
                for row, aggregate in self._served:
                    results[row, done : done + count] = aggregated(
                        aggregate, listed[:used], places[:used] - done, count, self._dictionary
                    )
            first, done = stop, done + count

    def _make_entries(self, more: int) -> None:
        self._index.make_room(more)
        arrays = self._arrays
        if self._index.capacity > len(arrays.oldest):
            oldest, newest = (longer(array, self._index.capacity, NIL) for array in (arrays.oldest, arrays.newest))
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


def accumulator_of(aggregate: Aggregate) -> type[Accumulator] | None:
    """What keeps an aggregate's state; None for COUNT(*), which needs nothing beside the groups."""
    if aggregate.operand is None:
        return DistinctRows if aggregate.distinct else None
    if aggregate.function == "GROUP_CONCAT":
        return Sequences
    if not aggregate.distinct and aggregate.function == "COUNT":
        return BoundCounts
    return Sums if not aggregate.distinct and aggregate.function in _SUM_BITS else Members
