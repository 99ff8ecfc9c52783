"""Windows that close at regular times: those of RSP-QL and C-SPARQL, and `[RANGE ... @predicate STEP ...]` (S2R)."""

from __future__ import annotations

from freshet.algebra.windows import EventTimeWindow, SlidingWindow
from freshet.native.moments import AFTER_ALL_TIME, NEVER, close_at
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.feed import Feed


class SlidingWindowContent(WindowContent):
    """At each close c = start + k * slide the elements of [c - width, c).

    | elements at | width 10, slide 5, close 10 | close 15 |
    | ----------- | --------------------------- | -------- |
    | 1, 6, 12    | 1, 6                        | 6, 12    |
    """

    def __init__(self, window: SlidingWindow | EventTimeWindow, feed: Feed) -> None:
        super().__init__(window, feed)
        assert window.slide_ms is not None, "it closes"
        self.width_ms, self.slide_ms = window.width_ms, window.slide_ms
        self.start_ms = window.start_ms if isinstance(window, SlidingWindow) else 0

    def close_after(self, time_ms: int) -> int:
        """The first close later than a time."""
        return time_ms + self.slide_ms - (time_ms - self.start_ms) % self.slide_ms

    def next_move(self) -> int:
        """The first close that lets in an element which has come. (It closes before that, but only to lose some.)"""
        number = self.last
        while (time_ms := self.feed.time(number)) != AFTER_ALL_TIME:
            close_ms = self.close_after(time_ms)
            if time_ms >= close_ms - self.width_ms:
                return close_at(close_ms)
            # A slide longer than the width leaves gaps; what falls there is never inside.
            number = self.feed.before(close_ms - self.width_ms, number)
        return NEVER

    def move_to(self, time_ms: int, number: int) -> None:
        first, last = self.feed.between(time_ms - self.width_ms, time_ms, self.first, self.last)
        if first == self.first and last == self.last:
            self.number = number
        else:
            self._hold(first, last, number)

    def enter(self, close_ms: int, number: int) -> None:
        """Let what will be inside at the next close into the leaves, ahead of the step with this number."""
        first, last = self.feed.between(close_ms - self.width_ms, close_ms, self.first, self.last)
        for leaf in self.leaves.values():
            leaf.enter(first, last, number)

    def needed_from(self, time_ms: int) -> int:
        return time_ms - self.width_ms - 2 * self.slide_ms
