"""Queries over the same windows have the same moments; here is when these are, and what moves then."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from freshet.native.moments import (
    BEFORE_ALL_TIME,
    NEVER,
    close_at,
    is_instant,
    time_of,
)
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.contents import FOLLOWING
from freshet.native.s2r.sliding_window import SlidingWindowContent


class Rhythm:
    """The moments of some windows, or, with a period, the closes that are multiples of it.

    Windows that close are visited at every close as long as one of the windows holds anything: what they hold together
    is then an answer, also where nothing has changed. Other windows are visited when an element makes them move.
    """

    def __init__(self, windows: Sequence[WindowContent], period_ms: int | None) -> None:
        self.windows = tuple(windows)
        self.period_ms = period_ms
        self.closing = tuple(window for window in windows if isinstance(window, SlidingWindowContent))
        self.following = tuple(window for window in windows if isinstance(window.window, FOLLOWING))
        self.arriving = tuple(window for window in windows if not isinstance(window, SlidingWindowContent))
        self.has_closes = bool(self.closing) or period_ms is not None
        # The windows that close, by slide and start: those that have these in common close together.
        self._beats: dict[tuple[int, int], list[WindowContent]] = {}
        for window in self.closing:
            self._beats.setdefault((window.slide_ms, window.start_ms), []).append(window)
        self._only_beat = next(iter(self._beats)) if len(self._beats) == 1 else None
        # All that the windows do is to close together. Then what is asked at every close is answered on the spot: that
        # takes less than to call for it.
        self._is_steady = self._only_beat is not None and period_ms is None and not self.arriving
        self.ended_at: int | None = None  # the watermark at the end of the streams
        self._next_arrival = NEVER  # when next an element makes a window move
        self.moving: Collection[WindowContent] = ()  # the windows that move at the moment that it has come to
        self.rests = True  # everything was empty at the last moment of its own, so nothing before it counts

    @property
    def holds_anything(self) -> bool:
        for window in self.windows:  # noqa: SIM110  asked several times a close, and `any` takes thrice as long
            if window.count:
                return True
        return False

    def changed_at(self, number: int) -> bool:
        """Whether an element came into one of the windows or went out at a step."""
        for window in self.windows:  # noqa: SIM110  likewise
            if window.changed == number:
                return True
        return False

    @property
    def enters_early(self) -> bool:
        """Whether all that its windows do is to close together, and every element is inside at the next close."""
        return (
            self.period_ms is None
            and not self.arriving
            and len(self._beats) == 1
            and all(window.slide_ms <= window.width_ms for window in self.closing)
        )

    def wakes_at(self, passed_ms: int) -> int:
        """The first watermark after one that has been passed at which anything can close."""
        if self._is_steady and self._only_beat is not None:
            slide_ms, start_ms = self._only_beat
            return passed_ms + slide_ms - (passed_ms - start_ms) % slide_ms
        close_ms = self._close_after(passed_ms)
        return close_ms if self.period_ms is None else min(close_ms, self._multiple_after(passed_ms))

    def next_moment(self, after: int) -> int:
        """The first moment after another at which a window moves or the queries are due; NEVER where there is none."""
        if self._is_steady and self.ended_at is None and self._only_beat is not None:
            for window in self.windows:
                if window.count:
                    time_ms, (slide_ms, start_ms) = after >> 1, self._only_beat
                    return 2 * (time_ms + slide_ms - (time_ms - start_ms) % slide_ms)
        if not self.arriving:
            return self._next_close(time_of(after)) if self.has_closes else NEVER
        moment = NEVER
        for window in self.arriving:
            move = window.next_move()
            if move < moment:
                moment = move
        self._next_arrival = moment
        if self.has_closes:
            moment = min(moment, self._next_close(time_of(after)))
        return moment

    def come_to(self, moment: int) -> None:
        """Find out which windows move at the moment that comes next of all."""
        if is_instant(moment):
            self.moving = self._arriving_at(moment)
        elif self._only_beat is None:
            self.moving = self._closing_at(time_of(moment))
        else:
            slide_ms, start_ms = self._only_beat
            self.moving = self.closing if ((moment >> 1) - start_ms) % slide_ms == 0 else ()

    def _arriving_at(self, moment: int) -> Collection[WindowContent]:
        if self._next_arrival != moment:
            return ()
        if len(self.following) == len(self.windows):
            return self.following
        moving = [window for window in self.arriving if window.next_move() == moment]
        return {*moving, *self.following}

    def is_due(self, moment: int) -> bool:
        """Whether the queries are evaluated at a moment, once the windows have moved."""
        if self.period_ms is None:
            if not self.moving:
                return False
        elif is_instant(moment) or time_of(moment) % self.period_ms:
            return False
        is_over = self.ended_at is not None and self._ended_before(moment) and not is_instant(moment)
        if is_over and not self._goes_on(time_of(moment)):
            return False
        rested, self.rests = self.rests, not self.holds_anything
        return not (rested and self.rests)

    def held_since(self, time_ms: int) -> int:
        """The earliest time at which a window took on what it holds at a time. One that closes moves soon enough."""
        if self.period_ms is None:
            return time_ms  # windows that move at instants have moved at the last one
        return min([time_ms, *(window.moved_ms for window in self.arriving if window.count)])

    def _next_close(self, time_ms: int) -> int:
        holds = self.holds_anything
        if holds:
            moment = close_at(self._close_after(time_ms))
        else:
            moment = min((window.next_move() for window in self.closing), default=NEVER)
        if self.period_ms is not None and (holds or not self.rests):
            moment = min(moment, close_at(self._multiple_after(time_ms)))
        if self.ended_at is not None and self._ended_before(moment) and not self._goes_on(time_of(moment)):
            return NEVER
        return moment

    def _close_after(self, time_ms: int) -> int:
        """The first close of a window later than a time; NEVER where none closes."""
        if self._only_beat is not None:
            slide_ms, start_ms = self._only_beat
            return time_ms + slide_ms - (time_ms - start_ms) % slide_ms
        soonest_ms = NEVER
        for slide_ms, start_ms in self._beats:
            close_ms = time_ms + slide_ms - (time_ms - start_ms) % slide_ms
            if close_ms < soonest_ms:
                soonest_ms = close_ms
        return soonest_ms

    def _closing_at(self, time_ms: int) -> list[WindowContent]:
        return [
            window
            for (slide_ms, start_ms), windows in self._beats.items()
            if (time_ms - start_ms) % slide_ms == 0
            for window in windows
        ]

    def _multiple_after(self, time_ms: int) -> int:
        assert self.period_ms is not None
        return (time_ms // self.period_ms + 1) * self.period_ms

    def _ended_before(self, moment: int) -> bool:
        return self.ended_at is not None and moment > close_at(self.ended_at)

    def _goes_on(self, time_ms: int) -> bool:
        """Whether there are closes at all at a time after the streams' end."""
        if self.closing:
            return any(window.count or window.next_move() != NEVER for window in self.closing)
        last_ms = max((window.feed.last_ms for window in self.windows), default=BEFORE_ALL_TIME)
        return time_ms <= self._multiple_after(last_ms)
