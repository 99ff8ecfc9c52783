"""Threads for requests. They are daemons: a process can end while an endpoint keeps one of them waiting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread

from freshet.federation.errors import ServiceError
from freshet.results.table import Table

_IDLE_SECONDS = 10.0  # after which a thread that has nothing to do ends

Work = Callable[[], Table]


class DaemonThreads:
    """Some threads at most, which begin when they are needed."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._changed = Condition()
        self._queue: deque[tuple[Future[Table], Work]] = deque()
        self._threads = 0
        self._idle = 0
        self._closed = False

    def submit(self, work: Work) -> Future[Table]:
        """Do something in a thread, after what was submitted before."""
        future: Future[Table] = Future()
        with self._changed:
            if self._closed:
                future.set_exception(_closed_error())
                return future
            self._queue.append((future, work))
            if self._idle < len(self._queue) and self._threads < self._most:
                self._threads += 1
                Thread(target=self._run, name=self._name, daemon=True).start()
            self._changed.notify()
        return future

    def close(self) -> None:
        """Cancel what has not begun; what has is not waited for."""
        with self._changed:
            self._closed = True
            given_up = [future for future, _ in self._queue]
            self._queue.clear()
            self._changed.notify_all()
        for future in given_up:
            if future.set_running_or_notify_cancel():
                future.set_exception(_closed_error())

    def _run(self) -> None:
        while (item := self._next()) is not None:
            _do(*item)
            del item  # an idle thread holds no answer

    def _next(self) -> tuple[Future[Table], Work] | None:
        """What to do next; None where the thread should end."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._queue or self._closed, _IDLE_SECONDS)
            self._idle -= 1
            if self._queue:
                return self._queue.popleft()
            self._threads -= 1
            return None


def _do(future: Future[Table], work: Work) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        found = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(found)


def _closed_error() -> ServiceError:
    return ServiceError("the session is closed, so no endpoint is asked")
