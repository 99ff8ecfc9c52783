"""A query in its group: when it is evaluated, and how long it may take for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, cast

import numpy as np

from freshet.native.buffers.leaf_buffer import LeafBuffer
from freshet.native.buffers.one_way_index import Ids
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import MomentBatch
from freshet.native.moments import AFTER_ALL_TIME
from freshet.native.plan.plan import Plan
from freshet.native.r2s.relation_to_stream import Answers
from freshet.native.s2r.adaptive_window import Subwindow
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.feed import Begin
from freshet.native.s2r.window_view import WindowView
from freshet.native.schedule import Due, EvaluationSchedule
from freshet.native.timing import ReportCondition, Timing
from freshet.rdf.deadline import QueryLimits


class GroupedQuery(Protocol):
    """A query as its group needs it."""

    @property
    def plan(self) -> Plan: ...

    @property
    def leaves(self) -> Iterable[LeafBuffer | StoredLeaf]:
        """The leaf buffers that it reads."""

    @property
    def rests(self) -> bool:
        """Whether a batch in which no row of its leaves comes or goes would make no difference."""

    def end_all(self, moment: int) -> None:
        """All rows go at a moment: stored leaves show triples that were deleted, and others take their place."""

    def rebuild(self) -> None:
        """Have operators that read the leaves as they are now."""

    def evaluate(self, batch: MomentBatch, held: Ids) -> Answers:
        """Take a batch in, and give what its evaluations report. `held` is how many elements windows have at each."""

    def report(self, moments: Ids, answers: Answers) -> None:
        """Report what the evaluations at some moments gave."""


_Begins = tuple[int | Begin | Subwindow, ...]
_UNLIMITED = ContextVar("unlimited", default=False)


@contextmanager
def without_limits() -> Iterator[None]:
    """What is done within was done before, and may take longer this time than queries are allowed to."""
    token = _UNLIMITED.set(True)
    try:
        yield
    finally:
        _UNLIMITED.reset(token)


def are_limits_off() -> bool:
    """Whether this is within `without_limits`."""
    return _UNLIMITED.get()


class ScheduledQuery:
    """A query in a group, and what the group remembers of it."""

    def __init__(
        self,
        name: str,
        query: GroupedQuery,
        timing: Timing,
        schedule: EvaluationSchedule,
        limits: QueryLimits | None,
        counted: Sequence[int],
        began_ms: int,
    ) -> None:
        """`counted` is how many elements of each window had come before it; others have no times before `began_ms`."""
        self.name = name
        self.query = query
        self.schedule = schedule
        self.limits = limits
        self.only_changed = ReportCondition.CHANGE in timing.conditions
        self.only_non_empty = ReportCondition.NON_EMPTY in timing.conditions
        # As of when the windows held what they held at the last two evaluations.
        self.known_ms = self.known_before_ms = AFTER_ALL_TIME
        # The windows that count elements, with those before it.
        self.counting = tuple(
            (window, before) for window, before in zip(schedule.windows, counted, strict=True) if window.counts
        )
        self.began_ms = began_ms
        # For each of these at the last two evaluations, or numbers of elements as long as their feeds have their times.
        self._recent: tuple[_Begins | None, _Begins | None] = (None, None)
        for window, _ in self.counting:
            window.feed.followers.add(self)
        self._stale = False  # whether its windows have changed since the last evaluation
        self.removed = False
        self.order = 0  # in which the queries of its group came
        # Whether it can be left out of batches that make no difference: then its schedule knows the last evaluations.
        self.can_rest = timing.is_plain and not self.counting

    @property
    def rests(self) -> bool:
        """Whether a batch in which no row of its leaves comes or goes would make no difference."""
        return self.can_rest and self.query.rests

    @property
    def last_known_ms(self) -> int:
        """As of when the windows held what they held at the evaluation before the last."""
        return self.schedule.before_last_ms if self.can_rest else self.known_before_ms

    def end_all(self, moment: int) -> None:
        """See GroupedQuery."""
        if self.limits is None:
            self.query.end_all(moment)
        else:
            with self._within_limit(1):
                self.query.end_all(moment)

    def evaluate(self, number: int, first: int, last: int, due: Due) -> tuple[Ids, Answers] | None:
        """Take a batch in; gives the moments of its evaluations and what they report, if anything."""
        if self.removed:
            return None
        due = self._counting_ones(due) if self.only_changed or self.only_non_empty else due
        batch = MomentBatch(number, first, last, due.moments)
        if self.limits is None:
            answers = self.query.evaluate(batch, due.held)
        else:
            with self._within_limit(len(due.moments)):
                answers = self.query.evaluate(batch, due.held)
        if len(due.moments) and not self.can_rest:
            self._remember(due.moments)
        return (due.moments, answers) if len(answers.places) else None

    def report(self, moments: Ids, answers: Answers) -> None:
        """Report what evaluations gave, as long as it is wanted."""
        if self.removed:
            return
        if self.limits is None:
            self.query.report(moments, answers)
        else:
            with self._within_limit(len(moments)):
                self.query.report(moments, answers)

    @contextmanager
    def _within_limit(self, evaluations: int) -> Iterator[None]:
        """Raise a QueryStoppedError where `evaluations`, or their reports, take longer than the query is allowed to."""
        assert self.limits is not None
        if _UNLIMITED.get():
            yield
            return
        with self.limits.deadline(evaluations).running() as deadline:
            yield
            if not self.removed:
                deadline.check()

    def _counting_ones(self, due: Due) -> Due:
        """The evaluations that count by the query's report conditions."""
        if self.only_non_empty:
            places = np.flatnonzero(due.held > 0)
            changed = np.concatenate((due.changed != 0, [False]))
            changed[0] |= self._stale
            self._stale = bool(changed[places[-1] + 1 :].any()) if len(places) else bool(changed.any())
            starts = np.concatenate(([0], places[:-1] + 1)) if len(places) else places
            since = np.array([changed[start : end + 1].any() for start, end in zip(starts, places, strict=True)], bool)
            due = Due(due.moments[places], due.held[places], since.astype(np.int64))
        return due.where(due.changed != 0) if self.only_changed else due

    def _remember(self, due: Ids) -> None:
        """What must be known after a restart of the last two evaluations."""
        period_ms, counting = self.schedule.period_ms, self.counting
        for moment in (due if len(due) <= 2 else due[-2:]).tolist():
            known_ms = moment >> 1 if period_ms is None else self.schedule.held_since(moment >> 1)
            self.known_before_ms = self.known_ms if self.known_ms < known_ms else known_ms
            self.known_ms = known_ms
            if len(counting) == 1:
                self._recent = self._recent[1], (counting[0][0].begin_at(moment),)
            elif counting:
                self._recent = self._recent[1], tuple([window.begin_at(moment) for window, _ in counting])

    @property
    def begins_before(self) -> tuple[Begin | Subwindow, ...] | None:
        """Where what its counting windows held at the evaluation before the last begins; None where there is none."""
        self.settle()
        return cast("tuple[Begin | Subwindow, ...] | None", self._recent[0])

    def settle(self) -> None:
        """Note times that feeds still have, in place of numbers of elements."""
        before, last = self._recent
        self._recent = before and self._resolve_begins(before), last and self._resolve_begins(last)

    def _resolve_begins(self, lefts: _Begins) -> tuple[Begin | Subwindow, ...]:
        return tuple(
            _begin_of(window, before, left) if isinstance(left, int) else left
            for (window, before), left in zip(self.counting, lefts, strict=True)
        )


def _begin_of(window: WindowContent | WindowView, before: int, left: int) -> Begin:
    """Where the elements of a window from one on begin, in the numbers of a query that counts after those before it."""
    if not before:
        return window.feed.begin_of(left)
    found = window.feed.begin_of(max(before, left))
    return Begin(found.time_ms, max(0, found.number - before))
