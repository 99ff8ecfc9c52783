"""Windows that move with every arrival, as two columns: where elements stand, and where the window begins.

Every element has a place (its time, or its number in the stream); at every moment the window holds the elements that
have come and whose place is not before the window's start at that moment. Both grow with time.
"""

from __future__ import annotations

import numpy as np

from freshet.algebra.windows import (
    AllWindow,
    CountWindow,
    NowWindow,
    RangeWindow,
    TriplesWindow,
    WindowOperator,
)
from freshet.native.one_way_index import Ids
from freshet.native.stream import BEFORE_ALL_TIME
from freshet.rdf.terms import Iri


def moves_with_arrivals(window: WindowOperator) -> bool:
    """Whether a window's content at an instant depends on what has come by then only, not on closes or steps."""
    if isinstance(window, CountWindow):
        return window.step == 1
    return isinstance(window, RangeWindow | NowWindow | TriplesWindow | AllWindow)


class ArrivalWindow:
    """One window's places and starts, batch after batch."""

    def __init__(self, window: WindowOperator) -> None:
        assert moves_with_arrivals(window)
        assert isinstance(window.stream, Iri)
        self.stream = window.stream.value
        self.window = window
        self.counts = isinstance(window, CountWindow | TriplesWindow)
        self._came = 0

    def step(self, times: Ids, instants: Ids) -> tuple[Ids, Ids]:
        """The places of the stream's elements of a batch, and the start at each of its instants."""
        if not self.counts:
            return times, self._starts_ms(instants)
        assert isinstance(self.window, CountWindow | TriplesWindow)
        before, self._came = self._came, self._came + len(times)
        places = np.arange(before, self._came)
        return places, np.searchsorted(times, instants, side="right") + (before - self.window.count)

    def _starts_ms(self, instants: Ids) -> Ids:
        if isinstance(self.window, NowWindow):
            return instants
        if isinstance(self.window, RangeWindow):
            starts = instants - self.window.width_ms
            slide_ms = self.window.slide_ms
            return starts if slide_ms is None else (starts // slide_ms + 1) * slide_ms
        return np.full(len(instants), BEFORE_ALL_TIME)
