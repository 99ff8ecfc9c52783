"""The wall clock of a session, which tests can replace by one that they move themselves."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from types import MethodType
from typing import Protocol


class WallClock(Protocol):
    """What passes while nothing comes."""

    def now(self) -> float:
        """Seconds since some point in time."""

    def call_every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        """Call a method again and again as long as its object is there; gives what ends that."""


class SystemClock:
    """The clock of the system. What is called every so often is called in a thread of its own."""

    def now(self) -> float:
        return time.monotonic()

    def call_every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        stopped = threading.Event()
        assert isinstance(call, MethodType)
        thread = threading.Thread(
            target=_call_every, args=(stopped, seconds, weakref.WeakMethod(call)), name="freshet-idle", daemon=True
        )
        thread.start()
        return stopped.set


def _call_every(stopped: threading.Event, seconds: float, method: weakref.WeakMethod[Callable[[], None]]) -> None:
    while not stopped.wait(seconds):
        call = method()
        if call is None:  # its session was dropped without being closed
            return
        call()
        del call


class ManualClock:
    """A clock for tests, which moves only when it is set: `freshet.Session(clock=freshet.ManualClock())`.

    Example:
        >>> import freshet
        >>> clock = freshet.ManualClock()
        >>> session = freshet.Session(clock=clock)
        >>> session.stream("http://example.org/s", idle="2s")
        >>> query = session.register('''
        ...     REGISTER RSTREAM <q> AS SELECT ?s
        ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT5S STEP PT5S]
        ...     WHERE { WINDOW <w> { ?s ?p ?o } }''')
        >>> session.push("http://example.org/s", "4000\\t<http://example.org/a> <http://example.org/p> _:b .")
        >>> clock.advance(1)
        >>> len(query.take())
        0
        >>> clock.advance(1)
        >>> [report.time_ms for report in query.take()]
        [5000]
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._calls: list[tuple[float, Callable[[], None]]] = []

    def now(self) -> float:
        return self._now

    def call_every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        entry = (seconds, call)
        self._calls.append(entry)
        return lambda: self._calls.remove(entry) if entry in self._calls else None

    @property
    def waiting(self) -> int:
        """How many calls are made again and again."""
        return len(self._calls)

    def advance(self, seconds: float) -> None:
        """Let time pass, then make the calls that are due."""
        self.pass_unseen(seconds)
        for _, call in list(self._calls):
            call()

    def pass_unseen(self, seconds: float) -> None:
        """Let time pass before anybody is called."""
        self._now += seconds
