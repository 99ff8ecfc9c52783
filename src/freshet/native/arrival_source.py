"""From streams to leaves, in batches in which every instant with an arrival is an evaluation moment."""

from __future__ import annotations

from collections.abc import Sequence

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
from freshet.native.one_way_index import Ids
from freshet.native.stream import in_order, split_before
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri

_NONE = np.empty(0, np.int64)
_NO_ELEMENTS = Elements(_NONE, _NONE, _NONE, _NONE)


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
        self._width = max(len(leaf.names) for leaf in leaves)
        self.streams = list(dict.fromkeys(_stream(leaf) for leaf in leaves if leaf.window is not None))
        self._plans = _plans(leaves, self.streams)
        self._pending: dict[str, list[Elements]] = {stream: [] for stream in self.streams}
        self._stored: list[Elements] = []
        self._reads_stored = any(leaf.window is None for leaf in leaves)
        self._numbers = np.zeros(len(self.streams) + 1, np.int64)
        self.first = 0
        self.instants = _NONE

    def receive(self, stream: str, elements: Elements) -> None:
        """Elements of a stream, none before a time that has been taken."""
        if len(elements.times):
            self._pending[stream].append(elements)

    def stored(self, elements: Elements) -> None:
        """Triples of the stored graph; one is seen from the first instant on that is not before its time."""
        if self._reads_stored and len(elements.times):
            self._stored.append(elements)

    def take(self, until_ms: int) -> Arrived | None:
        """Everything before a time; None where no element came in any stream."""
        self.first += len(self.instants)
        self.instants = _NONE
        parts = [_take(self._pending[stream], until_ms) for stream in self.streams]
        last_ms = max((int(part.times[-1]) for part in parts if len(part.times)), default=None)
        if last_ms is None:
            return None
        parts.append(_take(self._stored, last_ms + 1))
        lengths = np.array([0, *(len(part.times) for part in parts)])
        arrived: Arrived = gather_arrivals(
            self._plans, self._width, len(self.streams), *_joined(parts), lengths.cumsum(), self._numbers
        )
        self._numbers += lengths[1:]
        self.instants = arrived.instants
        return arrived

    def times(self, moments: Ids) -> Ids:
        """The instants of moments of the last batch."""
        times: Ids = self.instants[moments - self.first]
        return times


def _take(pending: list[Elements], until_ms: int) -> Elements:
    """Take what is before a time out of elements that wait."""
    if not pending:
        return _NO_ELEMENTS
    ready, waiting = in_order(pending), _NO_ELEMENTS
    if ready.times[-1] >= until_ms:
        ready, waiting = split_before(ready, until_ms)
    pending[:] = [waiting] if len(waiting.times) else []
    return ready


def _joined(parts: list[Elements]) -> Elements:
    """Elements one part after the other."""
    parts = [part for part in parts if len(part.times)]
    return parts[0] if len(parts) == 1 else Elements(*map(np.concatenate, zip(*parts, strict=True)))


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
    )
