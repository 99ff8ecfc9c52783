"""A query whose windows all move with arrivals, answered a batch at a time with one answer an instant.

It takes queries that are a join of patterns in such windows (and of stored patterns) with FILTER, BIND, projection and
DISTINCT, put out by ISTREAM or DSTREAM: CQELS-QL's, and those over `[COUNT n]` windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import StreamOperator
from freshet.expressions.evaluate import evaluate
from freshet.native.arrival_leaf import ArrivalLeaf, ArrivalLeaves
from freshet.native.arrival_plan import ArrivalPlan, Computed
from freshet.native.arrival_source import NOTHING_OUT, ArrivalSource, Ready
from freshet.native.conditions import Condition
from freshet.native.one_way_index import Ids, Mask
from freshet.native.operators.arrival_distinct import ArrivalDistinctOp
from freshet.native.operators.arrival_join import ArrivalJoinOp
from freshet.native.plan import PlanCondition
from freshet.native.r2s.bags import bag_difference
from freshet.native.s2r.waiting import ELEMENT_BYTES
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements

# A condition on a leaf alone: the leaf, its stream, the condition, and where elements have the variables it reads.
_Places = list[tuple[str, int]]
_Guard = tuple[int, int, Condition, _Places]

_FEW_ELEMENTS = 16  # fewer are all tested sooner than those are found that match a pattern


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
        self._leaf_conditions = [
            [c for c in plan.conditions if variables_of(c.expression) & c.scope <= set(leaf.names)] for leaf in leaves
        ]
        inside = [condition for conditions in self._leaf_conditions for condition in conditions]
        self._steps = (*(condition for condition in plan.conditions if condition not in inside), *plan.steps)
        self._needed = set(plan.variables).union(*(variables_of(step.expression) for step in self._steps))
        # The columns that the join is asked for, what each step reads of them, those to put out.
        made = {step.variable for step in self._steps if isinstance(step, Computed)}
        columns = [name for name in dict.fromkeys((*plan.variables, *sorted(self._needed))) if name not in made]
        self._homes = self._join.homes(columns)
        self._row_steps: list[tuple[Condition | Computed, _Places]] = []
        for step in self._steps:
            scope = step.scope if isinstance(step, PlanCondition) else columns
            read = variables_of(step.expression).intersection(scope).intersection(columns)
            asked = Condition(step.expression, dictionary) if isinstance(step, PlanCondition) else step
            self._row_steps.append((asked, [(name, columns.index(name)) for name in read]))
            columns += [step.variable] if isinstance(step, Computed) else []
        places = [columns.index(name) for name in plan.variables]
        self._is_whole = places == list(range(len(columns)))
        self._places = [np.array(places, np.int64), np.array([0, *(1 + place for place in places)], np.int64)]
        self._guards: list[_Guard] = []
        for at, (leaf, conditions) in enumerate(zip(leaves, self._leaf_conditions, strict=True)):
            stream = self._source.plans.streams.item(at)
            for each in conditions:
                self._guards.append((at, stream, Condition(each.expression, dictionary), _element_places(leaf, each)))

    @property
    def streams(self) -> Sequence[str]:
        """The streams that it reads."""
        return self._source.streams

    def element_bytes(self, stream: str) -> int:
        """What an element of a stream takes at most, one that matches every pattern."""
        return ELEMENT_BYTES + self._source.leaves_of(stream) * self._leaves.row_bytes

    @property
    def held_bytes(self) -> int:
        """What windows and results take, and what the elements that wait for an instant may take."""
        waiting = sum(self._source.waiting(stream) * self.element_bytes(stream) for stream in self.streams)
        distinct = 0 if self._distinct is None else self._distinct.held_bytes
        return waiting + self._leaves.held_bytes + self._join.results.held_bytes + distinct

    @property
    def last_ms(self) -> int:
        """The last instant that it has answered for."""
        return self._source.last_ms

    def since(self, stream: str, default: int) -> int:
        """A time that no element is before which a window of so many elements of a stream holds."""
        return self._source.since(stream, default)

    def receive(self, stream: str, elements: Elements) -> None:
        """Elements of a stream, none behind the watermark."""
        self._source.receive(stream, elements)

    def stored(self, elements: Elements) -> None:
        """Triples of the stored graph with the times from which they are there."""
        self._source.stored(elements)

    def advance(self, watermark_ms: int) -> Iterable[tuple[int, Ids]]:
        """What the instants before the watermark put out, if anything: the time of each and its rows, in order."""
        ready = self._source.ready(watermark_ms)
        if ready is None:
            return ()
        kept_out = self._kept_out(ready) if self._guards else NOTHING_OUT
        if ready.is_instant:
            rows = self._instant(ready, kept_out)
            return ((self._source.last_ms, rows),) if len(rows) else ()
        return _by_time(self._batch(ready, kept_out))

    def _instant(self, ready: Ready, kept_out: Mask) -> Ids:
        """What an instant puts out."""
        came, went = self._join.pass_instant(self._source, ready, kept_out, self._homes)
        if len(came) == 0 == len(went):
            return came
        came, went = self._stepped(came, 0), self._stepped(went, 0)
        if self._distinct is not None:
            came, went = self._distinct.step_instant(came, went)
        return self._put_out(came, went).copy()  # what it is given is written over by the next instant

    def _batch(self, ready: Ready, kept_out: Mask) -> Ids:
        """What the instants of a batch put out, with their times in front."""
        if not self._join.keeps_results:
            return self._stepped(self._join.pass_through(self._source, ready, kept_out, self._homes), 1)
        came, went = self._join.pass_through_kept(self._source, ready, kept_out, self._homes)
        came, went = self._stepped(came, 1), self._stepped(went, 1)
        if self._distinct is not None:
            came, went = self._distinct.step_rows(came, went)
        return self._put_out(came, went)

    def _put_out(self, came: Ids, went: Ids) -> Ids:
        if self._plan.output is StreamOperator.DSTREAM:
            came, went = went, came
        return bag_difference(came, went) if self._lossy and self._distinct is None else came

    def _kept_out(self, ready: Ready) -> Mask:
        """Which elements a condition on a leaf alone keeps out of it."""
        kept_out = NOTHING_OUT
        for leaf, stream, condition, places in self._guards:
            first, end = ready.offsets.item(stream), ready.offsets.item(stream + 1)
            if end == first:
                continue
            part = Elements(*(column[first:end] for column in ready.elements))
            passed = self._passed(self._leaves.leaves[leaf], condition, places, part)
            if np.count_nonzero(passed) == end - first:
                continue
            if kept_out is NOTHING_OUT:
                kept_out = np.zeros((len(self._leaves.leaves), len(ready.elements.times)), np.bool_)
            kept_out[leaf, first:end] |= ~passed
        return kept_out

    def _passed(self, leaf: ArrivalLeaf, condition: Condition, places: _Places, elements: Elements) -> Mask:
        """Which elements satisfy a condition on a leaf alone. What does not match the leaf's pattern may pass."""
        count = len(elements.times)
        if count <= _FEW_ELEMENTS:
            return condition.test({name: elements[place] for name, place in places}, count)
        chosen, values = leaf.pattern.match(elements)
        columns = {name: np.ascontiguousarray(values[:, leaf.names.index(name)]) for name, _ in places}
        passed = np.ones(count, np.bool_)
        passed[chosen] = condition.test(columns, len(values))
        return passed

    def _stepped(self, rows: Ids, timed: int) -> Ids:
        """Results of the join, filtered, extended and projected. They have so many times (one or none) in front."""
        if len(rows) == 0:
            return rows
        for step, places in self._row_steps:
            columns = {name: rows[:, at + timed].copy() for name, at in places}
            if isinstance(step, Condition):
                keep = step.test(columns, len(rows))
                rows = rows if np.count_nonzero(keep) == len(rows) else rows[keep]
            else:
                rows = np.column_stack((rows, evaluate(step.expression, columns, len(rows), self._dictionary)))
        return rows if self._is_whole else rows.take(self._places[timed], axis=1)


def _by_time(rows: Ids) -> Iterator[tuple[int, Ids]]:
    """The rows of each time, which stands in front of each, in order of time."""
    if len(rows) == 0:
        return
    times, shown = rows[:, 0], rows[:, 1:].copy()
    if times.item(0) == times.item(-1):
        yield times.item(0), shown
        return
    cuts = np.flatnonzero(times[1:] != times[:-1]) + 1
    for first, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(times)], strict=True):
        yield times.item(first), shown[first:end]


def _element_places(leaf: ArrivalLeaf, condition: PlanCondition) -> _Places:
    read = variables_of(condition.expression) & condition.scope
    return [
        (name, 1 + places[0]) for name, places in zip(leaf.names, leaf.pattern.columns, strict=True) if name in read
    ]
