"""The multiway join, by increments.

    (R1 + d1) ⋈ R2 ⋈ … = (R1 ⋈ R2 ⋈ …)  ∪  d1 ⋈ (R2 ⋈ …)        rows come: equations 1 and 3
    (R1 - d1) ⋈ R2 ⋈ … = (R1 ⋈ R2 ⋈ …)  ∖  those that point to d1  rows go: equation 2, by pointers

| leaf a (?x ?y) | leaf b (?y ?z) | new results      |
| -------------- | -------------- | ---------------- |
| + (1 2)        | (2 7) (2 8)    | (1 2 7), (1 2 8) |

Variables that an input may leave unbound are not looked up but compared after the look-up: unbound agrees with all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.native.change import Change
from freshet.native.conditions import Condition
from freshet.native.inputs import Input
from freshet.native.one_way_index import Ids, Mask, Rows
from freshet.native.plan import PlanCondition
from freshet.native.result_buffer import Pointers, ResultBuffer
from freshet.native.row_buffer import RowBuffer
from freshet.native.stored_leaf import StoredLeaf
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary

EVERY_STEP = 2**62

_NO_ROWS = Table({}, 0)
_NOTHING = Change(_NO_ROWS, _NO_ROWS)


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
    ) -> None:
        self.inputs = inputs
        self.seen: int | None = None  # the last step it has taken in
        self._overlapping = overlapping
        self._followed = [each.buffer for each in inputs if isinstance(each.buffer, RowBuffer)]
        self._conditions = [
            (Condition(each.expression, dictionary), variables_of(each.expression) & each.scope) for each in conditions
        ]
        self._expiring = sum(each.expires for each in inputs)
        self._results = ResultBuffer(len(inputs), self._expiring)
        self._all = (1 << len(inputs)) - 1
        self._starts = [self._step(0, at) for at in range(len(inputs))]
        self._steps: dict[int, list[_Step]] = {}  # by the set of inputs that are joined already
        self._wanted = {name: home for name in wanted if (home := self._home(name, self._all)).places}
        self._nothing = np.empty((0, len(inputs)), np.int32)
        self._pairings = [self._pairing(at) for at in range(len(inputs))]
        self._costs: dict[tuple[int, tuple[int, ...]], tuple[bool, float]] = {}  # in this step

    def changes(self, number: int) -> Change:
        came, went = self.pointer_changes(number)
        return Change(self.table(came), self.table(went)) if len(came) or len(went) else _NOTHING

    def rows(self) -> Table:
        return self.table(self._results.live())

    def pointer_changes(self, number: int) -> tuple[Pointers, Pointers]:
        """The results that came and went, as pointers to the inputs' rows."""
        self._costs.clear()
        for buffer in self._followed:
            buffer.follow(number)
        went = self._nothing
        if self.seen is None:
            fewest = min(range(len(self.inputs)), key=lambda at: self.inputs[at].buffer.live)
            came = self._probe(fewest, self.inputs[fewest].buffer.live_rows(), EVERY_STEP, EVERY_STEP)
        else:
            gone = [
                self._results.invalidate(at, rows)
                for at in range(self._expiring)
                if len(rows := self.inputs[at].buffer.dead(self.seen))
            ]
            if gone:
                went = gone[0] if len(gone) == 1 else np.concatenate(gone)
            came = self._fresh(self.seen)
        self.seen = number
        if len(came):
            self._results.add(came, [each.buffer.row_capacity for each in self.inputs[: self._expiring]])
        return came, went

    def live(self) -> Pointers:
        """The pointers of all results."""
        return self._results.live()

    def table(self, pointers: Pointers) -> Table:
        """The values of the wanted variables."""
        if len(pointers) == 0:
            return _NO_ROWS
        columns = [pointers[:, at] for at in range(len(self.inputs))]
        return Table({name: self._values(columns, home) for name, home in self._wanted.items()}, len(pointers))

    def _fresh(self, since: int) -> Pointers:
        """The results that the rows born after a step add.

        A result of several new rows is found once: from the last of them, since a probe sees the new rows only of
        the inputs before its own.
        """
        found = [
            self._probe(at, rows, EVERY_STEP, since + 1)
            for at, each in enumerate(self.inputs)
            if len(rows := each.buffer.fresh(since))
        ]
        found = [each for each in found if len(each)]
        if not found:
            return self._nothing
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _probe(self, start: int, rows: Rows, before_earlier: int, before_later: int) -> Pointers:
        for each in self.inputs:
            if each.buffer.live == 0:
                return self._nothing
        pairing = self._pairings[start]
        if pairing is not None:
            buffer = self.inputs[pairing.at].buffer
            before = before_later if pairing.at > start else before_earlier
            index, values = buffer.index_on(pairing.columns), self.inputs[start].buffer.values
            return index.pairs(rows, values, pairing.keys, buffer.born, before, start)
        found: list[Rows] = [rows] * len(self.inputs)  # of the inputs that are joined, pointers to their rows
        joined = 1 << start
        self._test(found, joined, self._starts[start].conditions)
        while joined != self._all:
            if len(found[start]) == 0:
                return self._nothing
            step = self._cheapest(joined)
            buffer = self.inputs[step.at].buffer
            keys = np.empty((len(found[start]), len(step.keys)), np.int64)
            for place, home in enumerate(step.keys):
                keys[:, place] = self._values(found, home)
            before = before_later if step.at > start else before_earlier
            lefts, hits = buffer.index_on(step.columns).probe(keys, buffer.born, before)
            if len(hits) == 0:
                return self._nothing
            for at in range(len(found)):
                if joined >> at & 1:
                    found[at] = found[at][lefts]
            found[step.at] = hits
            joined |= 1 << step.at
            for column, home in step.compared:
                here, there = buffer.values[found[step.at], column], self._values(found, home)
                self._keep(found, joined, (here == there) | (here == 0) | (there == 0))
            self._test(found, joined, step.conditions)
        if self._overlapping:
            self._keep(found, joined, self._overlap(found))
        if len(found[start]) == 0:
            return self._nothing
        pointers = np.empty((len(found[start]), len(found)), np.int32)
        for at, held in enumerate(found):
            pointers[:, at] = held
        return pointers

    def _pairing(self, start: int) -> _Pairing | None:
        """How the rows of an input probe the only other one; None where there is more to it than a look-up."""
        if len(self.inputs) != 2 or self._overlapping or self._conditions:
            return None
        if isinstance(self.inputs[start].buffer, StoredLeaf):  # which has no array of values
            return None
        step = self._step(1 << start, 1 - start)
        if step.compared or any(len(home.places) > 1 for home in step.keys):
            return None
        return _Pairing(step.at, step.columns, np.array([home.places[0][1] for home in step.keys], np.int64))

    def _cheapest(self, joined: int) -> _Step:
        """The input to probe next: fewest rows to expect for each probe (algorithm 5)."""
        steps = self._steps.get(joined)
        if steps is None:
            others = [at for at in range(len(self.inputs)) if not joined >> at & 1]
            steps = self._steps[joined] = [self._step(joined, at) for at in others]
        if len(steps) == 1:
            return steps[0]
        return min(steps, key=self._cost)

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

    def _test(self, found: list[Rows], joined: int, conditions: tuple[_Condition, ...]) -> None:
        for condition, homes in conditions:
            at = joined.bit_length() - 1
            if count := len(found[at]):
                columns = {name: self._values(found, home) for name, home in homes}
                self._keep(found, joined, condition.test(columns, count))

    def _overlap(self, found: Sequence[Rows]) -> Mask:
        left, right = self.inputs
        overlap: Mask = np.zeros(len(found[0]), np.bool_)
        for column, name in enumerate(left.names):
            if name in right.names:
                others = right.buffer.values[found[1], right.names.index(name)]
                overlap |= (left.buffer.values[found[0], column] != 0) & (others != 0)
        return overlap

    @staticmethod
    def _keep(found: list[Rows], joined: int, keep: Mask) -> None:
        if not keep.all():
            for at in range(len(found)):
                if joined >> at & 1:
                    found[at] = found[at][keep]
