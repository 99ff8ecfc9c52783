"""A circuit breaker: an endpoint that keeps failing is left alone for a while, then tried with one request."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic


class Breaker:
    """Closed while requests succeed, open after some failures in a row, half-open once it has been open for long."""

    def __init__(self, failures: int, open_seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._most = failures
        self._open_seconds = open_seconds
        self._clock = clock
        self._lock = Lock()
        self._failures = 0
        self._until = 0.0
        self._trying = False

    @property
    def is_open(self) -> bool:
        """Whether requests are held back now."""
        return self._failures >= self._most and (self._trying or self._clock() < self._until)

    def allows(self) -> bool:
        """Whether a request may be made; of an endpoint on probation, one at a time."""
        with self._lock:
            if self._failures < self._most:
                return True
            if self._trying or self._clock() < self._until:
                return False
            self._trying = True
            return True

    def record_success(self) -> None:
        """A request was answered."""
        with self._lock:
            self._failures, self._trying = 0, False

    def record_failure(self) -> None:
        """A request was not answered."""
        with self._lock:
            self._failures += 1
            self._trying = False
            self._until = self._clock() + self._open_seconds
