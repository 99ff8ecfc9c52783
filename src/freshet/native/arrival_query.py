"""A query whose windows all move with arrivals, answered a batch at a time with one answer an instant.

It takes queries that are a join of patterns in such windows (and of stored patterns) with FILTER, BIND, projection and
DISTINCT, put out by ISTREAM or DSTREAM: CQELS-QL's, and those over `[COUNT n]` windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import StreamOperator
from freshet.expressions.evaluate import evaluate, test
from freshet.native.arrival_leaf import ArrivalLeaf, ArrivalLeaves, MatchedArrivals
from freshet.native.arrival_source import ArrivalSource
from freshet.native.arrival_window import moves_with_arrivals
from freshet.native.one_way_index import Ids
from freshet.native.operators.arrival_distinct import ArrivalDistinctOp, TimedRows
from freshet.native.operators.arrival_join import ArrivalJoinOp, Timed
from freshet.native.plan import Plan, PlanFilter, RowStep
from freshet.native.r2s.bags import bag_difference
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements


@dataclass(frozen=True, slots=True)
class ArrivalPlan:
    """What is asked for above the leaves."""

    filters: tuple[PlanFilter, ...]
    extends: tuple[RowStep, ...]
    variables: tuple[str, ...]
    distinct: bool
    output: StreamOperator


def arrival_plan(plan: Plan) -> ArrivalPlan | None:
    """What a plan asks for above its leaves; None where it needs more than an `ArrivalQuery` has."""
    in_windows = plan.window_leaves > 0 and all(moves_with_arrivals(window) for window in plan.windows)
    if not in_windows or plan.group is not None or plan.rows or plan.output is StreamOperator.RSTREAM:
        return None
    return ArrivalPlan(plan.filters, plan.extends, plan.variables, plan.distinct, plan.output)


class ArrivalQuery:
    """Give it elements with `receive` and `stored`; `advance` answers for every instant before a watermark."""

    def __init__(self, leaves: Sequence[ArrivalLeaf], plan: ArrivalPlan, dictionary: Dictionary) -> None:
        self._plan = plan
        self._dictionary = dictionary
        self._source = ArrivalSource(leaves)
        self._leaves = ArrivalLeaves(leaves)
        named = {name for leaf in leaves for name in leaf.names}
        self._lossy = not named.issubset(plan.variables)
        self._distinct = ArrivalDistinctOp(len(plan.variables)) if plan.distinct else None
        # A result that is born while an equal one dies is nothing new; only where all variables are put out are no two
        # results equal.
        self._join = ArrivalJoinOp(
            self._leaves, deaths=self._lossy or plan.distinct or plan.output is StreamOperator.DSTREAM
        )
        self._leaf_filters = [
            [f for f in plan.filters if variables_of(f.condition) & f.scope <= set(leaf.names)] for leaf in leaves
        ]
        inside = {id(f) for filters in self._leaf_filters for f in filters}
        self._row_filters = [f for f in plan.filters if id(f) not in inside]

    @property
    def streams(self) -> Sequence[str]:
        """The streams that it reads."""
        return self._source.streams

    def receive(self, stream: str, elements: Elements) -> None:
        """Elements of a stream, none behind the watermark."""
        self._source.receive(stream, elements)

    def stored(self, elements: Elements) -> None:
        """Triples of the stored graph with the times from which they are there."""
        self._source.stored(elements)

    def advance(self, watermark_ms: int) -> TimedRows:
        """What the instants before the watermark put out: rows, with the time of each, in order of time."""
        arrived = self._source.take(watermark_ms)
        if arrived is None:
            return TimedRows(np.empty((0, len(self._plan.variables)), np.int64), np.empty(0, np.int64))
        self._leaves.step(self._filtered(arrived), self._source.first)
        born, died = self._join.step(self._source.first, len(self._source.instants))
        came, went = self._solutions(born), self._solutions(died)
        self._leaves.end_step()
        if self._distinct is not None:
            came, went = self._distinct.step(came, went)
        if self._plan.output is StreamOperator.DSTREAM:
            came, went = went, came
        if self._lossy and self._distinct is None:
            came = _less(came, went)
        return TimedRows(came.rows, self._source.times(came.moments))

    def _filtered(self, arrived: MatchedArrivals) -> MatchedArrivals:
        """Without the arrivals that no filter of their leaf lets through."""
        keep = None
        for at, (leaf, filters) in enumerate(zip(self._leaves.leaves, self._leaf_filters, strict=True)):
            first, end = arrived.ends[at], arrived.ends[at + 1]
            for filter_ in filters if end > first else ():
                columns = {
                    name: np.ascontiguousarray(arrived.keys[first:end, 1 + column])
                    for column, name in enumerate(leaf.names)
                    if name in filter_.scope
                }
                keep = np.ones(len(arrived.keys), np.bool_) if keep is None else keep
                keep[first:end] &= test(filter_.condition, columns, int(end - first), self._dictionary)
        if keep is None or keep.all():
            return arrived
        ends = np.concatenate(([0], np.cumsum(keep)))[arrived.ends]
        return MatchedArrivals(arrived.keys[keep], arrived.moments[keep], arrived.places[keep], ends, arrived.starts)

    def _solutions(self, results: Timed) -> TimedRows:
        """Results of the join, filtered, extended and projected."""
        moments = results.moments
        steps = (*self._row_filters, *self._plan.extends)
        names = set(self._plan.variables)
        for step in steps:
            names |= variables_of(step.condition if isinstance(step, PlanFilter) else step.expression)
        columns = self._join.columns(results.pointers, names)
        for step in steps:
            if isinstance(step, PlanFilter):
                seen = {name: column for name, column in columns.items() if name in step.scope}
                keep = test(step.condition, seen, len(moments), self._dictionary)
                columns = {name: column[keep] for name, column in columns.items()}
                moments = moments[keep]
            else:
                columns[step.variable] = evaluate(step.expression, columns, len(moments), self._dictionary)
        rows = np.zeros((len(moments), len(self._plan.variables)), np.int64)
        for at, name in enumerate(self._plan.variables):
            if name in columns:
                rows[:, at] = columns[name]
        return TimedRows(rows, moments)


def by_time(solutions: TimedRows) -> Iterator[tuple[int, Ids]]:
    """The rows of each time, in order of time."""
    times = solutions.moments
    cuts = np.flatnonzero(times[1:] != times[:-1]) + 1
    for first, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(times)], strict=True):
        if end > first:
            yield int(times[first]), solutions.rows[first:end]


def _less(rows: TimedRows, others: TimedRows) -> TimedRows:
    """The bag difference at every moment."""
    if len(others.moments) == 0 or len(rows.moments) == 0:
        return rows
    left = bag_difference(*(np.column_stack((part.moments, part.rows)) for part in (rows, others)))
    return TimedRows(left[:, 1:], left[:, 0])
