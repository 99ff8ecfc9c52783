"""The multiway join of rows with lives (the operator-aware structures' algorithms 3 to 5).

    a result lives while all of its rows do
    it begins with the last of them, whose probe finds the others:  equations 1 and 3
    it ends with the first of them, by pointers:                    equation 2

Of rows that begin at the same moment the one of the last input finds the result. Nothing is joined twice.

| moment | leaf a (?x ?y) | leaf b (?y ?z) | out       |
| ------ | -------------- | -------------- | --------- |
| 1      | + (1 2)        |                |           |
| 2      |                | + (2 7)        | + (1 2 7) |
| 3      | - (1 2)        | + (2 8)        | - (1 2 7) |

Variables that an input may leave unbound are not looked up but compared after the look-up: unbound agrees with all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.native.buffers.inputs import Input
from freshet.native.buffers.leaf_buffer import LeafBuffer
from freshet.native.buffers.one_way_index import Ids, Mask, Rows
from freshet.native.buffers.result_buffer import Pointers, ResultBuffer
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import NOTHING, OPEN, Change, MomentBatch
from freshet.native.operators.conditions import Condition
from freshet.native.operators.parameters import QueryBegins
from freshet.native.plan.plan import PlanCondition
from freshet.native.streams.stream import is_in_order
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary

_NO_MOMENTS = np.empty(0, np.int64)


class Results(NamedTuple):
    """Results that come and go in a batch, as pointers to the inputs' rows, each with its moment, in order of these."""

    came: Pointers
    came_at: Ids
    went: Pointers
    went_at: Ids


@dataclass(frozen=True, slots=True)
class _Home:
    """Where the values of a variable are: in columns of some inputs, of which the first that is bound counts."""

    places: tuple[tuple[int, int], ...]


_Condition = tuple[Condition, tuple[tuple[str, _Home], ...]]


@dataclass(frozen=True, slots=True)
class _Step:
    """An input that can be probed next: on which columns, with which values, and what is to be compared after."""

    at: int
    columns: tuple[int, ...]
    keys: tuple[_Home, ...]
    compared: tuple[tuple[int, _Home], ...]  # columns of the input that may be unbound, here or there
    conditions: tuple[_Condition, ...]  # which can be tested from then on


