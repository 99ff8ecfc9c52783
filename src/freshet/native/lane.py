"""A clock with a thread of its own, for a query that waits for remote data: nobody else has to wait with it.

What the engine tells the clock is put into a queue, and done in order. The thread's work is done with the dictionary
pinned; `pause` holds it still between two pieces of work, so that what it holds can be gone through.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock, Thread
from typing import Any

import numpy as np

from freshet.native.clock import Clock, ClockedQuery
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.timing import Counted
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements

_NO_GRAPH = -1  # which nobody reads
_NOTHING = Elements(*(np.empty(0, np.int64) for _ in range(4)))


class Lane:
    """Has the clock's methods. Those that change it return at once; `drain` waits until all is done."""

    def __init__(self, clock: Clock, dictionary: Dictionary) -> None:
        self._clock = clock
        self._dictionary = dictionary
        self._queue: deque[tuple[Any, ...]] = deque()
        self._changed = Condition()
        self._at_work = Lock()
        self._working = False
        self._closed = False
        self._waiting = 0  # elements in the queue
        self._error: BaseException | None = None
        self._thread: Thread | None = None

    # ---- what is told at once

    @property
    def streams(self) -> set[str]:
        return self._clock.streams

    @property
    def names(self) -> list[str]:
        return self._clock.names

    @property
    def reads_absorbed(self) -> bool:
        return self._clock.reads_absorbed

    @property
    def moment(self) -> int:
        return self._clock.moment

    @property
    def passed_ms(self) -> int:
        return self._clock.passed_ms

    def query(self, name: str) -> ClockedQuery:
        return self._clock.query(name)

    def counts_every_element(self, name: str) -> bool:
        return self._clock.counts_every_element(name)

    def needed_from(self, name: str) -> int:
        """What waits in the queue is needed, whatever the clock has come to."""
        with self._changed:
            waiting = [int(item[2].times.min()) for item in self._queue if item[0] == "push" and len(item[2].times)]
        return min([self._clock.needed_from(name), *waiting])

    def counted(self, name: str) -> Counted:
        return self._clock.counted(name)

    # ---- what is done in order

    def push(self, stream: str, elements: Elements, watermark_ms: int = BEFORE_ALL_TIME) -> None:
        self._put("push", stream, elements)

    def absorb(self, elements: Elements) -> None:
        self._put("absorb", elements)

    def load(self, elements: Elements, graph: int) -> None:
        self._put("load", elements, graph)

    def advance(self, watermark_ms: int) -> None:
        self._put("advance", watermark_ms)

    def finish(self, watermarks: dict[str, int]) -> None:
        self._put("finish", watermarks)

    def remove(self, name: str) -> None:
        """The query is gone; what waits for it is dropped."""
        with self._changed:
            self._close()

    def free(self) -> None:
        """Nobody else has this clock."""

    def drain(self, most: int = 0) -> None:
        """Wait until everything is done, or no more than so many elements wait. The engine must not be locked."""
        with self._changed:
            if most:
                self._changed.wait_for(lambda: self._waiting <= most)
            else:
                self._changed.wait_for(lambda: not self._queue and not self._working)
            if self._error is not None:
                raise self._error

    @contextmanager
    def pause(self) -> Iterator[bool]:
        """Hold the thread still; says whether that was possible at once."""
        held = self._at_work.acquire(blocking=False)
        try:
            yield held
        finally:
            if held:
                self._at_work.release()

    def _put(self, *item: Any) -> None:
        with self._changed:
            if self._closed:
                return
            if item[0] == "advance" and self._queue and self._queue[-1][0] == "advance":
                self._queue.pop()  # the later watermark says it all
            self._queue.append(item)
            self._waiting += _elements_in(item)
            if self._thread is None:
                self._thread = Thread(target=self._work, name="freshet lane", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    return
            with self._at_work, self._dictionary.pins:
                with self._changed:
                    if not self._queue:
                        continue
                    item = self._queue.popleft()
                    self._waiting -= _elements_in(item)
                    self._working = True
                try:
                    self._do(item[0], list(item[1:]))
                except BaseException as error:  # a query that fails is the clock's business; this is worse
                    with self._changed:
                        self._error = error
                        self._close()
                finally:
                    with self._changed:
                        self._working = False
                        self._changed.notify_all()

    def _close(self) -> None:
        self._closed = True
        self._queue.clear()
        self._waiting = 0
        self._changed.notify_all()

    def _do(self, what: str, given: list[Any]) -> None:
        method: Callable[..., None] = getattr(self._clock, what)
        if what in ("advance", "finish"):
            # remote data may have changed where no window has: the query is asked again
            self._clock.load(_NOTHING, _NO_GRAPH)
        method(*given)


def _elements_in(item: tuple[Any, ...]) -> int:
    return len(item[2].times) if item[0] == "push" else 0
