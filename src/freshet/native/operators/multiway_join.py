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
from freshet.native.buffers.ring_index import RingIndex, Room
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import NOTHING, OPEN, Change, MomentBatch
from freshet.native.operators.conditions import Condition
from freshet.native.operators.parameters import QueryBegins
from freshet.native.operators.range_probe import RangeProbe
from freshet.native.plan.plan import PlanCondition
from freshet.native.plan.range_bounds import RangeBound, range_bounds
from freshet.native.streams.stream import is_in_order
from freshet.oneshot.table import Table
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary

_NO_MOMENTS = np.empty(0, np.int64)
_FIRST_ROOM = 256
_FEW_ROWS = 64
_ROWS_AT_ONCE = 1 << 22  # that are found between two looks at the deadline


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
class _Range:
    """How rows of an input are found by a range of one of its columns, from the values of some variables."""

    column: int
    probe: RangeProbe
    homes: tuple[tuple[str, _Home], ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """An input that can be probed next: on which columns, with which values, and what is to be compared after."""

    at: int
    columns: tuple[int, ...]
    keys: tuple[_Home, ...]
    compared: tuple[tuple[int, _Home], ...]  # columns of the input that may be unbound, here or there
    conditions: tuple[_Condition, ...]  # which can be tested from then on
    source: int | None  # the one input that has all keys, where these and the rows are in arrays
    key_columns: Ids  # in which of its columns
    ranged: _Range | None  # how rows are found where there are no columns


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Which input has the queries that share a join, in which column their numbers; and of inputs that are leaf buffers
    from which element on each query sees them.
    """

    queries: int
    column: int
    begins: Sequence[tuple[int, LeafBuffer, QueryBegins]]


_Choice = tuple[_Step, Sequence[_Step]]


class MultiwayJoinOp:
    """Probes the other inputs with the new rows of each, in the order that the counters say is cheapest.

    The inputs whose rows can go come first. With `overlapping` a pair of two inputs counts only where some variable is
    bound on both sides.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        conditions: Sequence[PlanCondition],
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
        self._dictionary = dictionary
        self._bounds = [
            bound
            for each in conditions
            for bound in range_bounds(each.expression)
            if {bound.variable, *bound.others} <= each.scope
        ]
        self._expiring = sum(each.expires for each in inputs)
        self._results = ResultBuffer(len(inputs), self._expiring)
        for at, each in enumerate(inputs):
            if isinstance(each.buffer, StoredLeaf):
                each.buffer.point_from(self._results, at)
        self._all = (1 << len(inputs)) - 1
        self._number = 0  # of the present batch
        self._keeps = self._expiring > 0  # results, to know which of them end
        self._starts = [self._step(0, at) for at in range(len(inputs))]
        self._steps: dict[int, list[_Step]] = {}  # by the set of inputs that are joined already
        self._choices: dict[int, _Choice] = {}  # likewise, in the present batch
        self._is_vain: bool | None = None  # whether an input has no rows in it, once that is known
        self._wanted = {name: home for name in wanted if (home := self._home(name, self._all)).places}
        self._nothing = np.empty((0, len(inputs)), np.int32)
        self._rooms = [_room(_FIRST_ROOM, len(inputs)), _room(_FIRST_ROOM, len(inputs))]  # by turns
        if len(inputs) == 2:
            for at, step in ((at, self._step(1 << at, 1 - at)) for at in range(2)):
                if step.columns and not isinstance(inputs[at].buffer, StoredLeaf):
                    inputs[step.at].buffer.index_on(step.columns)  # now, so that it is known what a row takes

    def changes(self, batch: MomentBatch) -> Change:
        results = self.pointer_changes(batch)
        if len(results.came_at) == 0 == len(results.went_at):
            return NOTHING
        return Change(self.table(results.came), results.came_at, self.table(results.went), results.went_at)

    def pointer_changes(self, batch: MomentBatch) -> Results:
        """The results that come and go, as pointers."""
        for buffer in self._followed:
            buffer.follow(batch)
        self._number = batch.number
        self._choices.clear()
        self._is_vain = None
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
            if deaths.item() == OPEN if len(deaths) == 1 else (deaths == OPEN).all():
                self._results.add(came, self._capacities())
            else:
                gone.append(came[deaths != OPEN])
                self._results.add(came[deaths == OPEN], self._capacities())
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
        expiring = self.inputs[: self._expiring]
        if len(pointers) == 1:  # NumPy takes ten times as long for one
            rows = pointers[0].tolist()
            return np.array([min([each.buffer.died.item(row) for each, row in zip(expiring, rows, strict=False)])])
        deaths = np.full(len(pointers), OPEN)
        for at, each in enumerate(expiring):
            np.minimum(deaths, each.buffer.deaths(pointers[:, at]), out=deaths)
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
        return Table({name: self._values(pointers, home) for name, home in self._wanted.items()}, len(pointers))

    def _probe(self, start: int, rows: Rows, moments: Ids, ties: int | None = None) -> tuple[Pointers, Ids]:
        """The results of rows of one input with rows that live at their moments, and these moments.

        Of inputs before it also those that begin then are seen, or, where `ties` says so, of all.
        """
        if self._is_vain is None:
            self._is_vain = any(each.buffer.live == 0 for each in self.inputs)
        if self._is_vain:
            return self._nothing, _NO_MOMENTS
        pointers = np.empty((len(rows), len(self.inputs)), np.int32)
        pointers[:, start] = rows
        if self._starts[start].conditions:
            pointers, moments = self._test(pointers, self._starts[start].conditions, moments)
        return self._extend(start, pointers, 1 << start, moments, ties)

    def _extend(
        self, start: int, pointers: Pointers, joined: int, moments: Ids, ties: int | None, first: _Step | None = None
    ) -> tuple[Pointers, Ids]:
        """Partial results with rows of the other inputs, of which `first`, if that is said, is probed first."""
        while joined != self._all:
            if len(moments) == 0:
                return self._nothing, _NO_MOMENTS
            step = first
            if step is None:
                step, choices = self._choices.get(joined) or self._choose(joined)
                if len(choices) > 1:
                    parts = self._by_counts(choices, pointers)
                    if len(parts) > 1:
                        extended = [
                            self._extend(start, pointers[rows], joined, moments[rows], ties, chosen)
                            for chosen, rows in parts
                        ]
                        return _merge_in_order(extended, self._nothing)
                    step = parts[0][0]
            first = None
            if len(moments) > _FEW_ROWS and len(blocks := self._blocks(step, pointers)) > 1:
                return self._extend_in_blocks(start, pointers, joined, moments, ties, step, blocks)
            pointers, moments = self._look_up(step, pointers, moments, int(step.at < start) if ties is None else ties)
            joined |= 1 << step.at
            for column, home in step.compared:
                if len(moments):
                    here = self.inputs[step.at].buffer.values[pointers[:, step.at], column]
                    there = self._values(pointers, home)
                    pointers, moments = _keep(pointers, moments, (here == there) | (here == 0) | (there == 0))
            if step.conditions:
                pointers, moments = self._test(pointers, step.conditions, moments)
        if self._overlapping:
            pointers, moments = _keep(pointers, moments, self._overlap(pointers))
        if len(moments) == 0:
            return self._nothing, _NO_MOMENTS
        return pointers.copy(), moments.copy()  # they may be where the next ones are written

    def _extend_in_blocks(
        self,
        start: int,
        pointers: Pointers,
        joined: int,
        moments: Ids,
        ties: int | None,
        step: _Step,
        blocks: list[Ids],
    ) -> tuple[Pointers, Ids]:
        """As `_extend`, for some partial results after others, with looks at the deadline between."""
        pointers, moments = pointers.copy(), moments.copy()
        extended = []
        for rows in blocks:
            extended.append(self._extend(start, pointers[rows], joined, moments[rows], ties, step))
            current().reserve(extended[-1][0].nbytes)
        return _merge_in_order(extended, self._nothing)

    def _blocks(self, step: _Step, pointers: Pointers) -> list[Ids]:
        """Partial results in blocks, of which each finds a few million rows; nothing where they find no more."""
        if step.ranged is not None:  # a range may find all rows
            size = max(_FEW_ROWS, _ROWS_AT_ONCE // self.inputs[step.at].buffer.live)
            return np.split(np.arange(len(pointers)), np.arange(size, len(pointers), size))
        index = self.inputs[step.at].buffer.index_on(step.columns)
        if not index.is_skewed and len(pointers) * self._cost(step) <= _ROWS_AT_ONCE:
            return []
        ends = np.cumsum(index.counts(self._keys(step, pointers)))
        with current().step():
            current().reserve(int(ends[-1]) * (4 * len(self.inputs) + 8))
        cuts = np.unique(np.searchsorted(ends, np.arange(_ROWS_AT_ONCE, ends[-1], _ROWS_AT_ONCE)))
        return [rows for rows in np.split(np.arange(len(pointers)), cuts) if len(rows)]

    def _look_up(self, step: _Step, pointers: Pointers, moments: Ids, ties: int) -> tuple[Pointers, Ids]:
        """Partial results with the rows of one more input; they are good until the look-up after the next."""
        buffer = self.inputs[step.at].buffer
        if step.ranged is not None:
            return self._look_up_range(step, step.ranged, pointers, moments, ties)
        index, lives = buffer.index_on(step.columns), buffer.lives(self._number)
        if step.source is None or not isinstance(index, RingIndex):
            lefts, hits = index.probe(self._keys(step, pointers), moments, ties, lives)
            pointers = pointers[lefts]
            pointers[:, step.at] = hits
            return pointers, moments[lefts]
        source = (self.inputs[step.source].buffer.values, step.source, step.key_columns)
        room, spare = self._rooms
        count = index.extend(pointers, moments, source, ties, lives, step.at, room)
        if count > len(room[1]):
            room = _room(2 * count, len(self.inputs))
            index.extend(pointers, moments, source, ties, lives, step.at, room)
        self._rooms = [spare, room]
        return room[0][:count], room[1][:count]

    def _look_up_range(
        self, step: _Step, ranged: _Range, pointers: Pointers, moments: Ids, ties: int
    ) -> tuple[Pointers, Ids]:
        """Partial results with the rows of one more input that are within the range of each."""
        buffer = self.inputs[step.at].buffer
        assert isinstance(buffer, LeafBuffer | RowBuffer), "others have no ordered index"
        columns = {name: self._values(pointers, home) for name, home in ranged.homes}
        ranges = ranged.probe.ranges(columns, len(moments))
        index = buffer.ordered_on(ranged.column, self._dictionary)
        lefts, hits = index.probe(*ranges, moments, ties, buffer.lives(self._number))
        pointers = pointers[lefts]
        pointers[:, step.at] = hits
        return pointers, moments[lefts]

    def _keys(self, step: _Step, pointers: Pointers) -> Ids:
        """What partial results look up in the input of a step."""
        keys = np.empty((len(pointers), len(step.keys)), np.int64)
        for place, home in enumerate(step.keys):
            keys[:, place] = self._values(pointers, home)
        return keys

    def _choose(self, joined: int) -> _Choice:
        """The cheapest step once some inputs are joined, in this batch; and the steps that keys choose from, if any."""
        steps = self._next_steps(joined)
        if len(steps) == 1:
            choice: _Choice = (steps[0], ())
        else:
            choice = (min(steps, key=self._cost), self._skewed(steps))
        self._choices[joined] = choice
        return choice

    def _next_steps(self, joined: int) -> list[_Step]:
        """The inputs that can be probed next: those that share nothing with what is joined come last."""
        steps = self._steps.get(joined)
        if steps is None:
            steps = [self._step(joined, at) for at in range(len(self.inputs)) if not joined >> at & 1]
            by_range = [step for step in steps if step.ranged is not None]
            steps = self._steps[joined] = [step for step in steps if step.columns] or by_range or steps
        return steps

    def _skewed(self, steps: Sequence[_Step]) -> Sequence[_Step]:
        """The steps by key, where one of them has keys with many more rows than others: then the mean says little."""
        keyed = [step for step in steps if step.columns]
        if any(self.inputs[step.at].buffer.index_on(step.columns).is_skewed for step in keyed):
            return keyed
        return ()

    def _by_counts(self, steps: Sequence[_Step], pointers: Pointers) -> list[tuple[_Step, Ids]]:
        """The input in which the key of each partial result has the fewest rows: steps, and the results of each."""
        counts = [
            self.inputs[step.at].buffer.index_on(step.columns).counts(self._keys(step, pointers)) for step in steps
        ]
        best = np.stack(counts).argmin(axis=0)
        places = ((step, np.flatnonzero(best == at)) for at, step in enumerate(steps))
        return [(step, rows) for step, rows in places if len(rows)]

    def _cost(self, step: _Step) -> float:
        """How many rows a look-up may expect. The index on no columns is made only when it is asked."""
        buffer = self.inputs[step.at].buffer
        return buffer.index_on(step.columns).rows_per_key() if step.columns else buffer.live

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
        columns, homes = tuple(column for column, _ in keys), tuple(home for _, home in keys)
        sources = {home.places[0][0] for home in homes} | {at}
        in_arrays = len(sources) == 2 and not any(isinstance(self.inputs[each].buffer, StoredLeaf) for each in sources)
        source = homes[0].places[0][0] if in_arrays else None
        key_columns = np.array([home.places[0][1] for home in homes], np.int64)
        ranged = None if columns else self._range(joined, at)
        return _Step(at, columns, homes, tuple(compared), tuple(ready), source, key_columns, ranged)

    def _range(self, joined: int, at: int) -> _Range | None:
        """How an input that shares nothing with those that are joined is probed by the values of one of its columns."""
        each = self.inputs[at]
        if not isinstance(each.buffer, LeafBuffer | RowBuffer):
            return None
        bounds: dict[str, list[RangeBound]] = {}
        for bound in self._bounds:
            is_here = bound.variable in each.names and bound.variable in each.certain
            if is_here and all(self._is_sure(name, joined) for name in bound.others):
                bounds.setdefault(bound.variable, []).append(bound)
        if not bounds:
            return None
        name = max(bounds, key=lambda name: len({bound.operator[0] for bound in bounds[name]}))
        others = sorted({other for bound in bounds[name] for other in bound.others})
        homes = tuple((other, self._home(other, joined)) for other in others)
        return _Range(each.names.index(name), RangeProbe(bounds[name], self._dictionary), homes)

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

    def _values(self, pointers: Pointers, home: _Home) -> Ids:
        (at, column), *others = home.places
        of_all = self.inputs[at].buffer.values
        if len(pointers) == 1:  # NumPy takes four times as long to look one value up
            values: Ids = np.array([of_all.item(pointers.item(0, at), column)], np.int64)
        else:
            values = of_all[pointers[:, at], column]
        for at, column in others:
            values = np.where(values != 0, values, self.inputs[at].buffer.values[pointers[:, at], column])
        return values

    def _test(self, pointers: Pointers, conditions: tuple[_Condition, ...], moments: Ids) -> tuple[Pointers, Ids]:
        for condition, homes in conditions:
            if count := len(moments):
                columns = {name: self._values(pointers, home) for name, home in homes}
                pointers, moments = _keep(pointers, moments, condition.test(columns, count))
        return pointers, moments

    def _overlap(self, pointers: Pointers) -> Mask:
        left, right = self.inputs
        overlap: Mask = np.zeros(len(pointers), np.bool_)
        for column, name in enumerate(left.names):
            if name in right.names:
                others = right.buffer.values[pointers[:, 1], right.names.index(name)]
                overlap |= (left.buffer.values[pointers[:, 0], column] != 0) & (others != 0)
        return overlap


def _room(count: int, inputs: int) -> Room:
    return np.empty((count, inputs), np.int32), np.empty(count, np.int64)


def _keep(pointers: Pointers, moments: Ids, keep: Mask) -> tuple[Pointers, Ids]:
    """Some of the results."""
    return (pointers, moments) if keep.all() else (pointers[keep], moments[keep])


def _merge_in_order(parts: list[tuple[Pointers, Ids]], nothing: Pointers) -> tuple[Pointers, Ids]:
    """Results of several parts in order of their moments."""
    if not parts:
        return nothing, _NO_MOMENTS
    pointers, moments = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    if len(moments) < 2 or is_in_order(moments):
        return pointers, moments
    order = np.argsort(moments, kind="stable")
    return pointers[order], moments[order]
