"""What windows of a stream read: its absorbed rows through the stream index, its timing data in slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from freshet.rdf.deletions import standing
from freshet.rdf.elements import Elements
from freshet.rdf.triples import Ids, Triples
from freshet.store.appended_view import AppendedView
from freshet.store.repeated import triples_within
from freshet.store.slices import TimeSlice, TimeSlices, elements_within
from freshet.store.stream_index import IndexedBatches, StreamIndex, batches_within
from freshet.store.window_reader import WindowReader

DEFAULT_BUDGET_BYTES = 1 << 30


BEFORE_ALL_TIME = -(2**62)


class KeptElements(NamedTuple):
    """What windows of a stream read, at one moment: all elements with a time from `from_ms` to before `closed_ms`."""

    from_ms: int
    closed_ms: int
    indexed: IndexedBatches
    slices: tuple[TimeSlice, ...]

    def reader(self, appended: AppendedView, from_ms: int, to_ms: int) -> WindowReader:
        """The window from_ms <= time < to_ms, of what is in a view."""
        indexed = batches_within(self.indexed, from_ms, to_ms, appended.rows)
        again = triples_within(indexed.repeated, appended, from_ms, to_ms)
        timing = _standing(elements_within(self.slices, from_ms, to_ms))
        others = Triples(*(np.concatenate(columns) for columns in zip(timing, *again, strict=True)))
        return WindowReader(appended, indexed, from_ms, to_ms, others)


def _standing(elements: Elements) -> Triples:
    """The triples that elements leave in a window."""
    if not (elements.predicates < 0).any():
        return Triples(*elements[1:])
    order = np.argsort(elements.times, kind="stable")
    ordered = Triples(*(column[order] for column in elements[1:]))
    stands = standing(*ordered).additions
    return Triples(*(column[stands] for column in ordered))


class StreamWindows:
    """One stream. What no window needs any more is freed when windows close, or when the slices are full."""

    def __init__(self, budget_bytes: int = DEFAULT_BUDGET_BYTES, needed_from: Callable[[], int] | None = None) -> None:
        self.index = StreamIndex()
        self.slices = TimeSlices(budget_bytes, needed_from)
        self._closed = KeptElements(BEFORE_ALL_TIME, BEFORE_ALL_TIME, self.index.indexed, self.slices.slices)

    def record_absorbed(self, elements: Elements, rows: Ids, appended: AppendedView) -> None:
        """A batch has been absorbed, as these rows."""
        self.index.add(elements, rows, appended)

    def close(self, closed_ms: int, needed_from_ms: int | None = None) -> None:
        """Everything before a time has come. With `needed_from_ms`, free what has no element from there on."""
        if needed_from_ms is not None:
            self.index.free_before(needed_from_ms)
            self.slices.free_before(needed_from_ms)
        self._closed = KeptElements(self.slices.kept_from_ms, closed_ms, self.index.indexed, self.slices.slices)

    def kept(self) -> KeptElements:
        """What was there when windows closed last, with the index of the rows that there are now."""
        return self._closed._replace(indexed=self.index.indexed)
