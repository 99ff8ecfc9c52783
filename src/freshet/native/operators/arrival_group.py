"""Aggregates after every moment of a batch: what each group comes to whenever a moment changed it (algorithm 6).

    state(R + dR) = state(R) + state(dR)         AVG(R) = sum / count of state(R)
    MIN(R): the top of a heap of the group's terms; those that have left are taken off when they come to the top

| moment | rows               | keys, AVG(?v) | keys, MIN(?v) |
| ------ | ------------------ | ------------- | ------------- |
| 1      | + (a, 1)           | (a, 1)        | (a, 1)        |
| 2      | + (a, 4)           | (a, 2.5)      |               |
| 3      | - (a, 1)           | (a, 4)        | (a, 4)        |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from freshet.kernels.groups import totals
from freshet.kernels.index import FREE, USED
from freshet.kernels.running import NOBODY, HeapArrays, entries_of, heaps_rebuild, running_least, running_sums
from freshet.kernels.values import DOUBLE, NOTHING, Values
from freshet.native.accumulators import Sums, longer
from freshet.native.one_way_index import Ids, OneWayIndex, Rows
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.values import value_table


class TimedTerms(NamedTuple):
    """Rows that enter or leave: the keys of their groups, a term each, in order of the moments beside them."""

    keys: Ids
    terms: Ids
    moments: Ids


class GroupNumbers(NamedTuple):
    """What groups come to after moments: keys, numbers (NOTHING where there is none), how many rows, moments."""

    keys: Ids
    numbers: Values
    counts: Ids
    moments: Ids


class _Groups:
    """The groups' numbers, and when each was last touched."""

    def __init__(self, width: int) -> None:
        self.index = OneWayIndex(width)
        self.stamps = np.empty(0, np.int64)

    def number(self, entering: Ids, leaving: Ids) -> tuple[Rows, Rows]:
        """The groups of keys; `stamps` is long enough for them."""
        self.index.make_room(len(entering))
        if len(self.stamps) < self.index.capacity:
            self.stamps = longer(self.stamps, self.index.capacity, -1)
        arrays = self.index.arrays
        return entries_of(arrays, np.ascontiguousarray(entering)), entries_of(arrays, np.ascontiguousarray(leaving))


class ArrivalSumsOp:
    """SUM or AVG of groups after every moment."""

    def __init__(self, width: int, dictionary: Dictionary, *, mean: bool) -> None:
        self._groups = _Groups(width)
        self._sums = Sums()
        self._dictionary = dictionary
        self._mean = mean

    def step(self, entering: TimedTerms, leaving: TimedTerms) -> GroupNumbers:
        """What every group that a moment of the batch changed comes to after it."""
        comes, goes = self._groups.number(entering.keys, leaving.keys)
        index = self._groups.index
        if len(self._sums.arrays.rows) < index.capacity:
            self._sums.make_room(index.capacity)
        table = value_table(self._dictionary)
        groups, moments, counts, after = running_sums(
            index.arrays,
            self._sums.arrays,
            self._groups.stamps,
            comes,
            table.values(self._dictionary, entering.terms),
            entering.moments,
            goes,
            table.values(self._dictionary, leaving.terms),
            leaving.moments,
        )
        numbers = totals(after, np.arange(len(groups), dtype=np.int32), self._mean)
        numbers.kinds[counts == 0] = NOTHING
        return GroupNumbers(index.keys[groups], numbers, counts, moments)


class ArrivalEndOp:
    """MIN or MAX of groups of numbers, whenever it changes. Other terms than numbers are refused."""

    def __init__(self, width: int, dictionary: Dictionary, *, greatest: bool) -> None:
        self._groups = _Groups(width)
        self._members = OneWayIndex(2)
        self._dictionary = dictionary
        self._sign = -1 if greatest else 1
        nothing = np.empty(0, np.int32)
        self._heap = HeapArrays(
            child=nothing,
            sibling=nothing,
            queued=np.empty(0, np.bool_),
            values=Values(*(np.empty(0, dtype) for dtype in (np.uint8, np.int64, np.uint64, np.float64))),
            roots=nothing,
            best=np.empty(0, np.int64),
        )

    def step(self, entering: TimedTerms, leaving: TimedTerms) -> TimedTerms:
        """The keys of groups and their new least (greatest) term at the moments it changed; 0 where none is left."""
        values = value_table(self._dictionary).values(self._dictionary, entering.terms)
        if len(values.kinds) and (values.kinds.min() == NOTHING or values.kinds.max() > DOUBLE):
            raise UnsupportedError("MIN and MAX over batches of arrivals take numbers only")
        comes, goes = self._groups.number(entering.keys, leaving.keys)
        self._make_room(len(entering.moments))
        arrays = self._members.arrays
        groups, ids, moments = running_least(
            self._groups.index.arrays,
            arrays,
            self._heap,
            self._groups.stamps,
            self._sign,
            entries_of(arrays, np.column_stack((comes, entering.terms))),
            values,
            entering.moments,
            entries_of(arrays, np.column_stack((goes, leaving.terms))),
            leaving.moments,
        )
        return TimedTerms(self._groups.index.keys[groups], ids, moments)

    def _make_room(self, more: int) -> None:
        members = self._members
        sizes = members.arrays.sizes
        if int(sizes[USED] - sizes[FREE]) + more > members.capacity:
            heaps_rebuild(members.arrays, self._heap, int(sizes[USED]), self._sign)
            members.make_room(more)
        heap, capacity = self._heap, members.capacity
        if len(heap.child) < capacity:
            self._heap = heap = heap._replace(
                child=longer(heap.child, capacity, NOBODY),
                sibling=longer(heap.sibling, capacity, NOBODY),
                queued=longer(heap.queued, capacity),
                values=Values(*(longer(array, capacity) for array in heap.values)),
            )
        groups = self._groups.index.capacity
        if len(heap.roots) < groups:
            self._heap = heap._replace(roots=longer(heap.roots, groups, NOBODY), best=longer(heap.best, groups))
