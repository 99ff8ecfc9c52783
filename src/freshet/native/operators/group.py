"""GROUP BY with aggregates that follow their groups as rows enter and leave (SPARQL 1.1, 11 and 18.5.1).

With A the aggregate over the rows of a group, and rows dR entering or leaving:

    state(R + dR) = state(R) + state(dR)         A(R) = result(state(R))

so that a change costs as much as its rows, whatever the group holds. Only groups that changed are asked for their
results again.

| rows                  | keys, SUM(?v)         |
| --------------------- | --------------------- |
| + (a, 1), + (a, 2.5)  | (a, 3.5)              |
| + (b, "x")            | (a, 3.5), (b, error)  |
| - (a, 2.5), - (b, "x")| (a, 1)                |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from freshet.algebra.expressions import Aggregate, Expression
from freshet.kernels import layout
from freshet.native.accumulators import BoundCounts, Members, Sums, longer
from freshet.native.one_way_index import Ids, OneWayIndex, Rows
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.values import plain, value_table

FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE")

# A batch goes in by slices, as room is made for a group and a member in every row of one.
_SLICE_ROWS = 1 << 14
_INTEGER = int(layout.pack(layout.INTEGER, 0))


class GroupOp:
    """GROUP BY with incremental aggregates."""

    def __init__(self, key_count: int, aggregates: Sequence[Aggregate], dictionary: Dictionary) -> None:
        for aggregate in aggregates:
            if aggregate.function not in FUNCTIONS:
                raise UnsupportedError(f"{aggregate.function} is not supported yet by the native engine")
            if aggregate.operand is None and aggregate.distinct:
                raise UnsupportedError("COUNT(DISTINCT *) is not supported yet by the native engine")
        self._aggregates = tuple(aggregates)
        self._dictionary = dictionary
        self._groups = OneWayIndex(key_count)
        self._operands: dict[Expression, _Operand] = {}
        self._arguments: list[tuple[_Operand, int]] = []  # each operand once, with the place of its column
        for at, aggregate in enumerate(self._aggregates):
            if aggregate.operand is None:
                continue
            if aggregate.operand not in self._operands:
                self._operands[aggregate.operand] = _Operand()
                self._arguments.append((self._operands[aggregate.operand], at))
            self._operands[aggregate.operand].serve(aggregate)
        self._results = np.zeros((0, len(self._aggregates)), np.int64)
        self._changed = np.zeros(0, np.bool_)
        self._make_room()

    def update(self, keys: Ids, arguments: Sequence[Ids | None], sign: int) -> None:
        """Rows enter (sign 1) or leave (-1), each with its keys and an argument for each aggregate."""
        keys = plain(keys)
        columns = [plain(column) for _, at in self._arguments if (column := arguments[at]) is not None]
        for first in range(0, len(keys), _SLICE_ROWS):
            rows = slice(first, first + _SLICE_ROWS)
            self._update(keys[rows], [column[rows] for column in columns], sign)

    def _update(self, keys: Ids, columns: Sequence[Ids], sign: int) -> None:
        groups, fresh = self._groups.add(keys)
        if sign < 0 and fresh.any():
            raise ValueError("a row leaves a group that it never entered")
        if self._groups.capacity > len(self._changed):
            self._make_room()
        self._changed[groups] = True
        for (operand, _), ids in zip(self._arguments, columns, strict=True):
            operand.update(groups, ids, sign, self._dictionary)
        if sign < 0:  # once for the count just made, once for the row that leaves
            self._groups.release(groups)
            self._groups.release(groups)

    def rows(self) -> tuple[Ids, Ids]:
        """The keys of the groups that have rows, and their aggregates; 0 where one is an error."""
        live = self._groups.live_entries()
        changed = live[self._changed[live]]
        if changed.size:
            for at, aggregate in enumerate(self._aggregates):
                self._results[changed, at] = self._result(aggregate, changed)
            self._changed[changed] = False
        return self._groups.keys[live], self._results[live]

    def held_ids(self) -> Iterator[Ids]:
        """The ids of keys, results and members."""
        live = self._groups.live_entries()
        yield self._groups.keys[live]
        yield self._results[live]
        for operand in self._operands.values():
            if operand.members is not None:
                yield from operand.members.held_ids()

    def _result(self, aggregate: Aggregate, groups: Rows) -> Ids:
        if aggregate.operand is None:
            return _integer_ids(self._groups.arrays.counts[groups].astype(np.int64))
        return self._operands[aggregate.operand].result(aggregate, groups, self._dictionary)

    def _make_room(self) -> None:
        capacity = self._groups.capacity
        self._results = longer(self._results, capacity)
        self._changed = longer(self._changed, capacity)
        for operand in self._operands.values():
            operand.make_room(capacity)


class _Operand:
    """The accumulators that the aggregates over one operand need."""

    def __init__(self) -> None:
        self.counts: BoundCounts | None = None
        self.sums: Sums | None = None
        self.members: Members | None = None
        self.distinct_sums: Sums | None = None

    def serve(self, aggregate: Aggregate) -> None:
        """Keep what this aggregate needs."""
        function, distinct = aggregate.function, aggregate.distinct
        if function == "COUNT" and not distinct:
            self.counts = self.counts or BoundCounts()
        elif function in ("SUM", "AVG") and not distinct:
            self.sums = self.sums or Sums()
        else:
            self.members = self.members or Members()
        if function in ("SUM", "AVG") and distinct:
            self.distinct_sums = self.distinct_sums or Sums()

    def make_room(self, groups: int) -> None:
        for accumulator in (self.counts, self.sums, self.members, self.distinct_sums):
            if accumulator is not None:
                accumulator.make_room(groups)

    def update(self, groups: Rows, ids: Ids, sign: int, dictionary: Dictionary) -> None:
        if self.counts is not None:
            self.counts.update(groups, ids, sign)
        if self.members is not None and sign < 0:
            self.members.leave(groups, ids, self.distinct_sums)
        if self.sums is not None or (self.members is not None and sign > 0):
            values = value_table(dictionary).values(dictionary, ids)
            if self.sums is not None:
                self.sums.update(groups, values, sign)
            if self.members is not None and sign > 0:
                self.members.enter(groups, ids, values, self.distinct_sums)

    def result(self, aggregate: Aggregate, groups: Rows, dictionary: Dictionary) -> Ids:
        function, distinct = aggregate.function, aggregate.distinct
        if function == "COUNT":
            counter = self.members if distinct else self.counts
            assert counter is not None
            return _integer_ids(counter.counts[groups])
        if function in ("SUM", "AVG"):
            sums = self.distinct_sums if distinct else self.sums
            assert sums is not None
            return sums.ids(groups, function == "AVG", dictionary)
        assert self.members is not None
        ids = self.members.end(groups, function == "MAX", dictionary)
        # SAMPLE may take any term; the least is the same whatever order the rows came in
        return ids if function == "SAMPLE" else np.where(self.members.missing(groups), 0, ids)


def _integer_ids(counts: Ids) -> Ids:
    return counts | _INTEGER
