"""From streams to leaves, in batches in which every instant with an arrival is an evaluation moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from freshet.algebra.windows import (
    AllWindow,
    CountWindow,
    NowWindow,
    RangeWindow,
    TriplesWindow,
    WindowOperator,
)
from freshet.kernels.arrivals import (
    EVERYTHING,
    LAST_ELEMENTS,
    LAST_MS,
    Arrived,
    LeafPlans,
    gather_arrivals,
)
from freshet.native.arrival_leaf import ArrivalLeaf
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.native.one_way_index import Ids
from freshet.native.recent_times import RecentTimes
from freshet.native.s2r.waiting import WaitingElements
from freshet.native.stream import joined, plain
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri

NOTHING_OUT = np.empty((0, 0), np.bool_)  # no element is kept out of any leaf
FEW_ELEMENTS = 16  # of one instant are taken one by one

_NONE = np.empty(0, np.int64)


class Ready(NamedTuple):
    """Elements of the streams and then of the stored graph, each in order of time, cut at `offsets`; and whether they
    are a few of one instant.
    """

    elements: Elements
    offsets: Ids
    is_instant: bool


def moves_with_arrivals(window: WindowOperator) -> bool:
    """Whether a window's content at an instant depends on what has come by then only, not on closes or steps."""
    if isinstance(window, CountWindow):
        return window.step == 1
    return isinstance(window, RangeWindow | NowWindow | TriplesWindow | AllWindow)


def _window_numbers(window: WindowOperator | None) -> tuple[int, int, int]:
    """Kind, size and slide. None is the stored graph, which nothing leaves."""
    match window:
        case RangeWindow():
            return LAST_MS, window.width_ms, window.slide_ms or 0
        case NowWindow():
            return LAST_MS, 0, 0
        case CountWindow() | TriplesWindow():
            return LAST_ELEMENTS, window.count, 0
        case _:
            return EVERYTHING, 0, 0


