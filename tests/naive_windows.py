"""Windows and evaluation moments from scratch: every moment of whole streams, and what each window holds then.

A twin of the native engine's groups, feeds and window contents. It is slow on purpose, and knows nothing of increments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

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
from naive_subwindows import subwindows

Element = tuple[int, tuple[int, object]]  # the time, and the element with its number, which distinguishes equal ones
Line = tuple[int, "object | None"]  # without an element: the watermark is moved
Content = tuple[object, ...]


@dataclass(frozen=True)
class Stream:
    """What was kept, in order of (time, arrival), what was dropped, and how far the watermark came."""

    elements: list[Element]
    dropped: int
    watermark: float


def receive(lines: Sequence[Line], lateness: int = 0) -> Stream:
    kept, dropped, watermark = [], 0, -inf
    for time, element in lines:
        if element is None:
            watermark = max(watermark, time)
        elif time < watermark:
            dropped += 1
        else:
            kept.append((time, element))
            watermark = max(watermark, time - lateness)
    kept.sort(key=lambda pair: pair[0])
    return Stream([(time, (at, element)) for at, (time, element) in enumerate(kept)], dropped, watermark)


def derive(base: Stream, lateness: int, time_of: Callable[[object], int | None], subject: Callable) -> Stream:
    """The derived stream: each element of an event at the event's time."""
    lines = []
    for time, (_, element) in base.elements:
        event = [other for at, (_, other) in base.elements if at == time and subject(other) == subject(element)]
        given = [at for other in event if (at := time_of(other)) is not None]
        if given:
            lines.append((max(given), element))
    return receive(lines, lateness)


def closes(window: WindowOperator) -> bool:
    return isinstance(window, SlidingWindow) or (isinstance(window, EventTimeWindow) and window.slide_ms is not None)


def moments(
    windows: Sequence[WindowOperator],
    streams: Mapping[WindowOperator, Stream],
    *,
    period: int | None = None,
    conditions: frozenset[str] = frozenset(),
) -> list[tuple[int, list[Content]]]:
    """(time, what each window holds) at each moment, without those where everything is empty as it was before."""
    times = sorted({time for window in windows for time, _ in streams[window].elements})
    if not times:
        return []
    watermark = min(streams[window].watermark for window in windows)
    due: list[tuple[int, int]] = []
    closing = [window for window in windows if closes(window)]
    last = max([watermark, times[-1] if closing else times[0] - 1])
    empty = max((empty_close(window, streams[window]) for window in closing), default=-inf)
    last = max(last, empty) if period is None else max(watermark, -(-max(empty, times[-1] + 1) // period) * period)
    if period is not None:
        due = [(close, 0) for close in range(times[0], int(last) + 1) if close % period == 0]
    else:
        for window in closing:
            start = window.start_ms if isinstance(window, SlidingWindow) else 0
            due += [(at, 0) for at in range(times[0], int(last) + 1) if (at - start) % window.slide_ms == 0]
        for window in windows:
            due += [(time, 1) for time in instants(window, windows, streams)]
    # What came and went again between two evaluations is a change too, so every moment there can be is looked at.
    looked_at = {(at, kind) for at in range(times[0], int(last) + 1) for kind in (0, 1)}
    found, before, held, changed = [], [()] * len(windows), [()] * len(windows), False
    for moment in sorted({*due, *(looked_at if "change" in conditions else ())}):
        now = [content(window, moment, windows, streams) for window in windows]
        changed, held = changed or now != held, now
        if (
            moment not in due
            or ("change" in conditions and not changed)
            or ("non-empty" in conditions and not any(now))
        ):
            continue
        changed = False
        if any(now) or any(before):
            found.append((moment[0], now))
        before = now
    return found


def empty_close(window: WindowOperator, stream: Stream) -> float:
    """The first close after the last one at which the window has content."""
    start = window.start_ms if isinstance(window, SlidingWindow) else 0
    closed = [-inf]
    for time, _ in stream.elements:
        time += ago_of(window)
        close = (time + window.width_ms - start) // window.slide_ms * window.slide_ms + start
        if close > time:
            closed.append(close + window.slide_ms)
    return max(closed)


def ago_of(window: WindowOperator) -> int:
    """How much older than its close a window's content is."""
    return window.ago_ms if isinstance(window, SlidingWindow) else 0


def instants(window: WindowOperator, windows: Sequence[WindowOperator], streams: Mapping[WindowOperator, Stream]):
    """The times at which a window moves, at instants."""
    if closes(window):
        return []
    if isinstance(window, CountWindow):
        elements = streams[window].elements
        counts = {time: sum(at <= time for at, _ in elements) for time, _ in elements}
        before = {time: sum(at < time for at, _ in elements) for time in counts}
        return [time for time in counts if counts[time] // window.step > before[time] // window.step]
    if isinstance(window, EventTimeWindow | AdaptiveWindow):
        return sorted({time for time, _ in streams[window].elements})
    return sorted({time for other in windows for time, _ in streams[other].elements})


def content(
    window: WindowOperator,
    moment: tuple[int, int],
    windows: Sequence[WindowOperator],
    streams: Mapping[WindowOperator, Stream],
) -> Content:
    """What a window holds at a moment: as of its latest move."""
    elements = streams[window].elements
    if closes(window):
        start = window.start_ms if isinstance(window, SlidingWindow) else 0
        close = (moment[0] - start) // window.slide_ms * window.slide_ms + start
        close -= ago_of(window)
        return tuple(element for time, element in elements if close - window.width_ms <= time < close)
    if isinstance(window, AdaptiveWindow):
        return adaptive_content(window, moment, windows, streams)
    moved = [time for time in instants(window, windows, streams) if (time, 1) <= moment]
    if not moved:
        return ()
    at = max(moved)
    seen = [element for time, element in elements if time <= at]
    match window:
        case CountWindow(count=count, step=step):
            last = len(seen) // step * step
            return tuple(seen[max(0, last - count) : last])
        case TriplesWindow(count=count):
            return tuple(seen[-count:])
        case AllWindow():
            return tuple(seen)
        case NowWindow():
            return tuple(element for time, element in elements if time == at)
        case RangeWindow(width_ms=width, tumbling=True):
            start = next(s for s in range(at, at - width, -1) if s % width == 0)
            return tuple(element for time, element in elements if start <= time <= at)
        case RangeWindow() | EventTimeWindow():
            return tuple(element for time, element in elements if at - window.width_ms <= time <= at)
    raise TypeError(window)


def adaptive_content(
    window: AdaptiveWindow,
    moment: tuple[int, int],
    windows: Sequence[WindowOperator],
    streams: Mapping[WindowOperator, Stream],
) -> Content:
    """The elements of the subwindow that the last element of any stream is in."""
    own = streams[window]
    sources = {(each.stream, isinstance(each, EventTimeWindow)): streams[each] for each in windows}
    del sources[window.stream, False]
    seen = [time for time, _ in own.elements if (time, 1) <= moment]
    other = [time for each in sources.values() for time, _ in each.elements if (time, 1) <= moment]
    if not seen and not other:
        return ()
    opened, _ = subwindows(seen, other, window.lower_ms, window.upper_ms)[-1]
    return tuple(element for time, element in own.elements if opened <= time and (time, 1) <= moment)
