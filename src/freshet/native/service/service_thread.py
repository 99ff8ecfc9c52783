"""A group with a thread of its own, for a query that waits for remote data: other queries do not wait with it.

What the engine asks of the group is put into a queue, and done in order. The thread's work is done with the dictionary
pinned; `pause` holds it still between two evaluations, or while it waits, so that what it holds can be gone through.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from threading import Condition, Lock, Thread
from typing import Any, NamedTuple

from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME, close_at
from freshet.native.query_group import QueryGroup
from freshet.native.s2r.waiting import ELEMENT_BYTES
from freshet.native.scheduled_query import GroupedQuery, are_limits_off, without_limits
from freshet.native.service.watermark_log import WatermarkLog
from freshet.native.timing import Counted
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements

MOST_BEHIND = 1_000_000  # elements that a query which waits for remote data may be behind before others wait for it


class _Item(NamedTuple):
    """A method of the group and what to call it with, for which entry of a journal, and whether limits are off."""

    what: str
    arguments: tuple[Any, ...]
    entry: int
    unlimited: bool

    @property
    def elements(self) -> int:
        match self.what:
            case "push":
                return len(self.arguments[1].times)
        return 0

    @property
    def first_ms(self) -> int:
        """The earliest time of its elements, as far as they are for windows."""
        return int(self.arguments[1].times.min()) if self.what == "push" and self.elements else AFTER_ALL_TIME


class _ClosedError(BaseException):
    """The rest is not needed. That is no failure of a query, which handlers of `Exception` would take it for."""


class ServiceQueryThread:
    """Has the group's methods. Those that change it return at once; `drain` waits until all is done.

    Between two evaluations, and after each piece of work, `on_rest` is called with nothing held. `on_failure` hears
    what goes wrong outside of an evaluation; the thread is closed then.
    """

    def __init__(
        self,
        group: QueryGroup,
        dictionary: Dictionary,
        on_rest: Callable[[], None],
        on_failure: Callable[[Exception], None],
    ) -> None:
        self._group = group
        self._dictionary = dictionary
        self._on_rest = on_rest
        self._on_failure = on_failure
        self._queue: deque[_Item] = deque()
        self._watermarks = WatermarkLog()
        self._changed = Condition()
        self._at_work = Lock()
        self._held = ExitStack()  # while the thread works
        self._working: _Item | None = None
        self._closed = False
        self._abandoned = False
        self.reported = close_at(BEFORE_ALL_TIME)  # the last moment that was
        self._left: int | None = None  # the first entry that is not done, once it is closed
        self._waiting = 0  # elements in the queue
        self._needed_ms: dict[str, int] = {}  # as it was when the thread rested last
        self._counted: dict[str, Counted] = {}  # likewise
        self._error: BaseException | None = None
        self._thread: Thread | None = None
        group.on_visited = self._rest

    # ---- what is answered at once

    @property
    def streams(self) -> set[str]:
        return self._group.streams

    @property
    def names(self) -> list[str]:
        return self._group.names

    @property
    def moment(self) -> int:
        return self._group.moment

    @property
    def passed_ms(self) -> int:
        return self._group.passed_ms

    def query(self, name: str) -> GroupedQuery:
        return self._group.query(name)

    def counts_every_element(self, name: str) -> bool:
        return self._group.counts_every_element(name)

    def needed_from(self, name: str) -> int:
        """What waits in the queue is needed, whatever the group has come to."""
        with self._changed:
            if self._left is not None:
                return BEFORE_ALL_TIME
            waiting = [item.first_ms for item in self._unfinished()]
            if not waiting:
                return self._group.needed_from(name)
            return min(self._needed_ms.get(name, BEFORE_ALL_TIME), *waiting)

    def released_at(self) -> float | None:
        """When (`perf_counter`) the moment that is evaluated now could first be; None where that says nothing."""
        with self._changed:
            return self._watermarks.of(self._group.moment).seconds

    def entry(self) -> int:
        """The entry that let the moment be which is evaluated now."""
        with self._changed:
            return self._watermarks.of(self._group.moment).entry

    def unfinished_entry(self) -> int | None:
        """The first entry that is not done, or never will be as the thread is closed; None where there is none."""
        with self._changed:
            return self._left if self._closed else self._first_entry()

    def _unfinished(self) -> list[_Item]:
        return [*([] if self._working is None else [self._working]), *self._queue]

    def _first_entry(self) -> int | None:
        return next((item.entry for item in self._unfinished()), None)

    def element_bytes(self, stream: str) -> int:
        """What an element of a stream takes at most, in the queue or in the group."""
        return max(ELEMENT_BYTES, self._group.element_bytes(stream))

    @property
    def stored_leaves(self) -> list[StoredLeaf]:
        return self._group.stored_leaves

    @property
    def waiting_bytes(self) -> int:
        """What the elements in the queue may take."""
        return self._waiting * max(map(self.element_bytes, self.streams)) if self._waiting else 0

    def counted(self, name: str) -> Counted:
        with self._changed:
            is_known = self._left is None and not self._unfinished()
            return self._group.counted(name) if is_known else self._counted.get(name, ())

    # ---- what is done in order

    def push(self, stream: str, elements: Elements, watermark_ms: int = BEFORE_ALL_TIME) -> None:
        self._put("push", stream, elements)

    def note_stored(self) -> None:
        """The stored graph is looked at with every evaluation."""

    def advance(self, watermark_ms: int) -> None:
        self._put("advance", watermark_ms)

    def finish(self, watermarks: dict[str, int]) -> None:
        self._put("finish", watermarks)

    def remove(self, name: str) -> None:
        """The query is gone."""
        self.close()

    def close(self) -> None:
        """What waits is dropped; what is being done ends with the evaluation."""
        with self._changed:
            self._close()

    def abandon(self) -> None:
        """The same, where all ends: it is no longer waited for."""
        with self._changed:
            self._abandoned = True
            self._close()

    def free(self) -> None:
        """No other query is in this group."""

    @property
    def is_closed(self) -> bool:
        return self._closed

    def is_behind(self, most: int) -> bool:
        """Whether more than `most` elements wait."""
        return self._waiting > most

    def drain(self, most: int = 0) -> None:
        """Wait until everything is done, or no more than `most` elements wait. The engine must not be locked.

        Where all ends, a running evaluation is not waited for. A query that fails is waited for: it says why.
        """
        with self._changed:
            if most:
                self._changed.wait_for(lambda: self._waiting <= most)
            else:
                self._changed.wait_for(lambda: self._abandoned or (not self._queue and self._working is None))
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

    def _put(self, what: str, *arguments: Any) -> None:
        item = _Item(what, arguments, self._watermarks.entry(), are_limits_off())
        with self._changed:
            if self._closed:
                self._left = item.entry if self._left is None else self._left
                return
            if what in ("advance", "finish"):
                self._watermarks.add(arguments[0] if what == "advance" else AFTER_ALL_TIME, item.entry)
            if what == "advance" and self._queue and self._queue[-1].what == "advance":
                item = item._replace(entry=self._queue.pop().entry)  # the later watermark says it all
            self._queue.append(item)
            self._waiting += item.elements
            if self._thread is None:
                self._thread = Thread(target=self._work, name="freshet service query", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    # ---- the thread

    def _work(self) -> None:
        while self._wait():
            self._hold()
            try:
                if self._take():
                    self._do()
                    self._note_needed()
                self._held.close()
                self._on_rest()
            except _ClosedError:
                pass
            except BaseException as error:  # a query that fails is the group's business; this is worse
                self._held.close()
                self._fail(error)
            finally:
                self._held.close()
                with self._changed:
                    self._working = None
                    self._changed.notify_all()

    def _fail(self, error: BaseException) -> None:
        """Report an error; one that cannot be reported, or ends everything, is raised in `drain`."""
        if isinstance(error, Exception) and not isinstance(error, BrokenPipeError) and not self._closed:
            try:
                self._on_failure(error)
            except BaseException as worse:
                error = worse
            else:
                return
        with self._changed:
            self._error = error
            self._close()

    def _wait(self) -> bool:
        """Until there is something to do; says whether there will ever be."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            return not self._closed

    def _take(self) -> bool:
        """The next of the queue, which is not iterated meanwhile."""
        with self._changed:
            if not self._queue:
                return False
            self._working = self._queue.popleft()
            self._waiting -= self._working.elements
            self._changed.notify_all()
            return True

    def _hold(self) -> None:
        self._held.enter_context(self._at_work)
        self._held.enter_context(self._dictionary.pins)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """While the thread waits within an evaluation, with all ids that it works on where others find them."""
        self._held.close()
        try:
            yield
        finally:
            self._hold()
            if self._closed:  # a sweep may have gone by that did not know of it
                raise _ClosedError

    def _rest(self) -> None:
        """An evaluation has ended, and all is where others find it."""
        if self._closed:
            raise _ClosedError
        self._held.close()
        self._on_rest()
        self._hold()

    def _do(self) -> None:
        assert self._working is not None
        what, arguments, _, unlimited = self._working
        method: Callable[..., None] = getattr(self._group, what)
        if what in ("advance", "finish"):
            # remote data may have changed where no window has: the query is asked again
            self._group.note_stored()
        with without_limits() if unlimited else nullcontext():
            method(*arguments)
        if what == "advance":
            with self._changed:
                self._watermarks.done(arguments[0])

    def _note_needed(self) -> None:
        needed_ms = {name: self._group.needed_from(name) for name in self._group.names}
        counted = {name: self._group.counted(name) for name in needed_ms}
        with self._changed:
            self._needed_ms, self._counted = needed_ms, counted

    def _close(self) -> None:
        if not self._closed:
            self._left = self._first_entry()
        self._closed = True
        self._queue.clear()
        self._waiting = 0
        self._changed.notify_all()
