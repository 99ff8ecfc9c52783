"""When a query has to stop: its time is over, it needs too much memory, or a caller cancelled it.

A deadline belongs to a call, not to an operator: whatever the call does, in whatever layer, looks at `current()`. What
may take long calls `check` between pieces of well under a second; what may become large calls `reserve` before it is
made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import monotonic, thread_time
from typing import NamedTuple

from freshet.rdf.errors import FreshetError
from freshet.rdf.wording import show_bytes


class QueryStoppedError(FreshetError):
    """A query was cancelled, or exceeded its time or memory limit."""

    exit_status = 1


class Deadline:
    """When a one-shot query has to stop. Operators look at it between steps, and within long ones.

    It starts to run when it is made.

    Args:
        seconds: The time limit, None for no limit.
        memory_bytes: The most that intermediate results may take at a time, None for no limit.
        clock: What gives the time in seconds, `time.monotonic` by default; `time.thread_time` for processor time.
        subject: What error messages say that is too slow or too large.

    Example:
        >>> import freshet
        >>> deadline = freshet.Deadline()
        >>> deadline.cancel()
        >>> freshet.Session().query("SELECT * {}", deadline=deadline)
        Traceback (most recent call last):
        freshet.rdf.deadline.QueryStoppedError: the query was cancelled
    """

    def __init__(
        self,
        seconds: float | None = None,
        memory_bytes: int | None = None,
        clock: Callable[[], float] | None = None,
        subject: str = "the query",
    ) -> None:
        self._seconds = seconds
        self._subject = subject
        self._clock = clock or monotonic
        self._end = None if seconds is None else self._clock() + seconds
        # Processor time is asked of the system, which takes ten times as long, and is never ahead of the wall clock.
        self._earliest = -inf if seconds is None or clock is not thread_time else monotonic() + seconds
        self._memory_bytes = memory_bytes
        self._cancelled = False
        self._held = 0

    def cancel(self) -> None:
        """Stop the query at its next look. Any thread may call this."""
        self._cancelled = True

    def left(self) -> float | None:
        """The seconds that are left.

        Returns:
            The seconds, or None where there is no limit.
        """
        return None if self._end is None else max(0.0, self._end - self._clock())

    def check(self) -> None:
        """Go on, or QueryStoppedError."""
        if self._cancelled:
            raise QueryStoppedError(f"{self._subject} was cancelled")
        if self._end is not None and monotonic() > self._earliest and self._clock() > self._end:
            raise QueryStoppedError(f"{self._subject} took longer than its time limit of {self._seconds:g} s")

    def reserve(self, size: int) -> None:
        """Reserve bytes, or raise QueryStoppedError. They count until the step that made them ends.

        What the step gives back is counted in its place (`step`).
        """
        self.check()
        self._held += size
        if self._memory_bytes is not None and self._held > self._memory_bytes:
            limit = show_bytes(self._memory_bytes)
            raise QueryStoppedError(f"{self._subject} needs more memory than its limit of {limit}")

    @contextmanager
    def step(self) -> Iterator[None]:
        """What is reserved within is given back at the end."""
        before = self._held
        try:
            yield
        finally:
            self._held = before

    @contextmanager
    def running(self) -> Iterator[Deadline]:
        """Within, this is the current deadline."""
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)


class QueryLimits(NamedTuple):
    """What one step of a continuous query may take; None for no limit."""

    seconds: float | None = None
    memory_bytes: int | None = None

    def deadline(self, steps: int) -> Deadline:
        """The deadline of a number of steps that are taken together."""
        return Deadline(None if self.seconds is None else self.seconds * max(1, steps), self.memory_bytes)


_CURRENT: ContextVar[Deadline] = ContextVar("deadline", default=Deadline())  # noqa: B039 (never cancelled)


def current() -> Deadline:
    """The deadline of the call that this is part of; one that never comes where there is none."""
    return _CURRENT.get()
