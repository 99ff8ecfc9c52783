"""What every kind of window holds at a moment: written down from the specification, computed from the whole stream."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from naive_subwindows import subwindows
from reference.query_text import duration_ms
from reference.streams import Element, Received

# A stream, or the stream by the time that a predicate gives.
Source = tuple[str, str | None]


class Moment(NamedTuple):
    """A close at c has seen everything before c, an instant at t everything up to t. The close comes first."""

    time_ms: int
    instant: bool

    def sees(self, time_ms: int) -> bool:
        return time_ms <= self.time_ms if self.instant else time_ms < self.time_ms


@dataclass(frozen=True)
class Sliding:
    """`[RANGE w STEP b]` of RSP-QL and C-SPARQL: as it closed last, at a multiple c of b, [c - w, c).

    With a predicate (`[RANGE w @p STEP b]`) the same over the stream by the time that it gives. In the past
    (`[FROM NOW - a TO NOW - b STEP c]`), the same of what is that much older.
    """

    stream: str
    width_ms: int
    slide_ms: int
    predicate: str | None = None
    ago_ms: int = 0

    def content(self, moment: Moment, elements: tuple[Element, ...]) -> list[Element]:
        close_ms = moment.time_ms // self.slide_ms * self.slide_ms - self.ago_ms
        return between(close_ms - self.width_ms, close_ms - 1, elements)


@dataclass(frozen=True)
class EventTime:
    """`[RANGE w @p]`: as it moved last, with the element at t, [t - w, t]."""

    stream: str
    width_ms: int
    predicate: str

    def moves(self, elements: tuple[Element, ...]) -> set[int]:
        return {element.time_ms for element in elements}

    def content(self, moment: Moment, elements: tuple[Element, ...]) -> list[Element]:
        last_ms = max((element.time_ms for element in elements if moment.sees(element.time_ms)), default=0)
        return between(last_ms - self.width_ms, last_ms, seen(moment, elements))


@dataclass(frozen=True)
class Count:
    """`[COUNT n STEP m]`: of the elements seen, up to the last whole m, the last n."""

    stream: str
    count: int
    step: int
    predicate = None

    def moves(self, elements: tuple[Element, ...]) -> set[int]:
        """The instants at which another m are full: those of every m-th element."""
        return {element.time_ms for number, element in enumerate(elements, 1) if number % self.step == 0}

    def content(self, moment: Moment, elements: tuple[Element, ...]) -> list[Element]:
        last = len(seen(moment, elements)) // self.step * self.step
        return list(elements[max(0, last - self.count) : last])


@dataclass(frozen=True)
class Range:
    """CQELS-QL's `[RANGE w]`: [t - w, t]; tumbling, from the last multiple of w on. SLIDE makes no difference."""

    stream: str
    width_ms: int
    tumbling: bool
    predicate = None

    def content(self, moment: Moment, elements: tuple[Element, ...]) -> list[Element]:
        start_ms = moment.time_ms - self.width_ms
        if self.tumbling:
            start_ms = moment.time_ms - moment.time_ms % self.width_ms
        return between(start_ms, moment.time_ms, elements)


@dataclass(frozen=True)
class Now:
    """CQELS-QL's `[NOW]`: [t, t]."""

    stream: str
    predicate = None

    def content(self, moment: Moment, elements: tuple[Element, ...]) -> list[Element]:
        return between(moment.time_ms, moment.time_ms, elements)


@dataclass(frozen=True)
class Triples:
    """CQELS-QL's `[TRIPLES n]`: the last n up to t."""

    stream: str
    count: int
    predicate = None

    def content(self, moment: Moment, elements: tuple[Element, ...]) -> list[Element]:
        return seen(moment, elements)[-self.count :]


@dataclass(frozen=True)
class All:
    """CQELS-QL's `[ALL]`: everything up to t."""

    stream: str
    predicate = None

    def content(self, moment: Moment, elements: tuple[Element, ...]) -> list[Element]:
        return seen(moment, elements)


@dataclass(frozen=True)
class Adaptive:
    """`[ADAPTIVE a TO b]`: from when the last subwindow opened. `opened_ms` is found from the streams of the query."""

    stream: str
    lower_ms: int
    upper_ms: int
    opened_ms: tuple[int, ...] = ()
    predicate = None

    def moves(self, elements: tuple[Element, ...]) -> set[int]:
        return {element.time_ms for element in elements}

    def content(self, moment: Moment, elements: tuple[Element, ...]) -> list[Element]:
        open_ms = max((time_ms for time_ms in self.opened_ms if moment.sees(time_ms)), default=0)
        return [element for element in seen(moment, elements) if element.time_ms >= open_ms]

    def among(self, received: Mapping[Source, Received], sources: Collection[Source]) -> Adaptive:
        """The same, of a query that reads some sources."""
        own = [element.time_ms for element in received[self.stream, None].elements]
        others = {*sources} - {(self.stream, None)}
        other = [element.time_ms for each in others for element in received[each].elements]
        found = subwindows(own, other, self.lower_ms, self.upper_ms)
        return replace(self, opened_ms=tuple(open_ms for open_ms, _ in found))


Window = Sliding | EventTime | Count | Range | Now | Triples | All | Adaptive
AT_INSTANTS = (Range, Now, Triples, All)


def read_adaptive(stream: str, words: Sequence[str]) -> Adaptive | None:
    """`ADAPTIVE a TO b`, in every dialect; None where it is another window."""
    upper = [word.upper() for word in words]
    if upper[0] != "ADAPTIVE":
        return None
    to = upper.index("TO")
    return Adaptive(stream, duration_ms("".join(words[1:to])), duration_ms("".join(words[to + 1 :])))


def source(window: Window) -> Source:
    return window.stream, window.predicate


def seen(moment: Moment, elements: Iterable[Element]) -> list[Element]:
    return [element for element in elements if moment.sees(element.time_ms)]


def between(first_ms: int, last_ms: int, elements: Sequence[Element]) -> list[Element]:
    """Both ends belong to it. Elements come in the order of their times."""
    start = bisect_left(elements, first_ms, key=time_of)
    return list(elements[start : bisect_right(elements, last_ms, lo=start, key=time_of)])


def time_of(element: Element) -> int:
    return element.time_ms
