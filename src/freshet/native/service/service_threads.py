"""The queries of an engine that have threads of their own: waiting for them, and what they have done of a journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from freshet.native.engine_lock import EngineLock
from freshet.native.failures import warn_gone
from freshet.native.owned_lock import OwnedLock
from freshet.native.service.service_thread import MOST_BEHIND, ServiceQueryThread
from freshet.results.answers import AnswerBatch


class ServiceQueryThreads:
    """Threads by the names of their queries; `lock` is the engine's.

    A thread that reports holds `delivering`, then the engine's lock, so that callbacks run one at a time.
    """

    def __init__(self, lock: EngineLock) -> None:
        self._threads: dict[str, ServiceQueryThread] = {}
        self._lock = lock
        self.delivering = OwnedLock()
        self.most_behind = MOST_BEHIND
        self.held_back = 0  # how often a caller waited in `hold_back`

    def add(self, query: str, thread: ServiceQueryThread) -> None:
        """A query has a thread of its own."""
        self._threads[query] = thread

    def leave(self, query: str) -> None:
        """A query is no more."""
        self._threads.pop(query, None)

    def all(self) -> list[ServiceQueryThread]:
        return list(self._threads.values())

    def drain(self, most: int = 0) -> None:
        """Wait until all have at most `most` elements left to take in; 0: until they have done everything.

        While a report is handed over there is no wait: that thread may be the one to be waited for.
        """
        if self._is_reporting:
            return
        for thread in self.all():
            thread.drain(most)

    def hold_back(self) -> None:
        """Wait while one is more than `most_behind` elements behind; but not where a report is handed over."""
        if not self._threads or self._is_reporting:
            return
        behind = [thread for thread in self.all() if thread.is_behind(self.most_behind)]
        self.held_back += bool(behind)
        for thread in behind:
            thread.drain(self.most_behind)

    @property
    def _is_reporting(self) -> bool:
        return self._lock.is_mine or self.delivering.is_mine

    def close(self) -> None:
        """End the threads; what they have not done is dropped, and nothing more is reported."""
        with self._lock:
            for thread in self.all():
                thread.abandon()

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Held by a thread that calls back, with reports or a failure."""
        with self.delivering, self._lock:
            yield

    def reporter(
        self, query: str, thread: ServiceQueryThread, deliver: Callable[[AnswerBatch], None]
    ) -> Callable[[AnswerBatch], None]:
        """What the query of a thread calls with its reports, which are handed over as long as it is there."""

        def report(batch: AnswerBatch) -> None:
            with self.reporting():
                if self._threads.get(query) is thread and not thread.is_closed:
                    try:
                        deliver(batch)
                    except Exception as error:
                        if not thread.is_closed or isinstance(error, BrokenPipeError):
                            raise
                        warn_gone(query, error)
                    thread.reported = thread.moment

        return report

    # ---- entries of a journal

    def entry_of(self, query: str) -> int | None:
        """The entry that let a report be which is handed over now; None where it is the one that is being done."""
        thread = self._threads.get(query)
        return None if thread is None else thread.entry()

    def unfinished_entry(self, query: str) -> int | None:
        """The first entry that a query has not done; None where it has done all, or has no thread."""
        thread = self._threads.get(query)
        return None if thread is None else thread.unfinished_entry()

    def reported(self, query: str) -> int:
        """The last moment that a query with a thread of its own has reported."""
        return self._threads[query].reported
