"""GROUP BY with aggregates that follow their groups as rows come and go (SPARQL 1.1, 11 and 18.5.1).

With A the aggregate over the rows of a group, and rows dR that come or go at a moment:

    state(R + dR) = state(R) + state(dR)         A(R) = result(state(R))

so that a change costs as much as its rows, whatever the group holds. All moments of a batch are taken at once: the
state of a group is put out after every moment that changed it, and results are made of all these states together.

| moment | rows                   | keys, SUM(?v): came | went                     |
| ------ | ---------------------- | ------------------- | ------------------------ |
| 1      | + (a, 1), + (a, 2.5)   | (a, 3.5)            |                          |
| 2      | + (b, "x")             | (b, error)          |                          |
| 3      | - (a, 2.5), - (b, "x") | (a, 1)              | (a, 3.5) and (b, error)  |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from freshet.algebra.expressions import Aggregate, Expression
from freshet.kernels import layout
from freshet.kernels.direct_call import DirectCall
from freshet.kernels.group_events import (
    COUNT,
    MARK_WIDTH,
    REPORTED,
    RESULTS,
    group_events,
    order_events,
    report_changes,
)
from freshet.native.buffers.accumulators import Accumulator, accumulator_of, longer, never_entered
from freshet.native.buffers.one_way_index import Ids, OneWayIndex, Rows
from freshet.native.change import MomentBatch
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.values import as_kernel_ids

FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")

# More rows at once find their groups by slices, as room is made for a group in every row of one.
_SLICE_ROWS = 1 << 14
_INTEGER = int(layout.pack(layout.INTEGER, 0))
_EVENTS, _REPORT = DirectCall(group_events), DirectCall(report_changes)


class GroupOp:
    """GROUP BY with incremental aggregates. Without keys there is one group, also when it has no rows."""

    def __init__(self, key_count: int, aggregates: Sequence[Aggregate], dictionary: Dictionary) -> None:
        for aggregate in aggregates:
            if aggregate.function not in FUNCTIONS:
                raise UnsupportedError(f"{aggregate.function} is not supported yet by the native engine")
        self._aggregates = tuple(aggregates)
        self._keyless = key_count == 0
        self._opening = self._keyless  # until the row of the only group has come
        self._index = OneWayIndex(key_count)
        self._marks = np.zeros((0, MARK_WIDTH), np.int64)
        self._reported = np.zeros((0, RESULTS + len(self._aggregates)), np.int64)
        self._row_counts: list[int] = []  # which aggregates are COUNT(*)
        self._accumulators: list[tuple[int, Accumulator]] = []  # behind the first aggregate that each serves
        made: dict[tuple[Expression | None, type[Accumulator]], Accumulator] = {}
        for at, aggregate in enumerate(self._aggregates):
            kind = accumulator_of(aggregate)
            if kind is None:
                self._row_counts.append(at)
                continue
            accumulator = made.get((aggregate.operand, kind))
            if accumulator is None:
                accumulator = made[aggregate.operand, kind] = kind(dictionary, self._keyless)
                self._accumulators.append((at, accumulator))
            accumulator.serve(at, aggregate)
        if self._keyless:
            self._index.add(np.empty((1, 0), np.int64))  # counted once, so that it stays
        self._make_room()

    def step(
        self, batch: MomentBatch, keys: Ids, arguments: Sequence[Ids | None], came_at: Ids, went_at: Ids
    ) -> tuple[Ids, int, int]:
        """The rows of groups that come and go in a batch, by the rows that come, and behind them those that go.

        These have keys, and for each aggregate an argument: a column of ids, rows of visible variables for
        COUNT(DISTINCT *), None for COUNT(*). What comes and what goes is put out as matrices that have moments, keys
        and aggregates (0 where one is an error) one below the other, and then how many columns each of them has.
        """
        events, points = self._events(batch, as_kernel_ids(keys), as_kernel_ids(came_at), as_kernel_ids(went_at))
        results = np.empty((len(self._aggregates), len(points)), np.int64)
        for at in self._row_counts:
            np.bitwise_or(points[:, COUNT], _INTEGER, out=results[at])
        for at, accumulator in self._accumulators:
            argument = arguments[at]
            assert argument is not None
            accumulator.run(events, points, as_kernel_ids(argument), results)
        changed: tuple[Ids, int, int] = _REPORT.run(
            self._reported, self._index.arrays.keys, points, results, self._keyless
        )
        return changed

    def rows(self) -> Ids:
        """The keys and the aggregates of all groups whose rows have come and have not gone, one below the other."""
        groups = np.flatnonzero(self._reported[:, REPORTED])
        return np.vstack((self._index.arrays.keys[groups].T, self._reported[groups, RESULTS:].T))

    def _events(self, batch: MomentBatch, keys: Ids, came_at: Ids, went_at: Ids) -> tuple[Rows, Ids]:
        """In what order rows come and go, and where that changes which group."""
        index, opening, due = self._index, self._opening, as_kernel_ids(batch.due)
        if len(keys) <= _SLICE_ROWS:
            index.make_room(len(came_at))
            self._make_room()
            events, points, sound = _EVENTS.run(
                index.arrays, self._marks, keys, came_at, went_at, due, opening, batch.first
            )
        else:
            entries = self._entries(keys, len(came_at))
            self._make_room()
            events, points, sound = order_events(
                index.arrays, self._marks, entries, came_at, went_at, due, opening, batch.first
            )
        if not sound:
            raise never_entered()
        self._opening = False
        return events, points

    def _entries(self, keys: Ids, came: int) -> Rows:
        entries = np.empty(len(keys), np.int32)
        for first in range(0, came, _SLICE_ROWS):
            stop = min(first + _SLICE_ROWS, came)
            entries[first:stop], _ = self._index.add(keys[first:stop])
        entries[came:] = self._index.find(keys[came:])
        return entries

    def _make_room(self) -> None:
        capacity = self._index.capacity
        if capacity > len(self._marks):
            self._marks, self._reported = longer(self._marks, capacity), longer(self._reported, capacity)
            for _, accumulator in self._accumulators:
                accumulator.make_room(capacity)
