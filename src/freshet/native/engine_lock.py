"""What lets pushes into independent streams run beside each other, and everything else alone.

Streams are independent where no query reads them together (`StreamRouter.connected`). A push occupies its stream and
all that are connected with it; pushes into others run meanwhile, in other threads. Whatever else is done with the
engine is done alone: when no push is under way. A callback that gets a report may ask to be alone too. It is in the
middle of a push, so it waits until all others have ended or wait in a callback themselves: what they leave is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Lock, get_ident
from types import TracebackType
from typing import ParamSpec

P = ParamSpec("P")


class EngineLock:
    """`with lock:` to be alone, any number of times in one thread; `enter` and `leave` around a push.

    Callbacks that were made by `one_at_a_time` run one after another, whichever push they belong to.
    """

    def __init__(self) -> None:
        self.connected: dict[str, frozenset[str]] = {}  # by stream; one that is missing is connected with no other
        self._mutex = Lock()
        self._changed = Condition(self._mutex)
        self._waiting = 0  # threads that wait for a change
        self._asking = 0  # those of them that ask to be alone: no push begins before them
        self._owner = 0  # the thread that is alone
        self._depth = 0
        self._pushing: dict[int, frozenset[str]] = {}  # by threads, what their pushes occupy
        self._occupied: set[str] = set()
        self._running = 0  # pushes that do not wait in a callback
        self._calling = 0  # the thread whose callback runs

    @property
    def is_mine(self) -> bool:
        """Whether the thread that asks is alone, or in the middle of a push."""
        me = get_ident()
        return self._owner == me or me in self._pushing

    @property
    def is_pushing(self) -> bool:
        """Whether the thread that asks is in the middle of a push."""
        return get_ident() in self._pushing

    @property
    def is_occupied(self) -> bool:
        """Whether anybody is in the middle of a push."""
        return bool(self._pushing)

    def enter(self, stream: str | None) -> None:
        """Begin a push into a stream; into all of them, where it is None, by a thread that is alone."""
        me = get_ident()
        with self._mutex:
            if self._owner == me:
                self._pushing[me] = frozenset()
                return
            assert stream is not None, "only who is alone may touch all streams"
            while True:
                connected = self.connected.get(stream) or self._connected_streams(stream)
                if not self._owner and not self._asking and self._occupied.isdisjoint(connected):
                    break
                self._wait()
            self._pushing[me] = connected
            self._occupied |= connected
            self._running += 1

    def _connected_streams(self, stream: str) -> frozenset[str]:
        found = self.connected[stream] = frozenset((stream,))
        return found

    def leave(self) -> None:
        """End a push."""
        me = get_ident()
        with self._mutex:
            connected = self._pushing.pop(me)
            if self._owner != me:
                self._occupied -= connected
                self._running -= 1
                if self._waiting:
                    self._changed.notify_all()

    def __enter__(self) -> None:
        me = get_ident()
        if self._owner == me:
            self._depth += 1
            return
        with self._mutex:
            is_pushing = self._pause(me)
            self._asking += 1
            try:
                while self._owner or self._running or (self._pushing and not is_pushing):
                    self._wait()
            except BaseException:
                self._running += is_pushing
                raise
            finally:
                self._asking -= 1
            self._owner, self._depth = me, 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            with self._mutex:
                self._owner = 0
                self._running += get_ident() in self._pushing
                if self._waiting:
                    self._changed.notify_all()

    def one_at_a_time(self, callback: Callable[P, None]) -> Callable[P, None]:
        """A callback that runs while no other made here does, unless that has called it."""

        def call(*arguments: P.args, **options: P.kwargs) -> None:
            me = get_ident()
            if self._calling == me or self._owner == me:
                callback(*arguments, **options)
                return
            self._begin_call(me)
            try:
                callback(*arguments, **options)
            finally:
                with self._mutex:
                    self._calling = 0
                    if self._waiting:
                        self._changed.notify_all()

        return call

    def _begin_call(self, me: int) -> None:
        with self._mutex:
            if self._calling:
                is_pushing = self._pause(me)
                try:
                    while self._calling or self._owner:
                        self._wait()
                finally:
                    self._running += is_pushing
            self._calling = me

    def _pause(self, me: int) -> bool:
        """The push of a thread, if it is in one, does not run while it waits; says whether it is in one."""
        is_pushing = me in self._pushing
        if is_pushing:
            self._running -= 1
            if self._waiting:
                self._changed.notify_all()
        return is_pushing

    def _wait(self) -> None:
        self._waiting += 1
        try:
            self._changed.wait()
        finally:
            self._waiting -= 1
