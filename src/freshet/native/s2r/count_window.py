"""`[COUNT n STEP m]`, C-SPARQL's `[RANGE TRIPLES n]` and CQELS-QL's `[TRIPLES n]` (S2R)."""

from __future__ import annotations

import numpy as np

from freshet.algebra.windows import CountWindow, TriplesWindow
from freshet.native.buffers.one_way_index import Ids
from freshet.native.s2r.content import NO_MOMENTS, WindowContent
from freshet.native.s2r.feed import Feed


class CountWindowContent(WindowContent):
    """Each time that m more elements have come, the last n of those that have come by then.

        element k enters with the element that completes its m, and leaves with the one that completes that of k + n

    All elements of one millisecond come before the move, so that it moves once even where they are many times m.

    | elements            | n = 3, m = 2: contents |
    | ------------------- | ---------------------- |
    | a b c d e (in time) | a b, then b c d        |
    """

    counts = True

    def __init__(self, window: CountWindow | TriplesWindow, feed: Feed, phase: int = 0) -> None:
        """With a phase steps do not begin with the first element of the feed, but `phase` elements later."""
        super().__init__(window, feed)
        self._phase = phase
        self._most = window.count
        self._step = window.step if isinstance(window, CountWindow) else 1

    def advance(self, moment: int) -> None:
        first, feed = self.entered, self.feed
        self.entering = self.leaving = NO_MOMENTS
        if feed.count == first:
            return  # it moves with its own elements only
        end = feed.count if self._step == 1 and feed.last_ms < (moment + 1) >> 1 else self.entered_by(moment)
        if end == first:
            return
        gone = self.left
        self.entered, self.entering = end, self._step_instants(first, end)
        left = end - self._most
        if left > gone:  # mostly one leaves for each that enters
            self.left = left
            self.leaving = self.entering if left - gone == end - first else self.deaths(gone, left)

    def entered_by(self, moment: int) -> int:
        come = self.feed.before((moment + 1) >> 1, self.entered)
        return max(self.entered, come - (come - self._phase) % self._step)  # a feed need not begin with a step

    def left_by(self, moment: int) -> int:
        return max(self.left, self.entered_by(moment) - self._most)

    def births(self, first: int, end: int) -> Ids:
        return self._step_instants(first, end)

    def deaths(self, first: int, end: int) -> Ids:
        return self._step_instants(first + self._most, end + self._most)

    def _step_instants(self, first: int, end: int) -> Ids:
        """The instants of the elements that complete the steps of others."""
        if self._step == 1:
            return self.feed.instants_of(first, end)
        numbers = np.arange(first, end)
        return 2 * self.feed.times_of(numbers - (numbers - self._phase) % self._step + (self._step - 1)) + 1

    def oldest(self) -> int:
        return self.left

    def needed_from(self, time_ms: int) -> int:
        return time_ms
