"""The content class of each kind of window."""

from __future__ import annotations

from collections.abc import Sequence

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
from freshet.native.s2r.adaptive_window import AdaptiveWindowContent, Subwindow
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.count_window import CountWindowContent
from freshet.native.s2r.feed import Feed
from freshet.native.s2r.range_window import AllWindowContent, NowWindowContent, RangeWindowContent
from freshet.native.s2r.sliding_window import SlidingWindowContent

# These move with every element of any stream that their query reads, not with their own alone.
MOVING_TOGETHER = (RangeWindow, NowWindow, AllWindow, AdaptiveWindow)


def content_of(
    window: WindowOperator, feed: Feed, instants: Sequence[Feed], phase: int = 0, start: Subwindow | None = None
) -> WindowContent:
    """An empty content of a window over a feed, for queries that read `instants`.

    Where elements are counted in steps, the first of these that is whole begins after `phase` elements. One that adapts
    goes on with `start`.
    """
    match window:
        case SlidingWindow():
            return SlidingWindowContent(window, feed)
        case EventTimeWindow():
            return (
                RangeWindowContent(window, feed, (feed,))
                if window.slide_ms is None
                else SlidingWindowContent(window, feed)
            )
        case CountWindow() | TriplesWindow():
            return CountWindowContent(window, feed, phase)
        case RangeWindow():
            return RangeWindowContent(window, feed, instants)
        case NowWindow():
            return NowWindowContent(window, feed, instants)
        case AllWindow():
            return AllWindowContent(window, feed, instants)
        case AdaptiveWindow():
            return AdaptiveWindowContent(window, feed, instants, start)
