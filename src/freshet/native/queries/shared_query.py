"""Queries that share one plan, as their group sees them: one query, whose report is dealt out to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from freshet.native.buffers.leaf_buffer import LeafBuffer
from freshet.native.buffers.one_way_index import Ids
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import MomentBatch, Operator
from freshet.native.operators.parameters import ParametersOp
from freshet.native.plan.plan import Plan
from freshet.native.queries.parameter_rows import ParameterRows
from freshet.native.queries.plan_members import PlanMembers
from freshet.native.queries.rebuild import Rebuild
from freshet.native.r2s.bags import dealt_out
from freshet.native.r2s.exact import Exactness
from freshet.native.r2s.relation_to_stream import Answers, relation_to_stream
from freshet.native.s2r.content import WindowContent
from freshet.rdf.dictionary import Dictionary
from freshet.results.answers import AnswerBatch


class SharedQuery:
    """Some queries that are equal, or differ only in constants."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        windows: Sequence[WindowContent],
        leaves: Sequence[LeafBuffer | StoredLeaf],
        root: Operator,
        parameters: ParametersOp,
        keep: Callable[[Ids], None],
        on_failure: Callable[[str, Exception], None],
        dictionary: Dictionary,
        *,
        columns: tuple[str, ...] | None = None,
        exact: Exactness = Exactness.NEVER,
        rebuild: Rebuild,
    ) -> None:
        """`windows` are those of which each query sees what comes after it was registered; where there are none, all
        of the queries see the same. `keep` keeps the terms of an array as long as a part of it is in use.
        `columns` are those of `root` that the variables of the answer have, where these have other names.
        """
        self.name = name
        self.plan = plan
        self.leaves = leaves
        self._rebuild = rebuild
        self._has_begun = False
        self._windows = windows
        self._keep = keep
        self._members = PlanMembers(on_failure, dictionary)
        self._rows = ParameterRows(parameters, self._members, windows)
        self._r2s = relation_to_stream(root, plan, columns or plan.variables, exact=exact)

    def __len__(self) -> int:
        return len(self._members)

    def add(self, name: str, constants: list[int], on_answers: Callable[[AnswerBatch], None]) -> None:
        """One query more, which sees what comes from now on."""
        begins = self._rows.add(name, constants, on_answers)
        for window, begin in zip(self._windows, begins or (), strict=bool(begins)):
            if begin:
                for leaf in window.leaves.values():
                    if any(leaf is own for own in self.leaves):
                        leaf.begin_at(begin)

    def remove(self, name: str) -> None:
        self._rows.remove(name)

    @property
    def rests(self) -> bool:
        """Whether a batch in which no row of its leaves comes or goes would make no difference."""
        return self._r2s.rests

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
        self._rows.merge()
        return self._r2s.step(batch, held)

    def report(self, moments: Ids, answers: Answers) -> None:
        """Give each query what is its own of what the evaluations at some moments gave."""
        dealt = dealt_out(answers.place_of_each, answers.rows)
        self._keep(dealt.rows)
        self._members.give(dealt, moments, self.plan.output, self.plan.variables[:-1])
