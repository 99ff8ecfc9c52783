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

from freshet.kernels.direct_call import DirectCall
from freshet.kernels.join_steps import (
    BY_ITSELF,
    DONE,
    FEW_ROWS,
    FIRST_KEY,
    JOINED,
    NO_ROOM,
    PYTHON_START,
    PYTHON_STEP,
    ROWS_AT_ONCE,
    SKEWED,
    START,
    STEP,
    TEST,
    UNKNOWN,
    end_results,
    extend,
    join_step,
    values_pointed_to,
    with_rows,
)
from freshet.native.buffers.inputs import Input
from freshet.native.buffers.leaf_buffer import LeafBuffer
from freshet.native.buffers.one_way_index import Ids, Mask, Rows
from freshet.native.buffers.result_buffer import Pointers, ResultBuffer
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import NOTHING, Change, MomentBatch
from freshet.native.operators.join_plan import Home, HomedCondition, JoinPlan, ProbeStep, RangeStep
from freshet.native.operators.parameters import QueryBegins
from freshet.native.operators.stored_copy import StoredCopy
from freshet.native.plan.plan import PlanCondition
from freshet.native.streams.stream import is_in_order
from freshet.oneshot.table import Table
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary

_NO_MOMENTS = np.empty(0, np.int64)
_MIXING = np.int64(0x1E3779B97F4A7C15)
_JOIN, _EXTEND, _END = DirectCall(join_step), DirectCall(extend), DirectCall(end_results)
_VALUES, _WITH_ROWS = DirectCall(values_pointed_to), DirectCall(with_rows)

_Found = tuple[Pointers, Ids]  # results, complete or in part, with their moments