@dataclass(frozen=True, slots=True, eq=False)
class _Pairing:
    """A look-up in the only other input: on which of its columns, with the values of which columns."""

    at: int
    columns: tuple[int, ...]
    keys: Ids


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Which input has the queries that share a join, in which column their numbers; and of inputs that are leaf buffers
    from which element on each query sees them.
    """

    queries: int
    column: int
    begins: Sequence[tuple[int, LeafBuffer, QueryBegins]]


class MultiwayJoinOp:
    """Probes the other inputs with the new rows of each, in the order that the counters say is cheapest.

    The inputs whose rows can go come first. With `overlapping` a pair of two inputs counts only where some variable is
    bound on both sides.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        conditions: Iterable[PlanCondition],
        wanted: Iterable[str],
        dictionary: Dictionary,
        *,
        overlapping: bool = False,
        sight: Sight | None = None,
    ) -> None:
        self.inputs = inputs
        self._sight = sight
        self._is_new = True  # nothing has been asked of it yet
        self._overlapping = overlapping
        self._followed = [each.buffer for each in inputs if isinstance(each.buffer, RowBuffer)]
        self._conditions = [
            (Condition(each.expression, dictionary), variables_of(each.expression) & each.scope) for each in conditions
        ]
        self._expiring = sum(each.expires for each in inputs)
        self._results = ResultBuffer(len(inputs), self._expiring)
        self._all = (1 << len(inputs)) - 1
        self._number = 0  # of the present batch
        self._keeps = self._expiring > 0  # results, to know which of them end
        self._starts = [self._step(0, at) for at in range(len(inputs))]
        self._steps: dict[int, list[_Step]] = {}  # by the set of inputs that are joined already
        self._wanted = {name: home for name in wanted if (home := self._home(name, self._all)).places}
        self._nothing = np.empty((0, len(inputs)), np.int32)
        self._pairings = [self._pairing(at) for at in range(len(inputs))]
        self._costs: dict[tuple[int, tuple[int, ...]], tuple[bool, float]] = {}  # in this step

    def changes(self, batch: MomentBatch) -> Change:
        results = self.pointer_changes(batch)
        if len(results.came_at) == 0 == len(results.went_at):
            return NOTHING
        return Change(self.table(results.came), results.came_at, self.table(results.went), results.went_at)

    def pointer_changes(self, batch: MomentBatch) -> Results:
        """The results that come and go, as pointers."""
        self._costs.clear()
        for buffer in self._followed:
            buffer.follow(batch)
        self._number = batch.number
        if self._sight is not None and any(leaf.begins is not None for _, leaf, _ in self._sight.begins):
            found = self._found_in_sight(self._sight)
        else:
            found = [
                self._probe(at, rows, each.buffer.births(rows))
                for at, each in enumerate(self.inputs)
                if len(rows := each.buffer.fresh(batch.number))
            ]
        if self._is_new:
            self._is_new = False
            found.insert(0, self._old(batch))
        came, came_at = _merge_in_order([each for each in found if len(each[1])], self._nothing)
        if not self._keeps:
            return Results(came, came_at, self._nothing, _NO_MOMENTS)
        gone = [
            self._results.invalidate(at, rows)
            for at in range(self._expiring)
            if len(rows := self.inputs[at].buffer.dead(batch.number))
        ]
        gone = [each for each in gone if len(each)]
        if len(came):
            deaths = self._deaths(came)
            if len(ended := np.flatnonzero(deaths != OPEN)):
                gone.append(came[ended])
                self._results.add(came[deaths == OPEN], self._capacities())
            else:
                self._results.add(came, self._capacities())
        if not gone:
            return Results(came, came_at, self._nothing, _NO_MOMENTS)
        return Results(came, came_at, *_merge_in_order([(each, self._deaths(each)) for each in gone], self._nothing))

    def _found_in_sight(self, sight: Sight) -> list[tuple[Pointers, Ids]]:
        """What fresh rows find, where queries that share the join came later than some rows.

        A row that comes again is as a fresh one for who came since it came before.
        """
        later = {at: (leaf, leaf.begins, of) for at, leaf, of in sight.begins if leaf.begins is not None}
        found = []
        for start, each in enumerate(self.inputs):
            rows = each.buffer.fresh(self._number)
            moments = each.buffer.births(rows)
            if start in later:
                leaf, begins, of = later[start]
                if leaf.number == self._number:
                    rows, moments = begins.coming_into_any_sight(of.recent(), leaf.died)
            if not len(rows):
                continue
            pointers, moments = self._probe(start, rows, moments)
            if not len(moments):
                continue
            queries = self.inputs[sight.queries].buffer.values[pointers[:, sight.queries], sight.column]
            kept = np.ones(len(moments), np.bool_)
            for at, (_, begins, of) in later.items():
                seen = begins.seen_at(pointers[:, at], of.numbers[queries])
                kept &= seen == moments if at == start else seen < moments + (at < start)
            found.append((pointers[kept], moments[kept]))
        return found

    def ignore_ends(self) -> None:
        """Nobody wants to know which results end, so that they need not be kept."""
        self._keeps = False

    def _capacities(self) -> list[int]:
        return [each.buffer.row_capacity for each in self.inputs[: self._expiring]]

    def _deaths(self, pointers: Pointers) -> Ids:
        """When the first of each result's rows dies."""
        deaths = np.full(len(pointers), OPEN)
        for at in range(self._expiring):
            np.minimum(deaths, self.inputs[at].buffer.deaths(pointers[:, at]), out=deaths)
        return deaths

    def _old(self, batch: MomentBatch) -> tuple[Pointers, Ids]:
        """The results of rows that were there before the first batch; they come with its first moment."""
        olds = [each.buffer.old_rows(batch.first) for each in self.inputs]
        fewest = min(range(len(olds)), key=lambda at: len(olds[at]))
        if len(olds[fewest]) == 0:
            return self._nothing, _NO_MOMENTS
        pointers, moments = self._probe(fewest, olds[fewest], np.full(len(olds[fewest]), batch.first - 1), ties=1)
        return pointers, moments + 1

    def table(self, pointers: Pointers) -> Table:
        """The values of the wanted variables."""
        if len(pointers) == 0:
            return NOTHING.came
        columns = [pointers[:, at] for at in range(len(self.inputs))]
        return Table({name: self._values(columns, home) for name, home in self._wanted.items()}, len(pointers))

    def _probe(self, start: int, rows: Rows, moments: Ids, ties: int | None = None) -> tuple[Pointers, Ids]:
        """The results of rows of one input with rows that live at their moments, and these moments.

        Of inputs before it also those that begin then are seen, or, where `ties` says so, of all.
        """
        for each in self.inputs:
            if each.buffer.live == 0:
                return self._nothing, _NO_MOMENTS
        pairing = self._pairings[start]
        if pairing is not None:
            buffer = self.inputs[pairing.at].buffer
            seen = int(pairing.at < start) if ties is None else ties
            return buffer.index_on(pairing.columns).pairs(
                rows, moments, self.inputs[start].buffer.values, pairing.keys, seen, buffer.lives(self._number), start
            )
        found: list[Rows] = [rows] * len(self.inputs)  # of the inputs that are joined, pointers to their rows
        joined = 1 << start
        moments = self._test(found, joined, self._starts[start].conditions, moments)
        return self._extend(start, found, joined, moments, ties)

    def _extend(
        self, start: int, found: list[Rows], joined: int, moments: Ids, ties: int | None, first: _Step | None = None
    ) -> tuple[Pointers, Ids]:
        """Partial results with rows of the other inputs, of which `first`, if that is said, is probed first."""
        while joined != self._all:
            if len(moments) == 0:
                return self._nothing, _NO_MOMENTS
            step = first
            if step is None:
                steps = self._next_steps(joined)
                step = steps[0] if len(steps) == 1 else min(steps, key=self._cost)
                if len(steps) > 1 and len(choices := self._skewed(steps)) > 1:
                    parts = self._by_counts(choices, found, len(moments))
                    if len(parts) > 1:
                        some = [self._select_rows(found, joined, rows) for _, rows in parts]
                        extended = [
                            self._extend(start, part, joined, moments[rows], ties, chosen)
                            for part, (chosen, rows) in zip(some, parts, strict=True)
                        ]
                        return _merge_in_order(extended, self._nothing)
                    step = parts[0][0]
            first = None
            buffer = self.inputs[step.at].buffer
            keys = self._keys(step, found, len(moments))
            seen = int(step.at < start) if ties is None else ties
            lefts, hits = buffer.index_on(step.columns).probe(keys, moments, seen, buffer.lives(self._number))
            if len(hits) == 0:
                return self._nothing, _NO_MOMENTS
            for at in range(len(found)):
                if joined >> at & 1:
                    found[at] = found[at][lefts]
            moments = moments[lefts]
            found[step.at] = hits
            joined |= 1 << step.at
            for column, home in step.compared:
                here, there = buffer.values[found[step.at], column], self._values(found, home)
                moments = self._keep(found, joined, (here == there) | (here == 0) | (there == 0), moments)
            moments = self._test(found, joined, step.conditions, moments)
        if self._overlapping:
            moments = self._keep(found, joined, self._overlap(found), moments)
        if len(moments) == 0:
            return self._nothing, _NO_MOMENTS
        pointers = np.empty((len(moments), len(found)), np.int32)
        for at, held in enumerate(found):
            pointers[:, at] = held
        return pointers, moments

    def _pairing(self, start: int) -> _Pairing | None:
        """How the rows of an input probe the only other one; None where there is more to it than a look-up."""
        if len(self.inputs) != 2 or self._overlapping or self._conditions:
            return None
        if isinstance(self.inputs[start].buffer, StoredLeaf):  # which has no array of values
            return None
        step = self._step(1 << start, 1 - start)
        if step.compared or any(len(home.places) > 1 for home in step.keys):
            return None
        self.inputs[step.at].buffer.index_on(step.columns)  # now, so that it is known what a row takes
        return _Pairing(step.at, step.columns, np.array([home.places[0][1] for home in step.keys], np.int64))

    def _keys(self, step: _Step, found: Sequence[Rows], count: int) -> Ids:
        """What so many partial results look up in the input of a step."""
        keys = np.empty((count, len(step.keys)), np.int64)
        for place, home in enumerate(step.keys):
            keys[:, place] = self._values(found, home)
        return keys

    def _next_steps(self, joined: int) -> list[_Step]:
        """The inputs that can be probed next."""
        steps = self._steps.get(joined)
        if steps is None:
            others = [at for at in range(len(self.inputs)) if not joined >> at & 1]
            steps = self._steps[joined] = [self._step(joined, at) for at in others]
        return steps

    def _skewed(self, steps: Sequence[_Step]) -> Sequence[_Step]:
        """The steps by key, where one of them has keys with many more rows than others: then the mean says little."""
        keyed = [step for step in steps if step.columns]
        if any(self.inputs[step.at].buffer.index_on(step.columns).is_skewed for step in keyed):
            return keyed
        return ()

    @staticmethod
    def _select_rows(found: Sequence[Rows], joined: int, rows: Ids) -> list[Rows]:
        """Some of the partial results."""
        return [held[rows] if joined >> at & 1 else held for at, held in enumerate(found)]

    def _by_counts(self, steps: Sequence[_Step], found: list[Rows], count: int) -> list[tuple[_Step, Ids]]:
        """The input in which the key of each partial result has the fewest rows: steps, and the results of each."""
        counts = [
            self.inputs[step.at].buffer.index_on(step.columns).counts(self._keys(step, found, count)) for step in steps
        ]
        best = np.stack(counts).argmin(axis=0)
        places = ((step, np.flatnonzero(best == at)) for at, step in enumerate(steps))
        return [(step, rows) for step, rows in places if len(rows)]

    def _cost(self, step: _Step) -> tuple[bool, float]:
        found = self._costs.get((step.at, step.columns))
        if found is None:
            # Inputs that share nothing with what is joined come last; the index on no columns is made only for them.
            buffer = self.inputs[step.at].buffer
            rows = buffer.index_on(step.columns).rows_per_key() if step.columns else buffer.live
            found = self._costs[step.at, step.columns] = (not step.columns, rows)
        return found

    def _step(self, joined: int, at: int) -> _Step:
        each = self.inputs[at]
        keys: list[tuple[int, _Home]] = []
        compared: list[tuple[int, _Home]] = []
        for column, name in enumerate(each.names):
            home = self._home(name, joined)
            if home.places:
                sure = name in each.certain and self._is_sure(name, joined)
                (keys if sure else compared).append((column, home))
        with_it = joined | 1 << at
        ready = [
            (condition, tuple((name, home) for name in names if (home := self._home(name, with_it)).places))
            for condition, names in self._conditions
            if self._can_test(names, with_it) and not (joined and self._can_test(names, joined))
        ]
        return _Step(
            at, tuple(column for column, _ in keys), tuple(home for _, home in keys), tuple(compared), tuple(ready)
        )

    def _can_test(self, names: set[str], joined: int) -> bool:
        """Whether a condition has all values that it will ever get."""
        return joined == self._all or all(self._is_sure(name, joined) for name in names)

    def _is_sure(self, name: str, joined: int) -> bool:
        return any(joined >> at & 1 and name in each.certain for at, each in enumerate(self.inputs))

    def _home(self, name: str, joined: int) -> _Home:
        """Where a variable's values are once some inputs are joined."""
        places = [
            (at, each.names.index(name))
            for at, each in enumerate(self.inputs)
            if joined >> at & 1 and name in each.names
        ]
        sure = [place for place in places if name in self.inputs[place[0]].certain]
        return _Home(tuple(sure[:1] or places))

    def _values(self, found: Sequence[Rows], home: _Home) -> Ids:
        (at, column), *others = home.places
        rows, of_all = found[at], self.inputs[at].buffer.values
        if len(rows) == 1:  # NumPy takes four times as long to look one value up
            values: Ids = np.array([of_all.item(rows.item(0), column)], np.int64)
        else:
            values = of_all[rows, column]
        for at, column in others:
            values = np.where(values != 0, values, self.inputs[at].buffer.values[found[at], column])
        return values

    def _test(self, found: list[Rows], joined: int, conditions: tuple[_Condition, ...], moments: Ids) -> Ids:
        for condition, homes in conditions:
            if count := len(moments):
                columns = {name: self._values(found, home) for name, home in homes}
                moments = self._keep(found, joined, condition.test(columns, count), moments)
        return moments

    def _overlap(self, found: Sequence[Rows]) -> Mask:
        left, right = self.inputs
        overlap: Mask = np.zeros(len(found[0]), np.bool_)
        for column, name in enumerate(left.names):
            if name in right.names:
                others = right.buffer.values[found[1], right.names.index(name)]
                overlap |= (left.buffer.values[found[0], column] != 0) & (others != 0)
        return overlap

    @staticmethod
    def _keep(found: list[Rows], joined: int, keep: Mask, moments: Ids) -> Ids:
        """Keep some of the results; gives their moments."""
        if keep.all():
            return moments
        for at in range(len(found)):
            if joined >> at & 1:
                found[at] = found[at][keep]
        return moments[keep]


def _merge_in_order(parts: list[tuple[Pointers, Ids]], nothing: Pointers) -> tuple[Pointers, Ids]:
    """Results of several parts in order of their moments."""
    if not parts:
        return nothing, _NO_MOMENTS
    pointers, moments = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    if len(moments) < 2 or is_in_order(moments):
        return pointers, moments
    order = np.argsort(moments, kind="stable")
    return pointers[order], moments[order]
