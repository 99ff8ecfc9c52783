"""A lock that a thread may take several times, and that can say whether this thread has it."""

from __future__ import annotations

from threading import RLock, get_ident


class OwnedLock:
    """`with lock:`; `is_mine` within."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._owner: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._owner = get_ident()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
        self._lock.release()

    @property
    def is_mine(self) -> bool:
        """Whether the thread that asks has the lock."""
        return self._owner == get_ident()