class Results(NamedTuple):
    """Results that come and go in a batch, as pointers to the inputs' rows, each with its moment, in order of these."""

    came: Pointers
    came_at: Ids
    went: Pointers
    went_at: Ids


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
    bound on both sides. Kernels do all of a batch, or as much as they can of it.
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
        self._followed = [
            each.buffer
            for each in inputs
            if isinstance(each.buffer, RowBuffer) and not isinstance(each.buffer, StoredCopy)
        ]
        self._dictionary = dictionary
        self._plan = JoinPlan(inputs, conditions, dictionary)
        self._expiring = sum(each.expires for each in inputs)
        self._results = ResultBuffer(len(inputs), self._expiring, is_queue=self._expiring == 1)
        for at, each in enumerate(inputs):
            if isinstance(each.buffer, StoredLeaf):
                each.buffer.point_from(self._results, at)
        self._number = 0  # of the present batch
        self._keeps = self._expiring > 0  # results, to know which of them end
        self._state = np.zeros(3, np.int64)
        self._is_vain: bool | None = None  # whether an input has no rows in it, once that is known
        self._wanted = {name: home for name in wanted if (home := self._plan.home(name, self._plan.all)).places}
        self._stored = frozenset(at for at, each in enumerate(inputs) if isinstance(each.buffer, StoredLeaf))
        read = [name for name, home in self._wanted.items() if self._is_in_array(home)]
        self._names_read, self._homes_read = read, np.array([self._wanted[name].places[0] for name in read], np.int64)
        self._others = {name: home for name, home in self._wanted.items() if name not in read}
        self._nothing = np.empty((0, len(inputs)), np.int32)
        if len(inputs) == 2:
            for at, each in enumerate(inputs):
                if not isinstance(each.buffer, StoredLeaf | StoredCopy):  # of the store rows seldom come
                    self._plan.following(1 << at)  # makes the indexes now, so that it is known what a row takes

    def changes(self, batch: MomentBatch) -> Change:
        return self.change_of(self.pointer_changes(batch))

    def change_of(self, results: Results) -> Change:
        """The rows of the results that come and go."""
        if len(results.came_at) == 0 == len(results.went_at):
            return NOTHING
        return Change(self.table(results.came), results.came_at, self.table(results.went), results.went_at)

    def stacked_changes(self, batch: MomentBatch) -> tuple[Table, Ids, Ids]:
        """The rows that come, and behind them those that go, and the moments of both."""
        came, came_at, went, went_at = self.pointer_changes(batch)
        if not len(went_at):
            return self.table(came), came_at, went_at
        return self.table(np.concatenate((came, went)) if len(came_at) else went), came_at, went_at

    def pointer_changes(self, batch: MomentBatch) -> Results:
        """The results that come and go, as pointers."""
        for buffer in self._followed:
            buffer.follow(batch)
        self._number = batch.number
        self._is_vain = None
        self._plan.follow()
        sight = self._sight
        if sight is not None and not any(leaf.begins is not None for _, leaf, _ in sight.begins):
            sight = None  # all see everything
        if self._is_new or self._overlapping or sight is not None:
            found = self._came_by_input(batch) if sight is None else self._came_in_sight(sight)
            if self._is_new:
                self._is_new = False
                found.insert(0, self._old(batch))
            return self._end(found)
        state = self._state
        state[START] = 0
        record = self._results.record.address if self._keeps else 0
        reason, *given = _JOIN.run(*self._plan.arrays, self._number, state, record)
        if reason == DONE and state.item(START) == len(self.inputs):
            return Results(*given)
        return self._end(self._came_with_help(reason, given[0], given[1]))

    def go_oldest_first(self, results: Results) -> bool:
        """Whether of all results those go that came first. They are of the last batch, and came before it."""
        came_at, went_at = results.came_at, results.went_at
        if not self._results.is_queue:
            return False
        return not len(came_at) or not len(went_at) or went_at.item(-1) <= came_at.item(0)

    def has_brief(self, results: Results) -> bool:
        """Whether results may come and go within a batch: they never stand among those that hold."""
        came_at, went_at = results.came_at, results.went_at
        if not len(came_at) or not len(went_at) or went_at.item(-1) <= came_at.item(0):
            return False
        came = results.came[: came_at.searchsorted(went_at.item(-1))]
        went = results.went[went_at.searchsorted(came_at.item(0), side="right") :]
        return bool(np.isin(_mixed(came), _mixed(went)).any())

    def _came_with_help(self, reason: int, pointers: Pointers, moments: Ids) -> list[_Found]:
        """What comes where a kernel cannot do all of it, from where it has stopped on."""
        found, state = [], self._state
        while True:
            start = state.item(START)
            if reason in (DONE, NO_ROOM):
                found.append((pointers, moments))
                if start == len(self.inputs):
                    return found
            else:
                if reason == PYTHON_START:
                    buffer = self.inputs[start].buffer
                    rows = buffer.fresh(self._number)
                    found.append(self._probe(start, rows, buffer.births(rows)))
                else:
                    partial = (reason, state.item(JOINED), state.item(STEP), pointers, moments)
                    found.append(self._go_on(start, BY_ITSELF, *partial))
                state[START] = start + 1
            reason, pointers, moments, _, _ = _JOIN.run(*self._plan.arrays, self._number, state, 0)

    def _came_by_input(self, batch: MomentBatch) -> list[_Found]:
        """What fresh rows find, input after input."""
        return [
            self._probe(at, rows, each.buffer.births(rows))
            for at, each in enumerate(self.inputs)
            if len(rows := each.buffer.fresh(batch.number))
        ]

    def _end(self, found: list[_Found]) -> Results:
        """What comes, by inputs, and what goes."""
        came, came_at = _merge_in_order([each for each in found if len(each[1])], self._nothing)
        if not self._keeps:
            return Results(came, came_at, self._nothing, _NO_MOMENTS)
        rows = max(each.buffer.row_capacity for each in self.inputs[: self._expiring])
        self._results.make_room(len(came), rows)
        came = np.ascontiguousarray(came)
        gone = _END.run(self._plan.arrays[0], self._number, self._results.record.address, came)
        return Results(came, came_at, *gone)

    def _came_in_sight(self, sight: Sight) -> list[_Found]:
        """What fresh rows find, where queries that share the join came later than some rows.

        A row that comes again is as a fresh one for who came since it came before.
        """
        later = {at: (leaf, leaf.begins, of) for at, leaf, of in sight.begins if leaf.begins is not None}
        found: list[_Found] = []
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
        """The ends of results are not needed, so that results are not kept."""
        self._keeps = False

    def _old(self, batch: MomentBatch) -> _Found:
        """The results of rows that were there before the first batch; they come with its first moment."""
        olds = [each.buffer.old_rows(batch.first) for each in self.inputs]
        fewest = min(range(len(olds)), key=lambda at: len(olds[at]))
        if len(olds[fewest]) == 0:
            return self._nothing, _NO_MOMENTS
        pointers, moments = self._probe(fewest, olds[fewest], np.full(len(olds[fewest]), batch.first - 1), ties=1)
        if len(moments) and self._sight is not None:
            pointers, moments = _keep(pointers, moments, self._in_sight_before(self._sight, pointers, batch.first))
        return pointers, moments + 1

    def _in_sight_before(self, sight: Sight, pointers: Pointers, moment: int) -> Mask:
        """Of results with rows that are there, those whose rows their query has seen before a moment."""
        kept: Mask = np.ones(len(pointers), np.bool_)
        queries = self.inputs[sight.queries].buffer.values[pointers[:, sight.queries], sight.column]
        for at, leaf, of in sight.begins:
            if leaf.begins is not None:
                kept &= leaf.begins.seen_at(pointers[:, at], of.numbers[queries]) < moment
        return kept

    def table(self, pointers: Pointers) -> Table:
        """The values of the wanted variables."""
        count = len(pointers)
        if count == 0:
            return NOTHING.came
        columns = {name: self._values(pointers, home) for name, home in self._others.items()}
        if self._names_read:
            found = _VALUES.run(self._plan.arrays[0], np.ascontiguousarray(pointers), self._homes_read)
            columns.update(zip(self._names_read, found, strict=True))
        return Table(columns, count)

    def rows(self) -> Table:
        """All results that hold."""
        return self.table(self._results.live())

    def _is_in_array(self, home: Home) -> bool:
        """Whether a kernel can read the values of a variable."""
        return len(home.places) == 1 and home.places[0][0] not in self._stored

    def _probe(self, start: int, rows: Rows, moments: Ids, ties: int = BY_ITSELF) -> _Found:
        """The results of rows of one input with rows that live at their moments, and these moments.

        Of inputs before it also those that begin then are seen, or, where `ties` says so, of all.
        """
        if self._is_vain is None:
            self._is_vain = any(each.buffer.live == 0 for each in self.inputs)
        if self._is_vain:
            return self._nothing, _NO_MOMENTS
        pointers = np.empty((len(rows), len(self.inputs)), np.int32)
        pointers[:, start] = rows
        if self._plan.starts[start]:
            pointers, moments = self._test(pointers, self._plan.starts[start], moments)
        return self._extend(start, pointers, 1 << start, moments, ties)

    def _extend(
        self, start: int, pointers: Pointers, joined: int, moments: Ids, ties: int, first: ProbeStep | None = None
    ) -> _Found:
        """Partial results with rows of the other inputs, of which `first`, if that is said, is probed first."""
        if len(moments) == 0:
            return self._nothing, _NO_MOMENTS
        step = -1 if first is None else first.number
        pointers, moments = np.ascontiguousarray(pointers), np.ascontiguousarray(moments)
        return self._go_on(
            start, ties, *_EXTEND.run(*self._plan.arrays, self._number, start, ties, joined, pointers, moments, step)
        )

    def _go_on(
        self, start: int, ties: int, reason: int, joined: int, number: int, pointers: Pointers, moments: Ids
    ) -> _Found:
        """The results of partial ones at which a kernel has stopped."""
        while len(moments):
            if reason == DONE:
                break
            if reason == UNKNOWN:
                self._plan.following(joined)
            elif reason == SKEWED:
                return self._extend_by_counts(start, pointers, joined, moments, ties)
            elif reason == PYTHON_STEP:
                step = self._plan.steps[number]
                if len(moments) > FEW_ROWS and len(blocks := self._blocks(step, pointers)) > 1:
                    return self._extend_in_blocks(start, pointers, joined, moments, ties, step, blocks)
                pointers, moments = self._look_up(step, pointers, moments, start, ties)
                joined |= 1 << step.at
                pointers, moments = self._check(step, pointers, moments)
            elif reason == TEST:
                pointers, moments = self._check(self._plan.steps[number], pointers, moments)
            if len(moments):
                pointers, moments = np.ascontiguousarray(pointers), np.ascontiguousarray(moments)
                reason, joined, number, pointers, moments = _EXTEND.run(
                    *self._plan.arrays, self._number, start, ties, joined, pointers, moments, -1
                )
        if self._overlapping and len(moments):
            pointers, moments = _keep(pointers, moments, self._overlap(pointers))
        return (pointers, moments) if len(moments) else (self._nothing, _NO_MOMENTS)

    def _check(self, step: ProbeStep, pointers: Pointers, moments: Ids) -> _Found:
        """What is left of partial results by what has to be compared, and by conditions that can be tested."""
        for column, home in step.compared:
            if len(moments):
                here = self.inputs[step.at].buffer.values[pointers[:, step.at], column]
                there = self._values(pointers, home)
                pointers, moments = _keep(pointers, moments, (here == there) | (here == 0) | (there == 0))
        return self._test(pointers, step.conditions, moments)

    def _extend_by_counts(self, start: int, pointers: Pointers, joined: int, moments: Ids, ties: int) -> _Found:
        """As `_extend`, each partial result by the input in which its key has the fewest rows."""
        steps = [step for step in self._plan.following(joined) if step.columns]
        counts = [self._plan.index_of(step).counts(self._keys(step, pointers)) for step in steps]
        best = np.stack(counts).argmin(axis=0)
        extended = [
            self._extend(start, pointers[rows], joined, moments[rows], ties, step)
            for at, step in enumerate(steps)
            if len(rows := np.flatnonzero(best == at))
        ]
        return _merge_in_order(extended, self._nothing)

    def _extend_in_blocks(
        self,
        start: int,
        pointers: Pointers,
        joined: int,
        moments: Ids,
        ties: int,
        step: ProbeStep,
        blocks: list[Ids],
    ) -> _Found:
        """As `_extend`, for some partial results after others, with looks at the deadline between."""
        extended = []
        for rows in blocks:
            extended.append(self._extend(start, pointers[rows], joined, moments[rows], ties, step))
            current().reserve(extended[-1][0].nbytes)
        return _merge_in_order(extended, self._nothing)

    def _blocks(self, step: ProbeStep, pointers: Pointers) -> list[Ids]:
        """Partial results in blocks, of which each finds a few million rows; nothing where they find no more."""
        if step.ranged is not None:  # a range may find all rows
            size = max(FEW_ROWS, ROWS_AT_ONCE // self.inputs[step.at].buffer.live)
            return np.split(np.arange(len(pointers)), np.arange(size, len(pointers), size))
        index = self._plan.index_of(step)
        if not index.is_skewed and len(pointers) * index.rows_per_key() <= ROWS_AT_ONCE:
            return []
        ends = np.cumsum(index.counts(self._keys(step, pointers)))
        with current().step():
            current().reserve(int(ends[-1]) * (4 * len(self.inputs) + 8))
        cuts = np.unique(np.searchsorted(ends, np.arange(ROWS_AT_ONCE, ends[-1], ROWS_AT_ONCE)))
        return [rows for rows in np.split(np.arange(len(pointers)), cuts) if len(rows)]

    def _look_up(self, step: ProbeStep, pointers: Pointers, moments: Ids, start: int, ties: int) -> _Found:
        """Partial results with the rows of one more input."""
        seen = int(step.at < start) if ties == BY_ITSELF else ties
        if step.ranged is not None:
            return self._look_up_range(step, step.ranged, pointers, moments, seen)
        index, lives = self._plan.index_of(step), self.inputs[step.at].buffer.lives(self._number)
        lefts, hits = index.probe(self._keys(step, pointers), moments, seen, lives)
        found: _Found = _WITH_ROWS.run(pointers, moments, lefts, hits, step.at)
        return found

    def _look_up_range(self, step: ProbeStep, ranged: RangeStep, pointers: Pointers, moments: Ids, ties: int) -> _Found:
        """Partial results with the rows of one more input that are within the range of each."""
        buffer = self.inputs[step.at].buffer
        assert isinstance(buffer, LeafBuffer | RowBuffer), "others have no ordered index"
        columns = {name: self._values(pointers, home) for name, home in ranged.homes}
        ranges = ranged.probe.ranges(columns, len(moments))
        index = buffer.ordered_on(ranged.column, self._dictionary)
        lefts, hits = index.probe(*ranges, moments, ties, buffer.lives(self._number))
        found: _Found = _WITH_ROWS.run(pointers, moments, lefts, hits, step.at)
        return found

    def _keys(self, step: ProbeStep, pointers: Pointers) -> Ids:
        """What partial results look up in the input of a step."""
        if len(pointers) > 1 and all(map(self._is_in_array, step.keys)):
            starts, steps, places, _ = self._plan.arrays
            first = steps.item(step.number, FIRST_KEY)
            found: Ids = _VALUES.run(starts, pointers, places[first : first + len(step.keys)])
            return np.ascontiguousarray(found.T)
        keys = np.empty((len(pointers), len(step.keys)), np.int64)
        for place, home in enumerate(step.keys):
            keys[:, place] = self._values(pointers, home)
        return keys

    def _values(self, pointers: Pointers, home: Home) -> Ids:
        (at, column), *others = home.places
        of_all = self.inputs[at].buffer.values
        if len(pointers) == 1:  # NumPy takes four times as long to look one value up
            values: Ids = np.array([of_all.item(pointers.item(0, at), column)], np.int64)
        else:
            values = of_all[pointers[:, at], column]
        for at, column in others:
            values = np.where(values != 0, values, self.inputs[at].buffer.values[pointers[:, at], column])
        return values

    def _test(self, pointers: Pointers, conditions: tuple[HomedCondition, ...], moments: Ids) -> _Found:
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


def _keep(pointers: Pointers, moments: Ids, keep: Mask) -> _Found:
    """Some of the results."""
    return (pointers, moments) if keep.all() else (pointers[keep], moments[keep])


def _merge_in_order(parts: list[_Found], nothing: Pointers) -> _Found:
    """Results of several parts in order of their moments."""
    if not parts:
        return nothing, _NO_MOMENTS
    pointers, moments = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    if len(moments) < 2 or is_in_order(moments):
        return pointers, moments
    order = np.argsort(moments, kind="stable")
    return pointers[order], moments[order]


def _mixed(pointers: Pointers) -> Ids:
    """A number for each result, the same for the same pointers."""
    mixed = np.zeros(len(pointers), np.int64)
    for column in pointers.T:
        mixed *= _MIXING
        mixed += column
    return mixed
