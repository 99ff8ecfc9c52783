"""One query and its state: the results of its join, its groups, and what its last evaluation gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from freshet.algebra.expressions import Aggregate
from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import StreamOperator
from freshet.expressions.evaluate import evaluate, test
from freshet.native.leaf_buffer import LeafBuffer
from freshet.native.one_way_index import Ids
from freshet.native.operators.group import GroupOp
from freshet.native.operators.multiway_join import MultiwayJoinOp
from freshet.native.plan import Plan, PlanFilter, RowStep
from freshet.native.r2s.bags import bag_difference, distinct_rows
from freshet.native.result_buffer import Pointers, ResultBuffer
from freshet.native.s2r.sliding_window import SlidingWindowContent
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import XSD, Iri, Literal
from freshet.results.report import Report

# What an aggregate over no solutions is; the others are errors (SPARQL 1.1, 18.5.1).
_OF_NOTHING = {
    "COUNT": Literal("0", Iri(XSD + "integer")),
    "SUM": Literal("0", Iri(XSD + "integer")),
    "AVG": Literal("0", Iri(XSD + "integer")),
}


class ContinuousQuery:
    """A registered query. `step` after each close of one of its windows gives the report that is due, or None."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        windows: Sequence[SlidingWindowContent],
        leaves: Sequence[tuple[LeafBuffer, tuple[str, ...]]],
        dictionary: Dictionary,
        on_report: Callable[[Report], None],
    ) -> None:
        self.name = name
        self.plan = plan
        self.windows = windows
        self.on_report = on_report
        self._dictionary = dictionary
        self._leaves = [leaf for leaf, _ in leaves]
        self._join = MultiwayJoinOp(self._leaves, [names for _, names in leaves], plan.filters, dictionary)
        self._results = ResultBuffer(len(leaves), plan.window_leaves)
        self._seen: int | None = None  # the last step it has taken in
        self._group = None
        if plan.group is not None:
            aggregates = [aggregate for _, aggregate in plan.group.aggregates]
            self._group = GroupOp(len(plan.group.keys), aggregates, dictionary)
        # Where rows of the answer are not simply the join's, the last answer is kept to tell what is new.
        self._keeps_answer = plan.group is not None or plan.distinct or plan.window_leaves == 0
        self._answer = self._no_rows()

    def step(self, time_ms: int, number: int) -> Report | None:
        """Take in what the leaves' step changed, and put out what the query's R2S operator asks for."""
        came, went = self._changes(number)
        if self._group is not None:
            self._regroup(came, +1)
            self._regroup(went, -1)
        rows = self._put_out(came, went)
        if len(rows) == 0:
            return None
        return Report(self.name, time_ms, self.plan.output, self.plan.variables, rows)

    def held_ids(self) -> Iterator[Ids]:
        """The ids of its groups and of its last answer; those of its join are the leaves'."""
        yield self._answer
        if self._group is not None:
            yield from self._group.held_ids()

    def answer(self) -> Ids:
        """All solutions now, as rows of ids."""
        rows = self._rows(self._results.live()) if self._group is None else self._grouped_rows()
        return distinct_rows(rows) if self.plan.distinct else rows

    def _changes(self, number: int) -> tuple[Pointers, Pointers]:
        if self._seen is None:
            came, went = self._join.all(), self._results.live()
        else:
            gone = [
                self._results.invalidate(at, rows)
                for at, leaf in enumerate(self._leaves[: self.plan.window_leaves])
                if len(rows := leaf.dead(self._seen))
            ]
            went = np.concatenate(gone) if gone else np.empty((0, len(self._leaves)), np.int32)
            came = self._join.fresh(self._seen)
        self._seen = number
        if len(came):
            self._results.add(came, [leaf.row_capacity for leaf in self._leaves[: self.plan.window_leaves]])
        return came, went

    def _put_out(self, came: Pointers, went: Pointers) -> Ids:
        output = self.plan.output
        if self._keeps_answer or output is StreamOperator.RSTREAM:
            empty = bool(self.windows) and not any(window.count for window in self.windows)
            before, now = self._answer, self._no_rows() if empty else self.answer()
            if output is StreamOperator.RSTREAM:
                return now
            self._answer = now
        else:
            before, now = self._rows(went), self._rows(came)
        if output is StreamOperator.ISTREAM:
            return bag_difference(now, before)
        return bag_difference(before, now)

    def _no_rows(self) -> Ids:
        return np.empty((0, len(self.plan.variables)), np.int64)

    def _columns(self, pointers: Pointers, names: set[str]) -> tuple[dict[str, Ids], int]:
        """The columns of some variables over results of the join, with what is computed on them."""
        for step in reversed(self.plan.extends):
            condition = step.condition if isinstance(step, PlanFilter) else step.expression
            names = names | variables_of(condition)
        columns = self._join.columns(pointers, names)
        return self._run(self.plan.extends, columns, len(pointers))

    def _run(self, steps: Sequence[RowStep], columns: dict[str, Ids], count: int) -> tuple[dict[str, Ids], int]:
        for step in steps:
            if isinstance(step, PlanFilter):
                seen = {name: column for name, column in columns.items() if name in step.scope}
                keep = test(step.condition, seen, count, self._dictionary)
                columns = {name: column[keep] for name, column in columns.items()}
                count = int(np.count_nonzero(keep))
            else:
                columns[step.variable] = evaluate(step.expression, columns, count, self._dictionary)
        return columns, count

    def _rows(self, pointers: Pointers) -> Ids:
        return self._project(*self._columns(pointers, set(self.plan.variables)))

    def _project(self, columns: dict[str, Ids], count: int) -> Ids:
        rows = np.zeros((count, len(self.plan.variables)), np.int64)
        for at, name in enumerate(self.plan.variables):
            if name in columns:
                rows[:, at] = columns[name]
        return rows

    def _regroup(self, pointers: Pointers, sign: int) -> None:
        if len(pointers) == 0:
            return
        assert self.plan.group is not None
        assert self._group is not None
        operands = [aggregate.operand for _, aggregate in self.plan.group.aggregates]
        names = set(self.plan.group.keys).union(*(variables_of(o) for o in operands if o is not None))
        columns, count = self._columns(pointers, names)
        keys = np.zeros((count, len(self.plan.group.keys)), np.int64)
        for at, name in enumerate(self.plan.group.keys):
            if name in columns:
                keys[:, at] = columns[name]
        arguments = [
            None if operand is None else evaluate(operand, columns, count, self._dictionary) for operand in operands
        ]
        self._group.update(keys, arguments, sign)

    def _grouped_rows(self) -> Ids:
        assert self.plan.group is not None
        assert self._group is not None
        keys, values = self._group.rows()
        if len(keys) == 0 and not self.plan.group.keys:
            of_nothing = [self._of_nothing(aggregate) for _, aggregate in self.plan.group.aggregates]
            keys, values = np.empty((1, 0), np.int64), np.array([of_nothing], np.int64)
        columns = {name: keys[:, at] for at, name in enumerate(self.plan.group.keys)}
        for at, (name, _) in enumerate(self.plan.group.aggregates):
            columns[name] = values[:, at]
        return self._project(*self._run(self.plan.rows, columns, len(keys)))

    def _of_nothing(self, aggregate: Aggregate) -> int:
        term = _OF_NOTHING.get(aggregate.function)
        return self._dictionary.encode(term) if term else 0
