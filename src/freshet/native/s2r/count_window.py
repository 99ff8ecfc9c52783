"""`[COUNT n STEP m]` and C-SPARQL's `[RANGE TRIPLES n]` (S2R)."""

from __future__ import annotations

from freshet.algebra.windows import CountWindow
from freshet.native.moments import NEVER, instant_at
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.feed import Feed


class CountWindowContent(WindowContent):
    """Each time that m more elements have come, the last n of those that have come by then.

    All elements of one millisecond come before the move, so that it moves once even where they are many times m.

    | elements            | n = 3, m = 2: contents |
    | ------------------- | ---------------------- |
    | a b c d e (in time) | a b, then b c d        |
    """

    counts = True

    def __init__(self, window: CountWindow, feed: Feed) -> None:
        super().__init__(window, feed)
        self._most, self._step = window.count, window.step

    def next_move(self) -> int:
        enough = self.last - self.last % self._step + self._step  # a feed need not begin with a step
        return instant_at(self.feed.time(enough - 1)) if enough <= self.feed.count else NEVER

    def move_to(self, time_ms: int, number: int) -> None:
        come = self.feed.before(time_ms + 1, self.last)
        last = max(self.last, come - come % self._step)
        self._hold(max(self.first, last - self._most), last, number)

    def needed_from(self, time_ms: int) -> int:
        return time_ms
