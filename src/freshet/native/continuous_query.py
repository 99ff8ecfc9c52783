"""One query and its state: its operators, and what it put out last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from freshet.federation.evaluation import Evaluation
from freshet.native.change import Operator
from freshet.native.leaf_buffer import LeafBuffer
from freshet.native.one_way_index import Ids
from freshet.native.plan import Plan
from freshet.native.r2s.put_out import put_out_of
from freshet.native.s2r.content import WindowContent
from freshet.native.stored_leaf import StoredLeaf
from freshet.oneshot.construct import construct
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary
from freshet.results.report import Freshness, Report


class ContinuousQuery:
    """A registered query. `take_in` after each step of one of its windows, then `report` where one is due."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        windows: Sequence[WindowContent],
        leaves: Sequence[LeafBuffer | StoredLeaf],
        root: Operator,
        dictionary: Dictionary,
        on_report: Callable[[Report], None],
        evaluation: Evaluation | None = None,
    ) -> None:
        self.name = name
        self.plan = plan
        self.windows = windows
        self.leaves = leaves  # the leaf buffers that it reads
        self.on_report = on_report
        self.evaluation = evaluation  # where it has SERVICE
        self._dictionary = dictionary
        self._r2s = put_out_of(root, plan)

    def take_in(self, number: int) -> None:
        """Take in what the leaves' step changed."""
        if self.evaluation is not None:
            self.evaluation.begin()
        self._r2s.take_in(number)

    def report(self, time_ms: int) -> Report | None:
        """What the query's R2S operator puts out now; None where that is nothing."""
        # Where all windows are empty the answer is empty, whatever the stored graph has.
        rows = self._r2s.put_out(empty=self._is_empty())
        if self.evaluation is None:
            return self._report(time_ms, rows, None) if len(rows) else None
        freshness = self.evaluation.freshness()
        report = self._report(time_ms, rows, freshness)
        if report is None and freshness is not None:
            self.evaluation.silent_evaluation(freshness)
        return report

    def _report(self, time_ms: int, rows: Ids, freshness: Freshness | None) -> Report | None:
        if len(rows) == 0:
            return None
        plan = self.plan
        if plan.template is None:
            return Report(self.name, time_ms, plan.output, plan.variables, rows, None, freshness, self._dictionary)
        table = Table({name: rows[:, at] for at, name in enumerate(plan.variables)}, len(rows))
        graph = construct(plan.template, table, self._dictionary)
        if len(graph.subjects) == 0:
            return None
        return Report(self.name, time_ms, plan.output, plan.variables, rows, graph, freshness, self._dictionary)

    def _is_empty(self) -> bool:
        """Whether it has windows and nothing is in any of them."""
        for window in self.windows:
            if window.count:
                return False
        return bool(self.windows)