class ArrivalSource:
    """The elements of the streams that some leaves read, and of the stored graph, batch after batch.

    `receive` takes the elements of streams, `stored` those of the stored graph. `take` gives everything before a time
    as one batch: its instants are numbered as moments from `first` on.
    """

    def __init__(self, leaves: Sequence[ArrivalLeaf]) -> None:
        self.streams = list(dict.fromkeys(_stream(leaf) for leaf in leaves if leaf.window is not None))
        self.plans = _plans(leaves, self.streams)
        self.plain_plans = tuple(self.plans)
        self._streams_of_leaves = self.plans.streams.tolist()
        self.numbers = np.zeros(len(self.streams) + 1, np.int64)  # of elements that have been taken
        self.first = 0
        self.steps = 0  # how many moments the last batch had
        self.instants = _NONE
        self._waiting = [WaitingElements() for _ in self.streams]
        self._waiting_of = dict(zip(self.streams, self._waiting, strict=True))
        self._recent = _recent_times(leaves, self.streams)
        self.last_ms = BEFORE_ALL_TIME  # the last instant that has been taken
        self._single_offsets: dict[int, Ids] = {}
        self._stored = WaitingElements()
        self._reads_stored = any(leaf.window is None for leaf in leaves)

    def waiting(self, stream: str) -> int:
        """How many elements of a stream wait."""
        return self._waiting_of[stream].count

    def leaves_of(self, stream: str) -> int:
        """How many leaves read a stream."""
        return int(np.count_nonzero(self.plans.streams == self.streams.index(stream)))

    def receive(self, stream: str, elements: Elements) -> None:
        """Elements of a stream, none before a time that has been taken."""
        if len(elements.times):
            self._waiting_of[stream].push(elements)

    def stored(self, elements: Elements) -> None:
        """Triples of the stored graph; one is seen from the first instant on that is not before its time."""
        if self._reads_stored and len(elements.times):
            self._stored.push(elements)

    def take(self, until_ms: int) -> Arrived | None:
        """Everything before a time; None where no element came in any stream."""
        ready = self.ready(until_ms)
        return None if ready is None else self.gather(ready)

    def ready(self, until_ms: int) -> Ready | None:
        """The elements before a time, which are a batch then; None where none came in any stream."""
        self.first += self.steps
        self.steps = 0
        parts: list[Elements] = []
        ends = [0]
        end = 0
        first_ms, last_ms = AFTER_ALL_TIME, BEFORE_ALL_TIME
        for waiting, recent in zip(self._waiting, self._recent, strict=True):
            from_ms = waiting.from_ms
            if from_ms < until_ms and (part := waiting.release(until_ms)) is not None:
                parts.append(part)
                count = len(part.times)
                end += count
                until = part.times.item(-1)
                first_ms = from_ms if from_ms < first_ms else first_ms
                last_ms = until if until > last_ms else last_ms
                if recent is not None:
                    recent.add(from_ms, count)
            ends.append(end)
        if not parts:
            return None
        self.last_ms = last_ms
        stored = self._stored.release(last_ms + 1) if self._reads_stored else None
        if stored is not None:
            parts.append(stored)
            end += len(stored.times)
        ends.append(end)
        elements = plain(parts[0]) if len(parts) == 1 else joined(parts)
        return Ready(elements, self._offsets(ends), first_ms == last_ms and end <= FEW_ELEMENTS)

    def since(self, stream: str, default: int) -> int:
        """A time that no element is before which a window of so many elements of a stream holds."""
        recent = self._recent[self.streams.index(stream)]
        return default if recent is None else recent.since(default)

    def _offsets(self, ends: list[int]) -> Ids:
        if ends[-1] > 1:
            return np.array(ends)
        single = self._single_offsets.get(stream := ends.index(1))
        if single is None:  # the same for every single element of a stream
            single = self._single_offsets[stream] = np.array(ends)
        return single

    def most_arrivals(self, ready: Ready) -> list[int]:
        """How many arrivals at each leaf a batch has at most."""
        ends = ready.offsets.tolist()
        return [ends[stream + 1] - ends[stream] for stream in self._streams_of_leaves]

    def gather(self, ready: Ready) -> Arrived:
        """A batch as arrivals at the leaves."""
        arrived: Arrived = gather_arrivals(
            self.plans, len(self.streams), *ready.elements, ready.offsets, self.numbers, NOTHING_OUT
        )
        self.instants = arrived.instants
        self.steps = len(arrived.instants)
        return arrived

    def times(self, moments: Ids) -> Ids:
        """The instants of moments of the last batch."""
        times: Ids = self.instants[moments - self.first]
        return times


def _recent_times(leaves: Sequence[ArrivalLeaf], streams: Sequence[str]) -> list[RecentTimes | None]:
    """How far back windows reach that hold so many elements; None for a stream that has no such window."""
    most: dict[str, int] = {}
    for leaf in leaves:
        if isinstance(leaf.window, CountWindow | TriplesWindow):
            most[_stream(leaf)] = max(most.get(_stream(leaf), 0), leaf.window.count)
    return [RecentTimes(most[stream]) if stream in most else None for stream in streams]


def _stream(leaf: ArrivalLeaf) -> str:
    assert leaf.window is not None
    assert moves_with_arrivals(leaf.window)
    assert isinstance(leaf.window.stream, Iri)
    return leaf.window.stream.value


def _plans(leaves: Sequence[ArrivalLeaf], streams: Sequence[str]) -> LeafPlans:
    """What the leaves ask for, as arrays; the stored graph stands behind the streams."""
    columns = np.full((len(leaves), 3), -1, np.int64)
    equals = np.tile(np.arange(3), (len(leaves), 1))
    for at, leaf in enumerate(leaves):
        for column, places in enumerate(leaf.pattern.columns):
            columns[at, list(places)] = column
            equals[at, list(places)] = places[0]
    return LeafPlans(
        streams=np.array([len(streams) if leaf.window is None else streams.index(_stream(leaf)) for leaf in leaves]),
        constants=np.array([leaf.pattern.constants for leaf in leaves], np.int64),
        columns=columns,
        equals=equals,
        windows=np.array([_window_numbers(leaf.window) for leaf in leaves], np.int64),
        widths=np.array([len(leaf.names) for leaf in leaves]),
    )
