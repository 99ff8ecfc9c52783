"""GROUP BY with aggregates that follow their groups as rows enter and leave (SPARQL 1.1, 11 and 18.5.1).

With A the aggregate over the rows of a group, and rows dR entering or leaving:

    state(R + dR) = state(R) + state(dR)         A(R) = result(state(R))

so that a change costs as much as its rows, whatever the group holds. Only groups that changed are asked for their
results again.

| rows                  | keys, SUM(?v)         | changed: went, came                   |
| --------------------- | --------------------- | ------------------------------------- |
| + (a, 1), + (a, 2.5)  | (a, 3.5)              | -, (a, 3.5)                           |
| + (b, "x")            | (a, 3.5), (b, error)  | -, (b, error)                         |
| - (a, 2.5), - (b, "x")| (a, 1)                | (a, 3.5) and (b, error), (a, 1)       |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from freshet.algebra.expressions import Aggregate, Expression
from freshet.expressions.aggregates import aggregate as aggregated
from freshet.kernels import layout
from freshet.kernels.groups import ToldArrays, mark_stale, refreshed, tell, touch
from freshet.kernels.heaps import GREATEST, LEAST
from freshet.native.accumulators import BoundCounts, DistinctRows, Members, Sequences, Sums, entries_of, longer
from freshet.native.one_way_index import Ids, OneWayIndex, Rows
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.values import as_kernel_ids, value_table

FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")

# A batch goes in by slices, as room is made for a group and a member in every row of one.
_SLICE_ROWS = 1 << 14
# SAMPLE may take any term; the least is the same whatever order the rows came in.
_FIRSTS = {"MIN": LEAST, "MAX": GREATEST, "SAMPLE": LEAST}
_INTEGER = int(layout.pack(layout.INTEGER, 0))


class GroupOp:
    """GROUP BY with incremental aggregates. Without keys there is one group, also when it has no rows.

    Rows of groups are told in full by `rows`, or by `changed` as those that went and came since it was last called.
    From its first call on, a group that was told of keeps its number until it has been told that the group went: it is
    counted once more than it has rows, which is what `ToldArrays.held` says.
    """

    def __init__(self, key_count: int, aggregates: Sequence[Aggregate], dictionary: Dictionary) -> None:
        for aggregate in aggregates:
            if aggregate.function not in FUNCTIONS:
                raise UnsupportedError(f"{aggregate.function} is not supported yet by the native engine")
        self._aggregates = tuple(aggregates)
        self._dictionary = dictionary
        self._groups = OneWayIndex(key_count)
        self._keyless = key_count == 0
        self._operands: dict[Expression | None, _Operand] = {}
        self._arguments: list[tuple[_Operand, int]] = []  # each operand once, with the place of its column
        for at, aggregate in enumerate(self._aggregates):
            if aggregate.operand is None and not aggregate.distinct:
                continue
            if aggregate.operand not in self._operands:
                self._operands[aggregate.operand] = _Operand()
                self._arguments.append((self._operands[aggregate.operand], at))
            self._operands[aggregate.operand].serve(aggregate, dictionary)
        results, marks = np.zeros((0, len(self._aggregates)), np.int64), np.zeros(0, np.bool_)
        self._told = ToldArrays(results, results, *[marks] * 4)
        self._touched: list[Rows] | None = None  # None until `changed` is called for the first time
        self._nothing = (np.empty((0, key_count), np.int64), results) * 2
        self._make_room()
        if self._keyless:
            only, _ = self._groups.add(np.empty((1, 0), np.int64))
            self._told.held[only] = self._told.stale[only] = True

    def update(self, keys: Ids, arguments: Sequence[Ids | None], sign: int) -> None:
        """Rows enter (sign 1) or leave (-1), each with its keys and an argument for each aggregate.

        An argument is a column of ids; for COUNT(DISTINCT *) it has a column for each visible variable. A row enters
        before it leaves.
        """
        keys = as_kernel_ids(keys)
        columns = [as_kernel_ids(column) for _, at in self._arguments if (column := arguments[at]) is not None]
        for first in range(0, len(keys), _SLICE_ROWS):
            rows = slice(first, first + _SLICE_ROWS)
            self._update(keys[rows], [column[rows] for column in columns], sign)

    def _update(self, keys: Ids, columns: Sequence[Ids], sign: int) -> None:
        if sign > 0:
            groups, _ = self._groups.add(keys)
            if self._groups.capacity > len(self._told.stale):
                self._make_room()
        else:
            groups = entries_of(self._groups, keys)
        if self._touched is None:
            mark_stale(self._told, groups)
        else:
            self._touched.append(touch(self._told, self._groups.arrays.counts, groups))
        for (operand, _), ids in zip(self._arguments, columns, strict=True):
            operand.update(groups, ids, sign, self._dictionary)
        if sign < 0:
            self._groups.release(groups)
            if self._row_counts(groups).min() < 0:
                raise ValueError("a row leaves a group that it never entered")

    def rows(self) -> tuple[Ids, Ids]:
        """The keys of all groups, and their aggregates; 0 where one is an error."""
        groups = self._groups.live_entries()
        if not self._keyless:
            groups = groups[self._row_counts(groups) > 0]
        self._refresh(groups)
        return self._groups.keys[groups], self._told.results[groups]

    def changed(self) -> tuple[Ids, Ids, Ids, Ids]:
        """Keys and aggregates of the groups' rows that went, and of those that came, since the last call."""
        counts, told = self._groups.arrays.counts, self._told
        if self._touched is None:
            self._touched = [touch(told, counts, self._groups.live_entries())]
        if not self._touched:
            return self._nothing
        groups = self._touched[0] if len(self._touched) == 1 else np.concatenate(self._touched)
        self._touched = []
        self._refresh(groups)
        went, came, loose = tell(told, counts, groups, self._keyless)
        keys, results = self._groups.keys, told.results[came]
        changes = keys[went], told.told_results[went], keys[came], results
        told.told_results[came] = results
        if len(loose):
            self._groups.release(loose)
        return changes

    def _row_counts(self, groups: Rows) -> Ids:
        counts: Ids = self._groups.arrays.counts[groups].astype(np.int64) - self._told.held[groups]
        return counts

    def _refresh(self, groups: Rows) -> None:
        """Bring the results of groups up to date."""
        stale = refreshed(self._told, self._groups.arrays.counts, groups, self._keyless)
        if stale.size:
            for at, aggregate in enumerate(self._aggregates):
                self._told.results[stale, at] = self._result(aggregate, stale)

    def _result(self, aggregate: Aggregate, groups: Rows) -> Ids:
        if aggregate.operand is None and not aggregate.distinct:
            return _integer_ids(self._row_counts(groups))
        return self._operands[aggregate.operand].result(aggregate, groups, self._dictionary)

    def _make_room(self) -> None:
        capacity = self._groups.capacity
        self._told = ToldArrays(*(longer(array, capacity) for array in self._told))
        for operand in self._operands.values():
            operand.make_room(capacity)


