"""Moments of event time as integers that are in order: closes are even, instants odd.

A close at c has seen everything before c, an instant at t everything up to t; at equal milliseconds the close is first.
A watermark w allows every moment up to the close at w.
"""

from __future__ import annotations

from freshet.rdf.elements import FURTHEST_MS as FURTHEST_MS

BEFORE_ALL_TIME = -(2**62)
AFTER_ALL_TIME = 2**62
OPEN = 2**63 - 1  # later than every moment: when what has not ended ends
FIRST_MOMENT = -(2**63) + 1  # before every element


def close_at(time_ms: int) -> int:
    """The moment at which everything before a time has been seen.

    >>> close_at(5) < instant_at(5) < close_at(6)
    True
    """
    return 2 * time_ms


def instant_at(time_ms: int) -> int:
    """The moment at which everything up to and at a time has been seen."""
    return 2 * time_ms + 1


def time_of(moment: int) -> int:
    """The millisecond of a moment."""
    return moment >> 1


def is_instant(moment: int) -> bool:
    return moment & 1 == 1


def last_close_allowed(watermark_ms: int) -> int:
    """The last moment that a watermark allows."""
    return 2 * watermark_ms if watermark_ms < AFTER_ALL_TIME else OPEN - 1


def close_after(time_ms: int, slide_ms: int, start_ms: int) -> int:
    """The first close after a time."""
    return time_ms + slide_ms - (time_ms - start_ms) % slide_ms
