"""When a query has to stop: its time limit, or a caller that cancelled it."""

from __future__ import annotations

from time import monotonic

from freshet.rdf.errors import FreshetError


class QueryStoppedError(FreshetError):
    """A query was cancelled, or exceeded its time limit."""

    exit_status = 1


class Deadline:
    """When a one-shot query has to stop. Operators look at it between steps.

    It starts to run when it is made.

    Args:
        seconds: The time limit, None for no limit.

    Example:
        >>> import freshet
        >>> deadline = freshet.Deadline()
        >>> deadline.cancel()
        >>> freshet.Session().query("SELECT * {}", deadline=deadline)
        Traceback (most recent call last):
        freshet.oneshot.deadline.QueryStoppedError: the query was cancelled
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._end = None if seconds is None else monotonic() + seconds
        self._cancelled = False

    def cancel(self) -> None:
        """Stop the query at its next look. Any thread may call this."""
        self._cancelled = True

    def left(self) -> float | None:
        """The seconds that are left.

        Returns:
            The seconds, or None where there is no limit.
        """
        return None if self._end is None else max(0.0, self._end - monotonic())

    def check(self) -> None:
        """Go on, or QueryStoppedError."""
        if self._cancelled:
            raise QueryStoppedError("the query was cancelled")
        if self._end is not None and monotonic() > self._end:
            raise QueryStoppedError(f"the query took longer than its time limit of {self._seconds:g} s")
