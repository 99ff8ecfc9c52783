"""One query and its state: its operators, and what it put out last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from freshet.federation.evaluation import Evaluation
from freshet.native.buffers.leaf_buffer import LeafBuffer
from freshet.native.buffers.one_way_index import Ids
from freshet.native.buffers.row_log import LogRows
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import MomentBatch, Operator
from freshet.native.plan.plan import Plan
from freshet.native.queries.rebuild import Rebuild
from freshet.native.r2s.exact import Exactness
from freshet.native.r2s.relation_to_stream import Answers, relation_to_stream, reports_in
from freshet.oneshot.construct import construct_each
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary
from freshet.results.answers import AnswerBatch, ArrowMemory
from freshet.results.report import Freshness

_ONE_ROW = np.array([0, 1])


class ContinuousQuery:
    """A registered query: `evaluate` in each batch, then `report` what that gives."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        leaves: Sequence[LeafBuffer | StoredLeaf],
        root: Operator,
        dictionary: Dictionary,
        on_answers: Callable[[AnswerBatch], None],
        evaluation: Evaluation | None = None,
        *,
        columns: tuple[str, ...] | None = None,
        exact: Exactness = Exactness.NEVER,
        is_measured: bool = False,
        rebuild: Rebuild,
    ) -> None:
        """`columns` are those of `root` that the variables of the answer have, where these have other names."""
        self.name = name
        self.plan = plan
        self.leaves = leaves  # the leaf buffers that it reads
        self.on_answers = on_answers
        self.evaluation = evaluation  # where it has SERVICE
        self._freshness: Freshness | None = None  # of the last evaluation
        self._dictionary = dictionary
        self._is_measured = is_measured
        self._rebuild = rebuild
        self._has_begun = False
        self._memory = ArrowMemory()
        self._r2s = relation_to_stream(root, plan, columns or plan.variables, exact=exact, is_measured=is_measured)

    @property
    def rests(self) -> bool:
        """Whether a batch in which no row of its leaves comes or goes would make no difference."""
        return self.evaluation is None and not self._is_measured and self._r2s.rests

    def end_all(self, moment: int) -> None:
        """All rows go at a moment: stored leaves show triples that were deleted, and others take their place."""
        if self._has_begun:
            self._r2s.end_all(moment, self._rebuild.rows_before)

    def rebuild(self) -> None:
        """Have operators that read the leaves as they are now."""
        self._r2s.use(self._rebuild.root())

    def evaluate(self, batch: MomentBatch, held: Ids) -> Answers:
        """Take a batch in, and give what its evaluations report."""
        self._has_begun = True
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

    def report(self, moments: Ids, answers: Answers) -> None:
        """Report what the evaluations at some moments gave."""
        plan, rows = self.plan, answers.rows
        if plan.template is None:
            if len(moments) == 1:  # it has all rows
                offsets = _ONE_ROW if len(rows) == 1 else np.array([0, len(rows)])
                self._hand_over(moments, offsets, rows, kept=answers.kept)
                return
            reported, offsets = answers.reports()
            self._hand_over(moments[reported], offsets, rows, kept=answers.kept)
            return
        places = answers.place_of_each
        table = Table({name: rows[:, at] for at, name in enumerate(plan.variables)}, len(rows))
        of, triples = construct_each(plan.template, table, places, self._dictionary)
        if not len(of):
            if self.evaluation is not None and self._freshness is not None:
                self.evaluation.silent_evaluation(self._freshness)
            return
        reported, triple_offsets = reports_in(of)
        counts = places.searchsorted(reported, side="right") - places.searchsorted(reported)
        rows = rows[np.isin(places, reported)]
        self._hand_over(moments[reported], np.concatenate(([0], np.cumsum(counts))), rows, triples, triple_offsets)

    def _hand_over(
        self,
        moments: Ids,
        offsets: Ids,
        rows: Ids,
        triples: Ids | None = None,
        triple_offsets: Ids | None = None,
        kept: LogRows | None = None,
    ) -> None:
        name, output, variables = self.name, self.plan.output, self.plan.variables
        batch = AnswerBatch(name, output, variables, moments, offsets, rows, self._dictionary, triples, triple_offsets)
        batch.freshness, batch.memory = self._freshness, self._memory
        batch.log = None if kept is None else (kept.columns, kept.first)
        self.on_answers(batch)
