"""Windows that close at regular times: those of RSP-QL and C-SPARQL, and `[RANGE ... @predicate STEP ...]` (S2R)."""

from __future__ import annotations

import numpy as np

from freshet.algebra.windows import EventTimeWindow, SlidingWindow
from freshet.native.buffers.one_way_index import Ids
from freshet.native.moments import close_after
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.feed import Feed


class SlidingWindowContent(WindowContent):
    """At each close c = start + k * slide the elements of [c - width, c); of a window in the past, older ones.

        an element at t enters at the first close after t + ago, and leaves at the first close after t + ago + width

    | elements at | width 10, slide 5, close 10 | close 15 |
    | ----------- | --------------------------- | -------- |
    | 1, 6, 12    | 1, 6                        | 6, 12    |
    """

    def __init__(self, window: SlidingWindow | EventTimeWindow, feed: Feed) -> None:
        super().__init__(window, feed)
        assert window.slide_ms is not None, "it closes"
        self.width_ms, self._slide_ms = window.width_ms, window.slide_ms
        self._start_ms, self._ago_ms = 0, 0
        if isinstance(window, SlidingWindow):
            self._start_ms, self._ago_ms = window.start_ms, window.ago_ms
        self.closes = (self._slide_ms, self._start_ms)

    def _last_close(self, moment: int) -> int:
        """The last close not after a moment."""
        time_ms = moment >> 1
        return time_ms - (time_ms - self._start_ms) % self._slide_ms

    def entered_by(self, moment: int) -> int:
        return self.feed.before(self._last_close(moment) - self._ago_ms, self.entered)

    def left_by(self, moment: int) -> int:
        return self.feed.before(self._last_close(moment) - self._ago_ms - self.width_ms, self.left)

    def births(self, first: int, end: int) -> Ids:
        return self._closes_after(first, end, self._ago_ms)

    def deaths(self, first: int, end: int) -> Ids:
        return self._closes_after(first, end, self._ago_ms + self.width_ms)

    def _closes_after(self, begin: int, end: int, delay_ms: int) -> Ids:
        """The moment of the first close after each of some elements, at least one, and a delay."""
        feed, slide_ms, start_ms = self.feed, self._slide_ms, self._start_ms
        first = close_after(feed.time(begin) + delay_ms, slide_ms, start_ms)
        if end == begin + 1:  # as it mostly is where elements come one by one
            return np.array([2 * first])
        last = close_after(feed.time(end - 1) + delay_ms, slide_ms, start_ms)
        if first == last:
            moments: Ids = np.empty(end - begin, np.int64)
            moments.fill(2 * first)
            return moments
        times = feed.times(begin, end) + delay_ms
        if last - first < slide_ms * len(times):
            closes = np.arange(first, last + slide_ms, slide_ms)
            return np.repeat(2 * closes, np.diff(times.searchsorted(closes), prepend=0))
        moments = 2 * (times + slide_ms - (times - start_ms) % slide_ms)
        return moments

    def needed_from(self, time_ms: int) -> int:
        return time_ms - self._ago_ms - self.width_ms - 2 * self._slide_ms
