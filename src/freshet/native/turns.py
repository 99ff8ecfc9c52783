"""One thing at a time: what a callback asks for while a push is being done waits until that is done.

Else a query would be taken further in the middle of a moment that others have not come to yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any


class Turns:
    """Calls that are done one after another. Whoever calls holds the lock of what they change."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self.is_busy = False

    def take(self, work: Callable[..., None], *given: Any) -> None:
        """Do something now, or after what is being done, if this comes from within it."""
        self._waiting.append((work, given))
        if self.is_busy:
            return
        self.is_busy = True
        try:
            while self._waiting:
                work, given = self._waiting.popleft()
                work(*given)
        finally:
            self.is_busy = False
