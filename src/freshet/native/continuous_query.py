"""One query and its state: its operators, and what it put out last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from freshet.federation.evaluation import Evaluation
from freshet.native.change import Batch, Operator
from freshet.native.leaf_buffer import LeafBuffer
from freshet.native.one_way_index import Ids
from freshet.native.plan import Plan
from freshet.native.r2s.relation_to_stream import Answers, relation_to_stream
from freshet.native.stored_leaf import StoredLeaf
from freshet.oneshot.construct import construct
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary
from freshet.results.report import Freshness, Report


class ContinuousQuery:
    """A registered query: `evaluate` in each batch, then `report` what that gives."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        leaves: Sequence[LeafBuffer | StoredLeaf],
        root: Operator,
        dictionary: Dictionary,
        on_report: Callable[[Report], None],
        evaluation: Evaluation | None = None,
        *,
        exact: bool = False,
    ) -> None:
        self.name = name
        self.plan = plan
        self.leaves = leaves  # the leaf buffers that it reads
        self.on_report = on_report
        self.evaluation = evaluation  # where it has SERVICE
        self._freshness: Freshness | None = None  # of the last evaluation
        self._dictionary = dictionary
        self._r2s = relation_to_stream(root, plan, exact=exact)

    def evaluate(self, batch: Batch, held: Ids) -> Answers:
        """Take a batch in, and give what its evaluations report."""
        if self.evaluation is None:
            return self._r2s.step(batch, held)
        if not len(batch.due):
            return self._r2s.step(batch, held)
        self.evaluation.begin()
        answers = self._r2s.step(batch, held)
        self._freshness = self.evaluation.freshness()
        if not len(answers.places) and self._freshness is not None:
            self.evaluation.silent_evaluation(self._freshness)
        return answers

    def report(self, time_ms: int, rows: Ids) -> None:
        """Report what an evaluation gave."""
        plan, graph = self.plan, None
        if plan.template is not None:
            table = Table({name: rows[:, at] for at, name in enumerate(plan.variables)}, len(rows))
            graph = construct(plan.template, table, self._dictionary)
            if len(graph.subjects) == 0:
                if self.evaluation is not None and self._freshness is not None:
                    self.evaluation.silent_evaluation(self._freshness)
                return
        self.on_report(
            Report(self.name, time_ms, plan.output, plan.variables, rows, graph, self._freshness, self._dictionary)
        )
