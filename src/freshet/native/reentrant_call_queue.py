"""One thing at a time: what a callback asks for while a push is being done waits until that is done.

Else a query would be taken further in the middle of a moment that others have not come to yet. What ends a call in the
middle (Ctrl-C, a closed pipe) leaves others where they are: nothing is done after that, since it would be wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import get_ident
from typing import Any

from freshet.native.engine_lock import EngineLock
from freshet.rdf.errors import FreshetError, InputError

_Call = tuple[str | None, Callable[..., None], tuple[Any, ...]]


class EndedError(InputError):
    """Something ended an earlier call in the middle, and what is there is not whole."""

    def __init__(self, error_name: str) -> None:
        super().__init__(
            f"{error_name} ended an earlier call in the middle: what the session holds is not whole",
            hint="start a new one, which a checkpoint makes whole again",
        )


class ReentrantCallQueue:
    """Calls that change streams, each once it has its streams to itself: see `EngineLock`."""

    def __init__(self, lock: EngineLock) -> None:
        self._lock = lock
        self._waiting: dict[int, deque[_Call]] = {}  # by the threads whose callbacks have asked for them
        self._refused: deque[_Call] = deque()  # what was behind a call that was refused
        self._ended_by = ""

    def run(self, stream: str | None, work: Callable[..., None], *arguments: Any) -> None:
        """Do something with a stream, or with all, now; or after what is being done, if this comes from within it."""
        if self._ended_by:
            raise EndedError(self._ended_by)
        is_within = self._lock.is_pushing
        if not (is_within or self._refused or stream is None):
            self._occupy(stream, work, arguments)
        elif is_within or self._refused:
            waiting = self._waiting.setdefault(get_ident(), deque())
            waiting += _take_all(self._refused)
            waiting.append((stream, work, arguments))
            if is_within:
                return
        else:
            self._do(stream, work, arguments)
        if self._waiting:
            self._do_waiting()

    def _do_waiting(self) -> None:
        me = get_ident()
        while waiting := self._waiting.get(me):
            self._do(*waiting.popleft())
        self._waiting.pop(me, None)

    def _do(self, stream: str | None, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        lock = self._lock
        if stream is None:
            with lock:
                self._occupy(None, work, arguments)
        else:
            self._occupy(stream, work, arguments)

    def _occupy(self, stream: str | None, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._lock.enter(stream)
        try:
            work(*arguments)
        except BaseException as error:
            if not isinstance(error, FreshetError):  # else it was refused, and has changed nothing
                self._ended_by = type(error).__name__
            self._refused += self._waiting.pop(get_ident(), ())
            raise
        finally:
            self._lock.leave()


def _take_all(calls: deque[_Call]) -> Iterator[_Call]:
    """All calls of a queue, which is empty then; others may take of it too."""
    while calls:
        with suppress(IndexError):
            yield calls.popleft()
