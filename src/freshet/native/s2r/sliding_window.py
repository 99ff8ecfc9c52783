"""Time-based windows of RSP-QL: when they close, and whether they hold anything (S2R)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.windows import SlidingWindow
from freshet.native.arrivals import Arrivals
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.rdf.elements import Elements


def close_after(window: SlidingWindow, time_ms: int) -> int:
    """The first close later than a time.

    >>> from freshet.rdf.terms import Iri
    >>> close_after(SlidingWindow(Iri("s"), width_ms=10, slide_ms=5), 10)
    15
    """
    return time_ms + window.slide_ms - (time_ms - window.start_ms) % window.slide_ms


class SlidingWindowContent:
    """One window over one stream: its leaf buffers, and how many elements of any shape it holds."""

    def __init__(self, window: SlidingWindow) -> None:
        self.window = window
        self.count = 0
        self.leaves: dict[LeafPattern, LeafBuffer] = {}
        self._elements = Arrivals(np.int64)  # inside or still to come; only their times matter here

    def leaf(self, pattern: LeafPattern) -> LeafBuffer:
        if pattern not in self.leaves:
            self.leaves[pattern] = LeafBuffer(pattern)
        return self.leaves[pattern]

    def receive(self, elements: Elements) -> None:
        """Elements in order of time, none earlier than those before."""
        self._elements.append(elements.times, elements.times)
        for leaf in self.leaves.values():
            leaf.receive(elements)

    def held_ids(self) -> Iterator[NDArray[np.int64]]:
        for leaf in self.leaves.values():
            yield from leaf.held_ids()

    def next_content(self) -> int | None:
        """The first close at which an element still to come is inside; None where there is none."""
        waiting = self._elements.times[self.count :]
        while len(waiting):
            close_ms = close_after(self.window, int(waiting[0]))
            if waiting[0] >= close_ms - self.window.width_ms:
                return close_ms
            # A slide longer than the width leaves gaps; what falls there is never inside.
            waiting = waiting[int(np.searchsorted(waiting, close_ms - self.window.width_ms)) :]
        return None

    def awaits(self) -> bool:
        """Whether anything that has come will still get inside."""
        return self.next_content() is not None

    def closes_at(self, time_ms: int) -> bool:
        return (time_ms - self.window.start_ms) % self.window.slide_ms == 0

    def step(self, close_ms: int, number: int) -> None:
        """Move to the content of the window that closes at `close_ms`."""
        open_ms = close_ms - self.window.width_ms
        self._elements.take(self._elements.count_before(open_ms))
        self.count = self._elements.count_before(close_ms)
        for leaf in self.leaves.values():
            leaf.step(open_ms, close_ms, number)