class _Operand:
    """The accumulators that the aggregates over one operand need; COUNT(DISTINCT *) has whole rows for operand."""

    def __init__(self) -> None:
        self.counts: BoundCounts | None = None
        self.sums: Sums | None = None
        self.members: Members | None = None
        self.distinct_sums: Sums | None = None
        self.distinct_rows: DistinctRows | None = None
        self.sequences: Sequences | None = None

    def serve(self, aggregate: Aggregate, dictionary: Dictionary) -> None:
        """Keep what this aggregate needs."""
        function, distinct = aggregate.function, aggregate.distinct
        if aggregate.operand is None:
            self.distinct_rows = self.distinct_rows or DistinctRows()
        elif function == "GROUP_CONCAT":
            self.sequences = self.sequences or Sequences()
        elif function == "COUNT" and not distinct:
            self.counts = self.counts or BoundCounts()
        elif function in ("SUM", "AVG") and not distinct:
            self.sums = self.sums or Sums()
        else:
            self.members = self.members or Members(dictionary)
        if self.members is not None and function in _FIRSTS:
            self.members.keep_first(_FIRSTS[function])
        if function in ("SUM", "AVG") and distinct:
            self.distinct_sums = self.distinct_sums or Sums()

    def make_room(self, groups: int) -> None:
        for accumulator in (
            self.counts, self.sums, self.members, self.distinct_sums, self.distinct_rows, self.sequences,
        ):  # fmt: skip
            if accumulator is not None:
                accumulator.make_room(groups)

    def update(self, groups: Rows, ids: Ids, sign: int, dictionary: Dictionary) -> None:
        for accumulator in (self.counts, self.distinct_rows, self.sequences):
            if accumulator is not None:
                accumulator.update(groups, ids, sign)
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
            counter = self.distinct_rows or (self.members if distinct else self.counts)
            assert counter is not None
            return _integer_ids(counter.counts[groups])
        if function in ("SUM", "AVG"):
            sums = self.distinct_sums if distinct else self.sums
            assert sums is not None
            return sums.ids(groups, function == "AVG", dictionary)
        if function == "GROUP_CONCAT":  # put together as the one-shot evaluator does it, out of what is in the groups
            assert self.sequences is not None
            return aggregated(aggregate, *self.sequences.listed(groups), len(groups), dictionary)
        assert self.members is not None
        ids = self.members.first(groups, _FIRSTS[function])
        return ids if function == "SAMPLE" else np.where(self.members.missing(groups), 0, ids)


def _integer_ids(counts: Ids) -> Ids:
    return counts | _INTEGER
