"""The content class of each kind of window."""

from __future__ import annotations

from functools import singledispatch

from freshet.algebra.windows import (
    AllWindow,
    CountWindow,
    EventTimeWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    TriplesWindow,
)
from freshet.native.s2r.all_window import AllWindowContent
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.count_window import CountWindowContent
from freshet.native.s2r.feed import Feed
from freshet.native.s2r.now_window import NowWindowContent
from freshet.native.s2r.range_window import RangeWindowContent
from freshet.native.s2r.sliding_window import SlidingWindowContent
from freshet.native.s2r.triples_window import TriplesWindowContent

# These move with every element of any stream that their query reads, not with their own alone.
FOLLOWING = (RangeWindow, NowWindow, TriplesWindow, AllWindow)


@singledispatch
def content_of(window: object, feed: Feed) -> WindowContent:
    """An empty content of a window over a feed."""
    raise TypeError(f"{window} is no window")


@content_of.register
def _(window: SlidingWindow, feed: Feed) -> WindowContent:
    return SlidingWindowContent(window, feed)


@content_of.register
def _(window: EventTimeWindow, feed: Feed) -> WindowContent:
    return RangeWindowContent(window, feed) if window.slide_ms is None else SlidingWindowContent(window, feed)


@content_of.register
def _(window: CountWindow, feed: Feed) -> WindowContent:
    return CountWindowContent(window, feed)


@content_of.register
def _(window: RangeWindow, feed: Feed) -> WindowContent:
    return RangeWindowContent(window, feed)


@content_of.register
def _(window: NowWindow, feed: Feed) -> WindowContent:
    return NowWindowContent(window, feed)


@content_of.register
def _(window: TriplesWindow, feed: Feed) -> WindowContent:
    return TriplesWindowContent(window, feed)


@content_of.register
def _(window: AllWindow, feed: Feed) -> WindowContent:
    return AllWindowContent(window, feed)
