"""CQELS-QL's `[RANGE w SLIDE b]`, `[NOW]` and `[ALL]`, and `[RANGE w @predicate]` without a step (S2R)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from freshet.algebra.windows import EventTimeWindow, RangeWindow, WindowOperator
from freshet.native.buffers.one_way_index import Ids
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.feed import Feed


class InstantWindowContent(WindowContent):
    """Elements enter at their own instants, and leave at the first instant that is late enough for their own times.

    The instants are those of all streams that the query reads, `instants`: its windows move together. So a row that
    comes again at the instant at which it would leave has one life, not two with a gap between evaluations.
    """

    def __init__(self, window: WindowOperator, feed: Feed, instants: Sequence[Feed]) -> None:
        super().__init__(window, feed)
        self._instants = instants

    @abstractmethod
    def open_ms(self, time_ms: int) -> int:
        """Elements before this time have left at the instant of a time."""

    @abstractmethod
    def leave_times(self, times: Ids) -> Ids:
        """For elements of some times the times from which on they have left."""

    def entered_by(self, moment: int) -> int:
        return self.feed.before((moment + 1) >> 1, self.entered)

    def left_by(self, moment: int) -> int:
        end_ms = (moment + 1) >> 1
        time_ms = self._instants[0].last_before(end_ms)
        for feed in self._instants[1:]:
            time_ms = max(time_ms, feed.last_before(end_ms))
        return self.feed.before(self.open_ms(time_ms), self.left)

    def births(self, first: int, end: int) -> Ids:
        return self.feed.instants_of(first, end)

    def deaths(self, first: int, end: int) -> Ids:
        own = self.feed.times(first, end)
        leave = np.maximum(self.leave_times(own), own)
        times = self._instants[0].first_times(leave)
        for feed in self._instants[1:]:
            times = np.minimum(times, feed.first_times(leave))
        return 2 * times + 1


class RangeWindowContent(InstantWindowContent):
    """At an instant t the elements of [t - width, t].

        an element at t leaves at t + width + 1

    Tumbling, they are those of [k * width, t]: an element leaves at the next multiple of the width.

    | elements at | width 5, t = 6 | t = 9 |
    | ----------- | -------------- | ----- |
    | 1, 6, 9     | 1, 6           | 6, 9  |
    """

    def __init__(self, window: RangeWindow | EventTimeWindow, feed: Feed, instants: Sequence[Feed]) -> None:
        super().__init__(window, feed, instants)
        self.width_ms = window.width_ms
        self.tumbling = isinstance(window, RangeWindow) and window.tumbling

    def open_ms(self, time_ms: int) -> int:
        return time_ms // self.width_ms * self.width_ms if self.tumbling else time_ms - self.width_ms

    def leave_times(self, times: Ids) -> Ids:
        if not self.tumbling:
            return times + (self.width_ms + 1)
        leave: Ids = (times // self.width_ms + 1) * self.width_ms
        return leave

    def needed_from(self, time_ms: int) -> int:
        return time_ms - self.width_ms


class NowWindowContent(InstantWindowContent):
    """At an instant t the elements of t."""

    def open_ms(self, time_ms: int) -> int:
        return time_ms

    def leave_times(self, times: Ids) -> Ids:
        return times + 1

    def needed_from(self, time_ms: int) -> int:
        return time_ms


class AllWindowContent(InstantWindowContent):
    """At an instant t every element with a time of t or before."""

    expires = False

    def oldest(self) -> int:
        return self.entered

    def open_ms(self, time_ms: int) -> int:
        return BEFORE_ALL_TIME

    def leave_times(self, times: Ids) -> Ids:
        raise AssertionError("nothing leaves")

    def needed_from(self, time_ms: int) -> int:
        return BEFORE_ALL_TIME
