"""How much each operator of a query had to do: rows that came out of it, rows that went, and its own time.

An operator that orders the whole answer is looked at when a report is due: its rows come and go from report to report.
A leaf that is read by a join has rows that come and go, but no time: finding them is part of the join.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import cast

from freshet.native.change import Change, Operator, Sequenced
from freshet.native.inputs import Buffer
from freshet.native.plan import PlanNode, children
from freshet.native.r2s.bags import table_difference
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
    _plans: list[PlanNode] = field(default_factory=list)  # so that their identities stay taken
    _read: dict[int, _Read] = field(default_factory=dict)  # leaves, by their places

    def measure(self, plan: PlanNode, operator: Operator) -> Operator:
        """The operator, with its work written down."""
        self._plans.append(plan)
        read = [self._read[id(child)] for child in children(plan) if id(child) in self._read]
        return _Measured(operator, self.work.setdefault(id(plan), Work()), tuple(sorted(plan.names)), read)

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
    since: int | None = None

    def count(self, number: int) -> None:
        came, went = self.leaf.live, 0
        if self.since is not None:
            came, went = map(len, self.leaf.moved(self.since))
        self.since = number
        self.work.steps += 1
        self.work.came += came
        self.work.went += went


class _Measured:
    def __init__(self, operator: Operator, work: Work, variables: tuple[str, ...], read: list[_Read]) -> None:
        self._operator = operator
        self._read = read
        self._work = work
        self._variables = variables
        self._given_out = Table({}, 0)  # at the report before

    def changes(self, number: int) -> Change:
        start = time.perf_counter()
        change = self._operator.changes(number)
        work = self._work
        work.seconds += time.perf_counter() - start
        work.steps += 1
        work.came += change.came.count
        work.went += change.went.count
        for leaf in self._read:
            leaf.count(number)
        return change

    def follow(self, number: int) -> None:
        """As `changes`, of an operator whose answer is looked at only when a report is due."""
        start = time.perf_counter()
        cast(Sequenced, self._operator).follow(number)
        self._work.seconds += time.perf_counter() - start
        self._work.steps += 1

    def given_out(self, *, empty: bool) -> Table:
        start = time.perf_counter()
        now = cast(Sequenced, self._operator).given_out(empty=empty)
        work, before, self._given_out = self._work, self._given_out, now
        work.seconds += time.perf_counter() - start
        work.came += table_difference(now, before, self._variables).count
        work.went += table_difference(before, now, self._variables).count
        return now

    def rows(self) -> Table:
        start = time.perf_counter()
        rows = self._operator.rows()
        self._work.seconds += time.perf_counter() - start
        return rows
