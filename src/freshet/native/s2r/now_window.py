"""CQELS-QL's `[NOW]` (S2R)."""

from __future__ import annotations

from freshet.native.s2r.arrival_window import ArrivalWindowContent


class NowWindowContent(ArrivalWindowContent):
    """At an instant t the elements of t."""

    def move_to(self, time_ms: int, number: int) -> None:
        first = self.feed.before(time_ms, self.last)
        self._hold(first, self.feed.before(time_ms + 1, first), number)

    def needed_from(self, time_ms: int) -> int:
        return time_ms
