"""CQELS-QL's `[TRIPLES n]` (S2R)."""

from __future__ import annotations

from freshet.algebra.windows import TriplesWindow
from freshet.native.s2r.arrival_window import ArrivalWindowContent
from freshet.native.s2r.feed import Feed


class TriplesWindowContent(ArrivalWindowContent):
    """At an instant t the last n elements with a time of t or before."""

    counts = True

    def __init__(self, window: TriplesWindow, feed: Feed) -> None:
        super().__init__(window, feed)
        self._most = window.count

    def move_to(self, time_ms: int, number: int) -> None:
        last = self.feed.before(time_ms + 1, self.last)
        self._hold(max(self.first, last - self._most), last, number)

    def needed_from(self, time_ms: int) -> int:
        return time_ms
