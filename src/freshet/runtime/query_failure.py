"""A query that failed, and how that is reported without stopping the other queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """A query that failed and was removed; the others continued.

    Attributes:
        query: The name of the query.
        reason: Why it failed, in one line.
    """

    query: str
    reason: str

    def __str__(self) -> str:
        return f"the query {self.query} failed and was removed: {self.reason}"


OnFailure = Callable[[QueryFailure], None]


def report_failure(on_failure: OnFailure, failure: QueryFailure) -> None:
    """What the callback raises is a warning: this is the middle of a push, which other queries share."""
    try:
        on_failure(failure)
    except BrokenPipeError:  # the output is closed
        raise
    except Exception as error:
        warnings.warn(f"on_failure raised {type(error).__name__}: {error}; {failure}", stacklevel=2)
