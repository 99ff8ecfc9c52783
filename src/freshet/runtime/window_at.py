"""What windows held at a moment that has passed, by the elements that are still there: each window from scratch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.windows import (
    AdaptiveWindow,
    AllWindow,
    CountWindow,
    EventTimeWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    TriplesWindow,
    WindowOperator,
)
from freshet.native.moments import BEFORE_ALL_TIME, close_at, instant_at, is_instant, time_of
from freshet.native.s2r.adaptive_window import Subwindow, SubwindowSequence
from freshet.native.s2r.feed import FROM_THE_FIRST, Begin
from freshet.native.streams.element_log import HeldElements
from freshet.native.timing import Timing, source_of
from freshet.rdf.errors import FreshetError

Ids = NDArray[np.int64]


class WhyGoneError(FreshetError):
    """What an answer was derived from is not there any more."""


class WindowsAt:
    """The windows of a query, by what is still there of its streams."""

    def __init__(self, timing: Timing, sources: dict[str, HeldElements], most: int) -> None:
        self._timing = timing
        self._sources = sources
        self._begins: dict[WindowOperator, Begin | Subwindow] = dict(timing.begins)
        self._most = most

    def content(self, window: WindowOperator, moment: int) -> HeldElements:
        """The elements that a window held.

        Raises:
            WhyGoneError: They are not all there any more.
        """
        held = self._sources[source_of(window)]
        seen = int(held.times.searchsorted(end_of(moment)))
        match window:
            case SlidingWindow() | EventTimeWindow(slide_ms=int()):
                assert window.slide_ms is not None
                start_ms, ago_ms = (window.start_ms, window.ago_ms) if isinstance(window, SlidingWindow) else (0, 0)
                end_ms = time_of(moment) - (time_of(moment) - start_ms) % window.slide_ms - ago_ms
                return self._between(held, end_ms - window.width_ms, end_ms)
            case EventTimeWindow():
                last_ms = self._last_instant([held], moment)
                return self._between(held, last_ms - window.width_ms, last_ms + 1)
            case RangeWindow():
                last_ms = self._last_instant(self._sources.values(), moment)
                open_ms = last_ms - (last_ms % window.width_ms if window.tumbling else window.width_ms)
                return self._between(held, open_ms, last_ms + 1)
            case NowWindow():
                last_ms = self._last_instant(self._sources.values(), moment)
                return self._between(held, last_ms, last_ms + 1)
            case AllWindow():
                return self._between(held, BEFORE_ALL_TIME, end_of(moment))
            case AdaptiveWindow():
                return self._between(held, self._opened_ms(window, held, end_of(moment)), end_of(moment))
            case TriplesWindow() | CountWindow():
                return self._last(window, held, seen)

    def _between(self, held: HeldElements, open_ms: int, end_ms: int) -> HeldElements:
        if held.gone_ms >= open_ms and held.gone_ms > BEFORE_ALL_TIME:
            raise self._gone_error(held)
        first, end = held.times.searchsorted([open_ms, end_ms]).tolist()
        return held.where(np.arange(first, end))

    def _last(self, window: TriplesWindow | CountWindow, held: HeldElements, seen: int) -> HeldElements:
        """The last elements up to the last whole step."""
        step = window.step if isinstance(window, CountWindow) else 1
        begin = self._begins.get(window, FROM_THE_FIRST)
        assert isinstance(begin, Begin), "it counts elements"
        before = int(held.times.searchsorted(begin.time_ms))  # which came again after a restart, and are counted
        counted = begin.number + seen - before
        if step > 1 and held.gone_ms > BEFORE_ALL_TIME:
            raise self._gone_error(held)  # how many there were is not known
        end = seen - counted % step
        first = max(before, end - window.count)
        if held.gone_ms > BEFORE_ALL_TIME and (end - window.count < 0 or held.times[first] <= held.gone_ms):
            raise self._gone_error(held)
        return held.where(np.arange(first, max(first, end)))

    def _opened_ms(self, window: AdaptiveWindow, held: HeldElements, end_ms: int) -> int:
        """When the subwindow opened that was open just before a time."""
        begin = self._begins.get(window)
        assert begin is None or isinstance(begin, Subwindow)
        for source in self._sources.values():
            if source.gone_ms > BEFORE_ALL_TIME:  # how long subwindows were by then is not known
                raise self._gone_error(source)
        own = held.times[: held.times.searchsorted(end_ms)]
        others = [each.times[: each.times.searchsorted(end_ms)] for each in self._sources.values() if each is not held]
        subwindows = SubwindowSequence(window, begin)
        other = np.sort(np.concatenate([own[:0], *others]))
        if len(own) or len(other):
            subwindows.take(own.copy(), other)
        return subwindows.opened_ms(end_ms - 1)

    def _last_instant(self, sources: Iterable[HeldElements], moment: int) -> int:
        """The time of the last element that a moment has seen."""
        last_ms = BEFORE_ALL_TIME
        for held in sources:
            seen = int(held.times.searchsorted(end_of(moment)))
            if seen:
                last_ms = max(last_ms, int(held.times[seen - 1]))
            elif held.gone_ms > BEFORE_ALL_TIME:
                raise self._gone_error(held)
        return last_ms

    def before(self, moment: int) -> int | None:
        """The last moment before one at which the query may have been evaluated; None where nothing is known of it."""
        if self._timing.period_ms is not None:
            found = [_close_before(moment, self._timing.period_ms)]
        else:
            found = [each for window in self._timing.windows for each in self._before(window, moment)]
        return max(found, default=None)

    def _before(self, window: WindowOperator, moment: int) -> Iterator[int]:
        """The last moment before one at which a window moved."""
        match window:
            case SlidingWindow():
                yield _close_before(moment, window.slide_ms, window.start_ms)
            case EventTimeWindow(slide_ms=int(slide_ms)):
                yield _close_before(moment, slide_ms)
            case _:
                times = self._sources[source_of(window)].times
                place = int(times.searchsorted(time_of(moment)))
                if place:
                    yield instant_at(int(times[place - 1]))

    def _gone_error(self, held: HeldElements) -> WhyGoneError:
        return WhyGoneError(
            f"elements of the stream <{held.stream}> that the answer may have come from are gone: the newest"
            f" {self._most:,} of a stream are kept",
            hint="a session with a larger why_elements keeps more",
        )


def _close_before(moment: int, slide_ms: int, start_ms: int = 0) -> int:
    time_ms = time_of(moment - 1)
    return close_at(time_ms - (time_ms - start_ms) % slide_ms)


def end_of(moment: int) -> int:
    """The first time that a moment has not seen."""
    return time_of(moment) + is_instant(moment)
