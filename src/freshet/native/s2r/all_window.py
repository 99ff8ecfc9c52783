"""CQELS-QL's `[ALL]` (S2R)."""

from __future__ import annotations

from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.s2r.arrival_window import ArrivalWindowContent


class AllWindowContent(ArrivalWindowContent):
    """At an instant t every element with a time of t or before."""

    expires = False

    def oldest(self) -> int:
        return self.last

    def move_to(self, time_ms: int, number: int) -> None:
        self._hold(0, self.feed.before(time_ms + 1, self.last), number)

    def needed_from(self, time_ms: int) -> int:
        return BEFORE_ALL_TIME
