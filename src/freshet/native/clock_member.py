"""A query in a clock: its steps, its reports, and how long it may take for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from freshet.native.leaf_buffer import LeafBuffer
from freshet.native.moments import AFTER_ALL_TIME
from freshet.native.plan import Plan
from freshet.native.rhythm import Rhythm
from freshet.native.s2r.feed import Begin
from freshet.native.stored_leaf import StoredLeaf
from freshet.native.timing import ReportCondition, Timing
from freshet.results.report import Report


class ClockedQuery(Protocol):
    """A query as the clock needs it. What its leaves have changed is taken in after every step that changes them."""

    @property
    def plan(self) -> Plan: ...

    @property
    def leaves(self) -> Iterable[LeafBuffer | StoredLeaf]:
        """The leaf buffers that it reads."""

    def take_in(self, number: int) -> None:
        """Take in what the leaves' step changed."""

    def report(self, time_ms: int) -> Report | None:
        """What the query puts out now, None where that is nothing."""

    @property
    def on_report(self) -> Callable[[Report], None]: ...


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


class ClockMember:
    """A query in the clock, and what the clock remembers of it."""

    def __init__(
        self, name: str, query: ClockedQuery, timing: Timing, rhythm: Rhythm, limit_seconds: float | None
    ) -> None:
        self.name = name
        self.query = query
        self.rhythm = rhythm
        self.limit_seconds = limit_seconds
        self.only_changed = ReportCondition.CHANGE in timing.conditions
        self.only_non_empty = ReportCondition.NON_EMPTY in timing.conditions
        self.absorbed = timing.absorbed
        # As of when the windows held what they held at the last two evaluations.
        self.known_ms = self.known_before_ms = AFTER_ALL_TIME
        # The windows that count elements, and for each where what it held then begins.
        self.counting = tuple(window for window in rhythm.windows if window.counts)
        self.begins: tuple[Begin, ...] | None = None
        self.begins_before: tuple[Begin, ...] | None = None
        self.stale = False  # whether its windows have changed since
        self.taken = 0  # the last step that it has taken in
        self.removed = False

    def step(self, time_ms: int, number: int, changed: bool, due: bool, stored_number: int) -> None:
        """Take a step of the windows in, and report where it is due. The stored graph moved at `stored_number` last."""
        if changed:
            self.stale = True
        if due and ((self.only_changed and not self.stale) or (self.only_non_empty and not self.rhythm.holds_anything)):
            due = False
        if not (changed or due):
            return
        began = 0.0 if self.limit_seconds is None else time.perf_counter()
        if changed or stored_number > self.taken or self.taken == 0:
            self.query.take_in(number)
            self.taken = number
        if due:
            known_ms = self.rhythm.held_since(time_ms)
            self.known_before_ms = self.known_ms if self.known_ms < known_ms else known_ms
            self.known_ms = known_ms
            if self.counting:
                self.begins_before = self.begins
                self.begins = tuple(window.feed.begin_of(window.first) for window in self.counting)
            self.stale = False
            report = self.query.report(time_ms)
            if report is not None:
                self.query.on_report(report)
        if self.limit_seconds is None or self.removed or _UNLIMITED.get():
            return
        if (took := time.perf_counter() - began) > self.limit_seconds:
            raise TimeoutError(f"a step took {took:.3g} s, its limit is {self.limit_seconds:g} s")
