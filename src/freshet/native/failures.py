"""What is said of a query that fails, and of a callback that raises where nothing is left to fail."""

from __future__ import annotations

import warnings

from freshet.rdf.errors import FreshetError


def reason_of(error: Exception) -> str:
    """An error in one line."""
    return error.message if isinstance(error, FreshetError) else f"{type(error).__name__}: {error}"


def warn_failed(name: str, reason: str) -> None:
    """A query has failed, and there is no callback for it."""
    warnings.warn(f"the query {name} failed and was removed: {reason}", stacklevel=2)


def warn_gone(name: str, error: Exception) -> None:
    """A callback has unregistered its query, and then raised: the query is gone, and has not failed."""
    warnings.warn(f"a callback of the query {name} raised after it was unregistered: {reason_of(error)}", stacklevel=2)
