"""How much each operator of a query had to do: rows that came out of it, rows that went, and its own time.

Of an operator that orders the whole answer the rows of every evaluation are counted.
A leaf that is read by a join has rows that come and go, but no time: finding them is part of the join.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import cast

from freshet.native.buffers.inputs import Buffer
from freshet.native.buffers.one_way_index import Ids
from freshet.native.change import Change, MomentBatch, Operator
from freshet.native.operators.ordered import OrderedOp
from freshet.native.plan.plan import PlanNode, children
from freshet.native.s2r.adaptive_window import AdaptiveWindowContent
from freshet.oneshot.table import Table


@dataclass(slots=True)
class Work:
    """What one operator did: its steps, the rows that came and went, and its time with all that is below it."""

    steps: int = 0
    came: int = 0
    went: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Measurements:
    """The work of a query's operators, by their places in the plan."""

    work: dict[int, Work] = field(default_factory=dict)
    adaptive: list[AdaptiveWindowContent] = field(default_factory=list)  # windows that adapt, which know what they did
    _plans: list[PlanNode] = field(default_factory=list)  # so that their identities stay taken
    _read: dict[int, _Read] = field(default_factory=dict)  # leaves, by their places

    def measure(self, plan: PlanNode, operator: Operator) -> Operator:
        """The operator, with its work written down."""
        self._plans.append(plan)
        read = [self._read[id(child)] for child in children(plan) if id(child) in self._read]
        return _Measured(operator, self.work.setdefault(id(plan), Work()), read)

    def read(self, plan: PlanNode, leaf: Buffer) -> None:
        """The operator above a plan reads its leaf; what comes and goes there is written down."""
        self._plans.append(plan)
        self._read[id(plan)] = _Read(leaf, self.work.setdefault(id(plan), Work()))

    def has_time(self, plan: PlanNode) -> bool:
        return id(plan) not in self._read

    def of(self, plan: PlanNode) -> Work | None:
        return self.work.get(id(plan))

    def own_seconds(self, plan: PlanNode) -> float:
        """The time of an operator without that of those below it."""
        work = self.of(plan)
        return 0.0 if work is None else max(0.0, work.seconds - sum(self._below(child) for child in children(plan)))

    def _below(self, plan: PlanNode) -> float:
        """The time of the nearest measured operators: a leaf that is joined is part of the join."""
        work = self.of(plan)
        return sum(map(self._below, children(plan))) if work is None else work.seconds


@dataclass(slots=True)
class _Read:
    """A leaf that is read step by step."""

    leaf: Buffer
    work: Work
    is_new: bool = True

    def count(self, batch: MomentBatch) -> None:
        came, went = len(self.leaf.fresh(batch.number)), len(self.leaf.dead(batch.number))
        if self.is_new:
            self.is_new = False
            came += len(self.leaf.old_rows(batch.first))
        self.work.steps += 1
        self.work.came += came
        self.work.went += went


class _Measured:
    def __init__(self, operator: Operator, work: Work, read: list[_Read]) -> None:
        self._operator = operator
        self._read = read
        self._work = work

    def changes(self, batch: MomentBatch) -> Change:
        start = time.perf_counter()
        change = self._operator.changes(batch)
        self._count(start, len(change.came_at), len(change.went_at))
        for leaf in self._read:
            leaf.count(batch)
        return change

    def slices(self, batch: MomentBatch) -> tuple[Table, Ids]:
        """As `changes`, of an operator that orders the whole answer."""
        start = time.perf_counter()
        table, places = cast(OrderedOp, self._operator).slices(batch)
        self._count(start, table.count, 0)
        return table, places

    def _count(self, start: float, came: int, went: int) -> None:
        work = self._work
        work.seconds += time.perf_counter() - start
        work.steps += 1
        work.came += came
        work.went += went
