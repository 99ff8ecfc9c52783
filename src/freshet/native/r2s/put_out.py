"""What a report puts out (R2S): all of the answer, what is new in it, or what is gone from it."""

from __future__ import annotations

from typing import cast

import numpy as np

from freshet.algebra.nodes import StreamOperator
from freshet.native.change import Operator, Sequenced
from freshet.native.one_way_index import Ids
from freshet.native.operators.pair_join import PairJoinOp
from freshet.native.plan import Plan, PlanOrdered
from freshet.native.r2s.bags import as_rows, bag_difference


def put_out_of(root: Operator, plan: Plan) -> Followed | Kept:
    """The R2S operator of a query."""
    return Kept(cast(Sequenced, root), plan) if isinstance(plan.root, PlanOrdered) else Followed(root, plan)


class Followed:
    """R2S by what came and went since the evaluation before (equations 4 to 6)."""

    def __init__(self, root: Operator, plan: Plan) -> None:
        self._root = root
        self._variables = plan.variables
        self._output = plan.output
        self._keeps = plan.output is not StreamOperator.RSTREAM  # what came and went until it is asked for
        self._pair = root if isinstance(root, PairJoinOp) and root.arrange(plan.variables) else None
        self._is_exact = self._pair is not None and not self._pair.has_equal_rows
        self._came: list[Ids] = []
        self._went: list[Ids] = []
        self._shown = self._went if plan.output is StreamOperator.DSTREAM else self._came
        self._steps = 0  # that have been taken in since the evaluation before
        self._nothing = _no_rows(plan.variables)
        self._rows: Ids | None = None  # the answer, where it was asked for since it changed
        self._was_empty = True  # the evaluation before, by the rule of empty windows or since there was none

    def take_in(self, number: int) -> None:
        if self._pair is not None:
            if self._steps and self._keeps:  # what a join of two gave at the step before is written over now
                self._came[:], self._went[:] = map(_kept, self._came), map(_kept, self._went)
            came, went = self._pair.row_changes(number)
        else:
            change = self._root.changes(number)
            if change and not self._keeps:
                self._rows = None
                return
            came = as_rows(change.came, self._variables) if change.came.count else self._nothing
            went = as_rows(change.went, self._variables) if change.went.count else self._nothing
        self._steps += 1
        if len(came):
            self._rows = None
            if self._keeps:
                self._came.append(came)
        if len(went):
            self._rows = None
            if self._keeps:
                self._went.append(went)

    def put_out(self, *, empty: bool) -> Ids:
        steps, self._steps = self._steps, 0
        if not self._keeps:
            return _no_rows(self._variables) if empty else self._answer()
        was_empty, self._was_empty = self._was_empty, empty
        if steps <= 1 and self._is_exact and not (was_empty or empty):  # nothing that came is equal to what went
            rows = self._shown[0].copy() if self._shown else self._nothing
            self._came.clear()
            self._went.clear()
            return rows
        if not (self._came or self._went or was_empty or empty):
            return self._nothing
        came, went = self._taken(self._came), self._taken(self._went)
        if was_empty:
            went, came = _no_rows(self._variables), _no_rows(self._variables) if empty else self._answer()
        elif empty:
            went = bag_difference(np.concatenate((self._answer(), went)), came)  # the answer before
            came = _no_rows(self._variables)
        rows = bag_difference(came, went) if self._output is StreamOperator.ISTREAM else bag_difference(went, came)
        return _kept(rows)

    def _answer(self) -> Ids:
        if self._rows is None:
            pair = self._pair
            self._rows = as_rows(self._root.rows(), self._variables) if pair is None else pair.row_values()
        return self._rows

    def _taken(self, parts: list[Ids]) -> Ids:
        if not parts:
            return self._nothing
        rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
        parts.clear()
        return rows


class Kept:
    """R2S where the answer is a sequence that is made as a whole: the one before is kept to tell what is new."""

    def __init__(self, root: Sequenced, plan: Plan) -> None:
        self._root = root
        self._variables = plan.variables
        self._output = plan.output
        self._before = _no_rows(plan.variables)

    def take_in(self, number: int) -> None:
        self._root.follow(number)

    def put_out(self, *, empty: bool) -> Ids:
        now = as_rows(self._root.given_out(empty=empty), self._variables)
        before, self._before = self._before, now
        if self._output is StreamOperator.RSTREAM:
            return now
        if self._output is StreamOperator.ISTREAM:
            return bag_difference(now, before)
        return bag_difference(before, now)


def _kept(rows: Ids) -> Ids:
    """Rows that nobody writes over: not those that stand in an array of a join's."""
    return rows.copy() if isinstance(rows.base, np.ndarray) else rows


def _no_rows(variables: tuple[str, ...]) -> Ids:
    return np.empty((0, len(variables)), np.int64)
