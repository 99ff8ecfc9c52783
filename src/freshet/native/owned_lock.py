"""A lock that a thread may take several times, and that can say whether this thread has it."""

from __future__ import annotations

from _thread import RLock


class OwnedLock(RLock):  # type: ignore[misc]  # which is final for type checkers only
    """`with lock:`; `is_mine` within. It is taken with every push, so it is the interpreter's own."""

    @property
    def is_mine(self) -> bool:
        """Whether the thread that asks has the lock."""
        return bool(self._is_owned())  # type: ignore[attr-defined]
