"""One query and its state: its operators, and what it put out last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from freshet.algebra.nodes import StreamOperator
from freshet.native.change import Operator, Sequenced
from freshet.native.leaf_buffer import LeafBuffer
from freshet.native.one_way_index import Ids
from freshet.native.plan import Plan, PlanOrdered
from freshet.native.r2s.bags import as_rows, bag_difference
from freshet.native.s2r.content import WindowContent
from freshet.oneshot.construct import construct
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary
from freshet.results.report import Report


class ContinuousQuery:
    """A registered query. `take_in` after each step of one of its windows, then `report` where one is due."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        windows: Sequence[WindowContent],
        leaves: Sequence[LeafBuffer],
        root: Operator,
        dictionary: Dictionary,
        on_report: Callable[[Report], None],
    ) -> None:
        self.name = name
        self.plan = plan
        self.windows = windows
        self.leaves = leaves  # the leaf buffers that it reads
        self.on_report = on_report
        self._dictionary = dictionary
        ordered = isinstance(plan.root, PlanOrdered)
        self._r2s: _Kept | _Followed = _Kept(cast(Sequenced, root), plan) if ordered else _Followed(root, plan)

    def take_in(self, number: int) -> None:
        """Take in what the leaves' step changed."""
        self._r2s.take_in(number)

    def report(self, time_ms: int) -> Report | None:
        """What the query's R2S operator puts out now; None where that is nothing."""
        # Where all windows are empty the answer is empty, whatever the stored graph has.
        rows = self._r2s.put_out(empty=bool(self.windows) and not any(window.count for window in self.windows))
        if len(rows) == 0:
            return None
        plan = self.plan
        if plan.template is None:
            return Report(self.name, time_ms, plan.output, plan.variables, rows)
        table = Table({name: rows[:, at] for at, name in enumerate(plan.variables)}, len(rows))
        graph = construct(plan.template, table, self._dictionary)
        if len(graph.subjects) == 0:
            return None
        return Report(self.name, time_ms, plan.output, plan.variables, rows, graph)


class _Followed:
    """R2S by what came and went since the evaluation before (equations 4 to 6)."""

    def __init__(self, root: Operator, plan: Plan) -> None:
        self._root = root
        self._variables = plan.variables
        self._output = plan.output
        self._came: list[Ids] = []
        self._went: list[Ids] = []
        self._was_empty = True  # the evaluation before, by the rule of empty windows or since there was none

    def take_in(self, number: int) -> None:
        change = self._root.changes(number)
        if self._output is not StreamOperator.RSTREAM:
            if change.came.count:
                self._came.append(as_rows(change.came, self._variables))
            if change.went.count:
                self._went.append(as_rows(change.went, self._variables))

    def put_out(self, *, empty: bool) -> Ids:
        if self._output is StreamOperator.RSTREAM:
            return _no_rows(self._variables) if empty else self._answer()
        came, went = self._taken(self._came), self._taken(self._went)
        was_empty, self._was_empty = self._was_empty, empty
        if was_empty:
            went, came = _no_rows(self._variables), _no_rows(self._variables) if empty else self._answer()
        elif empty:
            went = bag_difference(np.concatenate((self._answer(), went)), came)  # the answer before
            came = _no_rows(self._variables)
        return bag_difference(came, went) if self._output is StreamOperator.ISTREAM else bag_difference(went, came)

    def _answer(self) -> Ids:
        return as_rows(self._root.rows(), self._variables)

    def _taken(self, parts: list[Ids]) -> Ids:
        rows = np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else _no_rows(self._variables)
        parts.clear()
        return rows


class _Kept:
    """R2S where the answer is a sequence that is made as a whole: the one before is kept to tell what is new."""

    def __init__(self, root: Sequenced, plan: Plan) -> None:
        self._root = root
        self._variables = plan.variables
        self._output = plan.output
        self._before = _no_rows(plan.variables)

    def take_in(self, number: int) -> None:
        self._root.follow(number)

    def put_out(self, *, empty: bool) -> Ids:
        now = _no_rows(self._variables) if empty else as_rows(self._root.rows(), self._variables)
        before, self._before = self._before, now
        if self._output is StreamOperator.RSTREAM:
            return now
        if self._output is StreamOperator.ISTREAM:
            return bag_difference(now, before)
        return bag_difference(before, now)


def _no_rows(variables: tuple[str, ...]) -> Ids:
    return np.empty((0, len(variables)), np.int64)
