"""When a query has to stop: its time limit, or a caller that cancelled it."""

from __future__ import annotations

from time import monotonic

from freshet.rdf.errors import FreshetError


class QueryStoppedError(FreshetError):
    """A query was cancelled, or ran into its time limit."""

    exit_status = 1


class Deadline:
    """Operators look at it between steps. It starts to run when it is made; no seconds: no limit."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._end = None if seconds is None else monotonic() + seconds
        self._cancelled = False

    def cancel(self) -> None:
        """Stop the query at its next look, from any thread."""
        self._cancelled = True

    def left(self) -> float | None:
        """The seconds that are left; None where there is no limit."""
        return None if self._end is None else max(0.0, self._end - monotonic())

    def check(self) -> None:
        """Go on, or QueryStoppedError."""
        if self._cancelled:
            raise QueryStoppedError("the query was cancelled")
        if self._end is not None and monotonic() > self._end:
            raise QueryStoppedError(f"the query took longer than its time limit of {self._seconds:g} s")
