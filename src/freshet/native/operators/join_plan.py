"""How the inputs of a join can be probed one after the other, as kernels read it (`freshet.kernels.join_steps`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.kernels.join_steps import ALSO_OLD, BY_PYTHON, FRESH_ONLY, INDEX, OF_KERNEL, STEP_FIELDS
from freshet.native.buffers.inputs import Index, Input
from freshet.native.buffers.leaf_buffer import LeafBuffer
from freshet.native.buffers.leaf_view import LeafView
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.operators.conditions import Condition
from freshet.native.operators.range_probe import RangeProbe
from freshet.native.operators.stored_copy import StoredCopy
from freshet.native.plan.plan import PlanCondition
from freshet.native.plan.range_bounds import RangeBound, range_bounds
from freshet.rdf.dictionary import Dictionary

_THIN = 2.0  # stored rows for each row of an input


@dataclass(frozen=True, slots=True)
class Home:
    """Where the values of a variable are: in columns of some inputs, of which the first that is bound counts."""

    places: tuple[tuple[int, int], ...]


HomedCondition = tuple[Condition, tuple[tuple[str, Home], ...]]


@dataclass(frozen=True, slots=True)
class RangeStep:
    """How rows of an input are found by a range of one of its columns, from the values of some variables."""

    column: int
    probe: RangeProbe
    homes: tuple[tuple[str, Home], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ProbeStep:
    """An input that can be probed next: on which columns, with which values, and what is to be compared after."""

    number: int  # among all steps
    at: int
    columns: tuple[int, ...]
    keys: tuple[Home, ...]
    compared: tuple[tuple[int, Home], ...]  # columns of the input that may be unbound, here or there
    conditions: tuple[HomedCondition, ...]  # which can be tested from then on
    ranged: RangeStep | None  # how rows are found where there are no columns


class JoinPlan:
    """The steps that can follow each set of inputs that are joined already; sets are integers, a bit for an input.

    Steps are found out when they are asked for. What kernels read is in `arrays`.
    """

    def __init__(self, inputs: Sequence[Input], conditions: Sequence[PlanCondition], dictionary: Dictionary) -> None:
        self.inputs = inputs
        self.all = (1 << len(inputs)) - 1
        self._dictionary = dictionary
        self._conditions = [
            (Condition(each.expression, dictionary), variables_of(each.expression) & each.scope) for each in conditions
        ]
        self._bounds = [
            bound
            for each in conditions
            for bound in range_bounds(each.expression)
            if {bound.variable, *bound.others} <= each.scope
        ]
        # The conditions on each input alone, where they are not better tested with the first of the others.
        self._late = sum(1 << at for at in range(len(inputs)) if self._is_thinned(at))
        self.starts = [() if self._late >> at & 1 else self._ready(0, 1 << at) for at in range(len(inputs))]
        self.steps: list[ProbeStep] = []
        self._next: dict[int, list[ProbeStep]] = {}
        self._partial = [at for at in range(len(inputs)) if self._is_partial(at)]  # inputs of which not all is seen
        addresses = [each.buffer.record.address for each in inputs]
        self._starts = np.array([(address, 0) for address in addresses], np.int64)
        self._steps = np.zeros((0, STEP_FIELDS), np.int64)
        self._keys = np.zeros((0, 2), np.int64)
        self._masks = np.zeros((0, 3), np.int64)
        self._mark_starts()
        self._use()

    def _use(self) -> None:
        self.arrays = (self._starts, self._steps, self._keys, self._masks)

    def _mark_starts(self) -> None:
        """Say with the rows of which inputs Python begins."""
        for at, each in enumerate(self.inputs):
            by_python = isinstance(each.buffer, StoredLeaf) or bool(self.starts[at])
            self._starts[at, 1] = ALSO_OLD if at in self._partial else FRESH_ONLY if by_python else OF_KERNEL

    def follow(self) -> None:
        """Before a batch: once all rows of an input are in sight, kernels can read it."""
        if not self._partial:
            return
        partial = [at for at in self._partial if self._is_partial(at)]
        if partial != self._partial:
            self._partial = partial
            self._mark_starts()
            for step in self.steps:
                self._steps[step.number, BY_PYTHON] = self._is_by_python(step)

    def _is_partial(self, at: int) -> bool:
        buffer = self.inputs[at].buffer
        return isinstance(buffer, LeafView) and buffer.is_partial

    def following(self, joined: int) -> list[ProbeStep]:
        """The inputs that can be probed next: those that share nothing with what is joined come last."""
        steps = self._next.get(joined)
        if steps is None:
            made = [self._step(joined, at) for at in range(len(self.inputs)) if not joined >> at & 1]
            by_range = [step for step in made if step.ranged is not None]
            chosen = [step for step in made if step.columns] or by_range or made
            first = len(self.steps)
            steps = self._next[joined] = [replace(step, number=first + at) for at, step in enumerate(chosen)]
            self.steps += steps
            self._write(joined, steps)
        return steps

    def _write(self, joined: int, steps: list[ProbeStep]) -> None:
        """Let kernels know steps."""
        rows: list[list[int]] = []
        keys: list[tuple[int, int]] = []
        for step in steps:
            row = [step.at, 0, len(self._keys) + len(keys), len(step.columns), self._is_by_python(step)]
            rows.append([*row, bool(step.compared or step.conditions)])
            keys += [home.places[0] for home in step.keys]
        self._masks = np.concatenate((self._masks, np.array([(joined, len(self._steps), len(steps))], np.int64)))
        self._steps = np.concatenate((self._steps, np.array(rows, np.int64)))
        self._keys = np.concatenate((self._keys, np.array(keys, np.int64).reshape(-1, 2)))
        self._use()
        for step in steps:
            if step.columns:
                self.index_of(step)

    def index_of(self, step: ProbeStep) -> Index:
        """The index that a step looks into, made the first time it is asked for."""
        index = self.inputs[step.at].buffer.index_on(step.columns)
        self._steps[step.number, INDEX] = index.record.address
        return index

    def _is_by_python(self, step: ProbeStep) -> bool:
        """Whether a kernel cannot do a step: what it reads is not in arrays, or in part not to be seen."""
        read = {step.at, *(home.places[0][0] for home in step.keys)}
        is_elsewhere = any(isinstance(self.inputs[at].buffer, StoredLeaf) for at in read)
        return step.ranged is not None or is_elsewhere or step.at in self._partial

    def _step(self, joined: int, at: int) -> ProbeStep:
        each = self.inputs[at]
        keys: list[tuple[int, Home]] = []
        compared: list[tuple[int, Home]] = []
        for column, name in enumerate(each.names):
            home = self.home(name, joined)
            if home.places:
                sure = name in each.certain and self._is_sure(name, joined)
                (keys if sure else compared).append((column, home))
        columns, homes = tuple(column for column, _ in keys), tuple(home for _, home in keys)
        ranged = None if columns else self._range(joined, at)
        ready = self._ready(joined, joined | 1 << at)
        return ProbeStep(-1, at, columns, homes, tuple(compared), ready, ranged)

    def _ready(self, joined: int, with_it: int) -> tuple[HomedCondition, ...]:
        """The conditions that can be tested once one more input is joined."""
        return tuple(
            (condition, tuple((name, home) for name in names if (home := self.home(name, with_it)).places))
            for condition, names in self._conditions
            if self._can_test(names, with_it) and not self._is_tested(names, joined)
        )

    def _is_tested(self, names: set[str], joined: int) -> bool:
        """Whether a condition has been tested once some inputs are joined."""
        is_late = joined & self._late == joined and joined.bit_count() == 1
        return joined > 0 and not is_late and self._can_test(names, joined)

    def _is_thinned(self, at: int) -> bool:
        """Whether few stored rows are joined with an input, at most one or two with each of its rows.

        A kernel finds these sooner than Python tests a condition on all rows of the input.
        """
        each = self.inputs[at]
        if not isinstance(each.buffer, LeafBuffer | LeafView):
            return False
        return any(
            other.buffer.rows_per_value([other.names.index(name) for name in shared]) <= _THIN
            for other in self.inputs
            if isinstance(other.buffer, StoredCopy) and (shared := each.certain & other.certain)
        )

    def _range(self, joined: int, at: int) -> RangeStep | None:
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
        homes = tuple((other, self.home(other, joined)) for other in others)
        return RangeStep(each.names.index(name), RangeProbe(bounds[name], self._dictionary), homes)

    def _can_test(self, names: set[str], joined: int) -> bool:
        """Whether a condition has all values that it will ever get."""
        return joined == self.all or all(self._is_sure(name, joined) for name in names)

    def _is_sure(self, name: str, joined: int) -> bool:
        return any(joined >> at & 1 and name in each.certain for at, each in enumerate(self.inputs))

    def home(self, name: str, joined: int) -> Home:
        """Where a variable's values are once some inputs are joined."""
        places = [
            (at, each.names.index(name))
            for at, each in enumerate(self.inputs)
            if joined >> at & 1 and name in each.names
        ]
        sure = [place for place in places if name in self.inputs[place[0]].certain]
        return Home(tuple(sure[:1] or places))
