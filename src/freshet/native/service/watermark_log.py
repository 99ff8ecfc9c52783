"""When watermarks came that let moments be evaluated, and with which entry of a journal.

A query that has a thread of its own may come to a moment later than it could have. What its owner asks for counts from
when the windows closed, and what it reports belongs to the entry that closed them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import NamedTuple

from freshet.native.moments import close_at

_SHORT = 0.001  # seconds; watermarks that come so soon after another are logged as one

_CATCHING_UP = ContextVar("catching_up", default=False)
_ENTRY = ContextVar("entry", default=-1)


@contextmanager
def catching_up() -> Iterator[None]:
    """What is pushed within happened before, and comes faster than it did: when it comes says nothing."""
    token = _CATCHING_UP.set(True)
    try:
        yield
    finally:
        _CATCHING_UP.reset(token)


@contextmanager
def done_for(entry: int) -> Iterator[None]:
    """What is done within is done for an entry of a journal."""
    token = _ENTRY.set(entry)
    try:
        yield
    finally:
        _ENTRY.reset(token)


class LoggedWatermark(NamedTuple):
    """Moments up to `last` could be from then on (`perf_counter`, None where that says nothing)."""

    last: int
    seconds: float | None
    entry: int


class WatermarkLog:
    """The watermarks whose moments are not done yet, in order."""

    def __init__(self) -> None:
        self._waiting: deque[LoggedWatermark] = deque()
        self._newest = LoggedWatermark(close_at(0), None, -1)

    @staticmethod
    def entry() -> int:
        """The entry that is being done, -1 where there is none."""
        return _ENTRY.get()

    def add(self, watermark_ms: int, entry: int) -> None:
        """A watermark has come."""
        seconds = None if _CATCHING_UP.get() else perf_counter()
        new = LoggedWatermark(close_at(watermark_ms), seconds, entry)
        before = self._waiting[-1] if self._waiting else None
        if before is not None and before.entry == entry and _soon(before.seconds, seconds):
            self._waiting[-1] = before._replace(last=new.last)
        else:
            self._waiting.append(new)

    def of(self, moment: int) -> LoggedWatermark:
        """The one that let a moment be."""
        while self._waiting and self._waiting[0].last < moment:
            self._waiting.popleft()
        if self._waiting:
            self._newest = self._waiting[0]
        return self._newest

    def done(self, watermark_ms: int) -> None:
        """All moments up to a watermark have been."""
        last = close_at(watermark_ms)
        while self._waiting and self._waiting[0].last <= last:
            self._newest = self._waiting.popleft()


def _soon(before: float | None, seconds: float | None) -> bool:
    return before is seconds if before is None or seconds is None else seconds - before < _SHORT
