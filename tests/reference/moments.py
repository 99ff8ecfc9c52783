"""When a query is evaluated: at every move of a window, at every arrival (CQELS-QL), or periodically."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from reference.streams import Element, Received
from reference.windows import AT_INSTANTS, Moment, Sliding, Source, Window, source

CLOSE, INSTANT = False, True


def evaluation_moments(
    windows: Sequence[Window], period_ms: int | None, received: Mapping[Source, Received]
) -> list[Moment]:
    """In order, a close before an instant of the same time."""
    streams = [received[source(window)] for window in windows]
    times_ms = [element.time_ms for stream in streams for element in stream.elements]
    if not times_ms:
        return []
    if period_ms is not None:
        span = min(times_ms), last_period_ms(windows, period_ms, received)
        return [Moment(close_ms, CLOSE) for close_ms in multiples(period_ms, *span)]
    if any(isinstance(window, AT_INSTANTS) for window in windows):
        return [Moment(time_ms, INSTANT) for time_ms in sorted(set(times_ms))]
    moments = set()
    last_ms = last_close_ms(windows, received)
    for window, stream in zip(windows, streams, strict=True):
        if isinstance(window, Sliding):
            moments |= {Moment(close_ms, CLOSE) for close_ms in multiples(window.slide_ms, min(times_ms), last_ms)}
        else:
            moments |= {Moment(time_ms, INSTANT) for time_ms in window.moves(stream.elements)}
    return sorted(moments)


def multiples(step_ms: int, first_ms: int, last_ms: float) -> Iterator[int]:
    """The multiples of a step from just before the first element (nothing can happen earlier) to the last close."""
    close_ms = first_ms // step_ms * step_ms
    while close_ms <= last_ms:
        yield close_ms
        close_ms += step_ms


def last_close_ms(windows: Sequence[Window], received: Mapping[Source, Received]) -> float:
    """Closes are visited up to the watermark of all streams and, if later, up to the latest element of any stream and
    until every window that closes has closed once more after it was empty.
    """
    closing = [window for window in windows if isinstance(window, Sliding)]
    return max(
        _last_ms(windows, received),
        *(empty_close(window, received[source(window)].elements) for window in closing),
        -inf,
    )


def _last_ms(windows: Sequence[Window], received: Mapping[Source, Received]) -> float:
    watermark_ms = min(received[source(window)].watermark_ms for window in windows)
    if not any(isinstance(window, Sliding) for window in windows):
        return watermark_ms
    return max(
        [watermark_ms, *(element.time_ms for window in windows for element in received[source(window)].elements)]
    )


def last_period_ms(windows: Sequence[Window], period_ms: int, received: Mapping[Source, Received]) -> float:
    """The same, up to the first multiple that sees the last element and the windows that close empty."""
    elements = [received[source(window)].elements for window in windows]
    closing = [
        empty_close(window, of) for window, of in zip(windows, elements, strict=True) if isinstance(window, Sliding)
    ]
    latest_ms = max(element.time_ms for of in elements for element in of)
    needed_ms = max(latest_ms + 1, *closing, -inf)
    return max(_last_ms(windows, received), -(-needed_ms // period_ms) * period_ms)


def empty_close(window: Sliding, elements: Sequence[Element]) -> float:
    """The first close after the last one at which the window has content.

    An element at t is in [c - w, c) for every close c in (t, t + w].
    """
    closes = [-inf]
    for element in elements:
        seen_ms = element.time_ms + window.ago_ms
        close_ms = (seen_ms + window.width_ms) // window.slide_ms * window.slide_ms
        if close_ms > seen_ms:
            closes.append(close_ms + window.slide_ms)
    return max(closes)
