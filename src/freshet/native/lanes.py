"""The queries of an engine that have threads of their own: waiting for them, and what they have done of a journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from freshet.native.failures import warn_gone
from freshet.native.lane import MOST_BEHIND, Lane
from freshet.native.owned_lock import OwnedLock
from freshet.results.answers import AnswerBatch


class Lanes:
    """Lanes by the names of their queries; `lock` is the engine's.

    A thread that reports holds `delivering`, then the engine's lock, so that whoever is told is told of one at a time.
    """

    def __init__(self, lock: OwnedLock) -> None:
        self._lanes: dict[str, Lane] = {}
        self._lock = lock
        self.delivering = OwnedLock()
        self.most_behind = MOST_BEHIND
        self.held_back = 0  # how often somebody waited in `hold_back`

    def add(self, query: str, lane: Lane) -> None:
        """A query has a thread of its own."""
        self._lanes[query] = lane

    def leave(self, query: str) -> None:
        """A query is no more."""
        self._lanes.pop(query, None)

    def all(self) -> list[Lane]:
        with self._lock:
            return list(self._lanes.values())

    def drain(self, most: int = 0) -> None:
        """Wait until all have at most so many elements left to take in; 0: until they have done everything.

        Where a report is handed over nobody waits: that thread may be the one to be waited for.
        """
        if self._is_reporting:
            return
        for lane in self.all():
            lane.drain(most)

    def hold_back(self) -> None:
        """Wait while one is more than `most_behind` elements behind; but not where a report is handed over."""
        if not self._lanes or self._is_reporting:
            return
        behind = [lane for lane in self.all() if lane.is_behind(self.most_behind)]
        self.held_back += bool(behind)
        for lane in behind:
            lane.drain(self.most_behind)

    @property
    def _is_reporting(self) -> bool:
        return self._lock.is_mine or self.delivering.is_mine

    def close(self) -> None:
        """End the threads; what they have not done is dropped, and nothing more is reported."""
        with self._lock:
            for lane in self.all():
                lane.abandon()

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Held by a thread of a query that tells of something."""
        with self.delivering, self._lock:
            yield

    def told(self, query: str, lane: Lane, deliver: Callable[[AnswerBatch], None]) -> Callable[[AnswerBatch], None]:
        """What the query of a lane calls with its reports, which are handed over as long as it is there."""

        def tell(batch: AnswerBatch) -> None:
            with self.telling():
                if self._lanes.get(query) is lane and not lane.is_closed:
                    try:
                        deliver(batch)
                    except Exception as error:
                        if not lane.is_closed or isinstance(error, BrokenPipeError):
                            raise
                        warn_gone(query, error)
                    lane.reported = lane.moment

        return tell

    # ---- entries of a journal

    def entry_of(self, query: str) -> int | None:
        """The entry that let a report be which is handed over now; None where it is the one that is being done."""
        lane = self._lanes.get(query)
        return None if lane is None else lane.entry()

    def unfinished_entry(self, query: str) -> int | None:
        """The first entry that a query has not done; None where it has done all, or has no thread."""
        lane = self._lanes.get(query)
        return None if lane is None else lane.unfinished_entry()

    def reported(self, query: str) -> int:
        """The last moment that a query with a thread of its own has reported."""
        return self._lanes[query].reported
