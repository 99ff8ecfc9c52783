"""CQELS-QL's `[RANGE w SLIDE b]`, and `[RANGE w @predicate]` without a step (S2R)."""

from __future__ import annotations

from freshet.algebra.windows import EventTimeWindow, RangeWindow
from freshet.native.s2r.arrival_window import ArrivalWindowContent
from freshet.native.s2r.feed import Feed


class RangeWindowContent(ArrivalWindowContent):
    """At an instant t the elements of [t - width, t].

    With a slide b they are those of [s, t], where s is the smallest multiple of b greater than t - width.

    | elements at | width 5, t = 6 | t = 9 |
    | ----------- | -------------- | ----- |
    | 1, 6, 9     | 1, 6           | 6, 9  |
    """

    def __init__(self, window: RangeWindow | EventTimeWindow, feed: Feed) -> None:
        super().__init__(window, feed)
        self.width_ms, self.slide_ms = window.width_ms, window.slide_ms

    def move_to(self, time_ms: int, number: int) -> None:
        open_ms = time_ms - self.width_ms
        if self.slide_ms is not None:
            open_ms += self.slide_ms - open_ms % self.slide_ms
        last = self.feed.before(time_ms + 1, self.last)
        first = self.feed.before(open_ms, self.first)
        self._hold(first if first < last else last, last, number)

    def needed_from(self, time_ms: int) -> int:
        return time_ms - self.width_ms
