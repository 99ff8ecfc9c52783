"""`[ADAPTIVE a TO b]`: a window that adapts its length to what comes, as the windows of mapped joins do (S2R)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from freshet.algebra.windows import AdaptiveWindow
from freshet.kernels.join_windows import (
    ENDED,
    LARGEST,
    LEAST,
    MET,
    NEVER,
    RECORDS,
    KeyWindows,
    Sizing,
    Subwindows,
    adaptive_subwindows,
)
from freshet.native.buffers.one_way_index import Ids
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.feed import Feed

if TYPE_CHECKING:
    from freshet.rml.windows import JoinWindow

_NO_TIMES = np.empty(0, np.int64)


class Subwindow(NamedTuple):
    """The subwindow that opened at a time, its size, and what the lists of both sides are measured against.

    With a size of 0 none has opened yet, and what comes before that time does not count.
    """

    time_ms: int
    size_ms: int
    own_limit: float
    other_limit: float


class AdaptiveCounts(NamedTuple):
    """What there is to say of an adaptive window: its size now (0 before anything came), the subwindows that ended with
    their least and largest sizes, the elements of all streams, and those that met any of the other side."""

    size_ms: int
    subwindows: int
    least_ms: int
    largest_ms: int
    elements: int
    met: int


class SubwindowSequence:
    """The subwindows of elements that come in the order of their times, their own ones and those of other streams."""

    def __init__(self, window: AdaptiveWindow, start: Subwindow | None = None) -> None:
        """Begins with `start`, the elements of which come again."""
        asked = _join_window(window)
        self._sizing = Sizing(
            False,
            True,
            asked.size,
            asked.lower,
            asked.upper,
            float(asked.shrink_above),
            float(asked.grow_below),
            float(asked.list_size),
            asked.idle_ms,
        )
        self._state = KeyWindows(
            np.zeros(1, np.int64),
            np.full(1, asked.size, np.int64),
            np.full((1, 2), float(asked.list_size)),
            np.full(1, NEVER, np.int64),
            np.zeros(1, np.int64),
        )
        self._counts = np.zeros(2, np.int64)
        self._tally = np.zeros(5, np.int64)
        self._tally[LEAST] = asked.upper
        self._opened, self._sizes, self._limits = Subwindows(_NO_TIMES, _NO_TIMES, np.empty((0, 2)))
        self.first = start  # None before anything came
        if start is not None and start.size_ms:
            self._state.opened[0] = self._state.newest[0] = start.time_ms
            self._state.sizes[0] = start.size_ms
            self._state.limits[0] = start.own_limit, start.other_limit

    @property
    def from_ms(self) -> int:
        """Elements before this time do not count."""
        return BEFORE_ALL_TIME if self.first is None else self.first.time_ms

    def take(self, own: Ids, other: Ids) -> None:
        """More elements, each side in the order of their times."""
        if self.first is None:
            first_ms = min(times.item(0) for times in (own, other) if len(times))
            self.first = Subwindow(first_ms, 0, 0.0, 0.0)
        from_ms = self.first.time_ms
        if (len(own) and own[0] < from_ms) or (len(other) and other[0] < from_ms):
            own, other = own[own.searchsorted(from_ms) :], other[other.searchsorted(from_ms) :]
        opened, sizes, limits = adaptive_subwindows(own, other, self._counts, self._state, self._sizing, self._tally)
        if len(opened):
            self._opened = np.concatenate((self._opened, opened))
            self._sizes = np.concatenate((self._sizes, sizes))
            self._limits = np.concatenate((self._limits, limits))

    def forget_before(self, time_ms: int) -> None:
        """Forget the subwindows before the one that is open at a time."""
        gone = self._place(time_ms)
        if gone > 0:
            self._opened, self._sizes, self._limits = self._opened[gone:], self._sizes[gone:], self._limits[gone:]

    def opened_ms(self, time_ms: int) -> int:
        """When the subwindow opened that is the last one at a time."""
        place = self._place(time_ms)
        return self._opened.item(place) if place >= 0 else self.from_ms

    def next_opened(self, times: Ids) -> Ids:
        """For each time when the next subwindow opened; where none was open then, the time itself."""
        if not len(self._opened):
            return times
        places = self._opened.searchsorted(times, side="right")
        found: Ids = np.where(places == 0, times, self._opened[np.minimum(places, len(self._opened) - 1)])
        return found

    def at(self, time_ms: int) -> Subwindow:
        """The last subwindow at a time."""
        place = self._place(time_ms)
        if place < 0:
            return self.first or Subwindow(time_ms + 1, 0, 0.0, 0.0)
        own, other = self._limits[place].tolist()
        return Subwindow(self._opened.item(place), self._sizes.item(place), own, other)

    def counted(self) -> AdaptiveCounts:
        """What there is to say of it."""
        tally = self._tally
        ended = tally.item(ENDED)
        size_ms = self._sizes.item(-1) if len(self._sizes) else 0
        least_ms, largest_ms = (tally.item(LEAST), tally.item(LARGEST)) if ended else (0, 0)
        now = self._counts.sum().item()
        met = tally.item(MET) + (now if self._counts.all() else 0)
        return AdaptiveCounts(size_ms, ended, least_ms, largest_ms, tally.item(RECORDS) + now, met)

    def _place(self, time_ms: int) -> int:
        return int(self._opened.searchsorted(time_ms, side="right")) - 1


class AdaptiveWindowContent(WindowContent):
    """At an instant t the elements since the subwindow opened that is open at t.

        an element leaves at the instant at which the next subwindow opens

    A subwindow opens with the first element of any stream that the query reads, and then with the first one that comes
    its size or more after the last one opened. Its size is that of `adaptive_pairs` for a single key, whose sides are
    the elements of the window's own stream and those of the others.

    | elements at     | size 5, then 10, t = 4 | t = 7 |
    | --------------- | ---------------------- | ----- |
    | 1, 4, 7, others | 1, 4                   | 7     |
    """

    counts = True

    def __init__(
        self, window: AdaptiveWindow, feed: Feed, instants: Sequence[Feed], start: Subwindow | None = None
    ) -> None:
        super().__init__(window, feed)
        self.subwindows = SubwindowSequence(window, start)
        self._others = [each for each in instants if each is not feed]
        self._own_taken = feed.count
        self._others_taken = [each.count for each in self._others]
        self._moment_ms = BEFORE_ALL_TIME  # what happened before this time is done

    def advance(self, moment: int) -> None:
        self._take(moment)
        super().advance(moment)

    def skip_to(self, moment: int) -> None:
        self._take(moment)
        super().skip_to(moment)

    @property
    def place(self) -> tuple[int, ...]:
        return *super().place, self._moment_ms

    def go_back(self, place: tuple[int, ...]) -> None:
        super().go_back(place)
        self._moment_ms = place[2]  # the subwindows stay: they are the same when their moments come

    def _take(self, moment: int) -> None:
        end_ms = (moment + 1) >> 1
        self.subwindows.forget_before(self._moment_ms - 1)
        self._moment_ms = end_ms
        own, self._own_taken = _times_before(self.feed, self._own_taken, end_ms)
        others = []
        for at, feed in enumerate(self._others):
            times, self._others_taken[at] = _times_before(feed, self._others_taken[at], end_ms)
            others.append(times)
        other = others[0] if len(others) == 1 else np.sort(np.concatenate([_NO_TIMES, *others]))
        if len(own) or len(other):
            self.subwindows.take(own, other)

    def entered_by(self, moment: int) -> int:
        return self.feed.before((moment + 1) >> 1, self.entered)

    def left_by(self, moment: int) -> int:
        return self.feed.before(self.subwindows.opened_ms(((moment + 1) >> 1) - 1), self.left)

    def births(self, first: int, end: int) -> Ids:
        return self.feed.instants_of(first, end)

    def deaths(self, first: int, end: int) -> Ids:
        return 2 * self.subwindows.next_opened(self.feed.times(first, end)) + 1

    def begin_at(self, moment: int) -> Subwindow:
        """The subwindow that was open at a moment of the present batch."""
        return self.subwindows.at(((moment + 1) >> 1) - 1)

    def first_begin(self, passed_ms: int) -> Subwindow:
        """Where its subwindows begin, of a query that has come so far and was not evaluated twice yet."""
        waiting_ms = min(feed.waiting.from_ms for feed in (self.feed, *self._others))
        return self.subwindows.first or Subwindow(min(passed_ms, waiting_ms), 0, 0.0, 0.0)

    def needed_from(self, time_ms: int) -> int:
        return time_ms


def _times_before(feed: Feed, taken: int, end_ms: int) -> tuple[Ids, int]:
    """The times before one of the elements that have not been taken yet, and how many then have been."""
    end = feed.before(end_ms, taken)
    return (feed.times(taken, end) if end > taken else _NO_TIMES), end


def _join_window(window: AdaptiveWindow) -> JoinWindow:
    """A dynamic window of mapped joins with these limits."""
    from freshet.rml.windows import WindowKind, default_window, window_with  # most queries have none

    usual = default_window(WindowKind.DYNAMIC)
    idle_ms = max(usual.idle_ms, window.upper_ms)
    return window_with(usual, {"lower": window.lower_ms, "upper": window.upper_ms, "idle_ms": idle_ms})
