"""The entries of local views, for inspection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freshet.rdf.terms import Term


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """What is known of one combination of values of the joining variables (`key`) at an endpoint.

    `solutions` is how many the endpoint had when it was asked last, at `fetched_ms`; from `best_before_ms` on it has
    most likely changed. Times are times of day, in milliseconds.
    """

    endpoint: str
    key: Mapping[str, Term]
    solutions: int
    fetched_ms: int
    best_before_ms: int
