"""Queries that take less time than handing them to a thread and back does: the event loop answers them itself.

A query is known to be quick by its shape, its text without IRIs, names and values. One of a shape that is not known, or
was slow once, goes to a thread. A quick one that turns out to be slow is stopped after some milliseconds, and begins
again in a thread.
"""

from __future__ import annotations

import re
import threading
from functools import lru_cache

SHORT = 2_000  # characters: what is longer takes too long to parse
LONGEST_SECONDS = 0.02  # of processor time, after which the event loop gives a query up
_QUICK_SECONDS = 0.003  # of processor time, too: that others keep the machine busy makes no query slow
_REMEMBERED = 0.8
_MOST_SHAPES = 4_096
_VALUES = re.compile(r"""<[^<>\s]*>|"[^"\\\n]*"|'[^'\\\n]*'|[\w-]*:[\w.-]*|[0-9]+""")
_ELSEWHERE = re.compile("service|window|stream", re.IGNORECASE)  # what may have to wait for others


def shape_of(text: str) -> str | None:
    """The shape of a query; None where it is for a thread anyway.

    >>> shape_of('SELECT * { ex:a ?p "x", 5, <http://e/> }') == shape_of('SELECT * { b:c ?p "yy", 17, <http://f/> }')
    True
    """
    return None if len(text) > SHORT else _short_shape(text)


@lru_cache(512)
def _short_shape(text: str) -> str | None:
    return None if _ELSEWHERE.search(text) else _VALUES.sub("_", text)


class QuickQueries:
    """The shapes that were answered last, with the time that each takes; a slow one is forgotten little by little."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_quick(self, shape: str | None) -> bool:
        return shape is not None and self._seconds.get(shape, 1.0) < _QUICK_SECONDS

    def note(self, shape: str | None, seconds: float) -> None:
        """A query of a shape took a time."""
        if shape is None:
            return
        with self._lock:
            self._seconds[shape] = max(min(seconds, LONGEST_SECONDS), _REMEMBERED * self._seconds.pop(shape, 0.0))
            if len(self._seconds) > _MOST_SHAPES:
                del self._seconds[next(iter(self._seconds))]  # which was noted longest ago
