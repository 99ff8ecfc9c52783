"""What windows of a stream read: its absorbed rows through the stream index, its timing data in slices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.triples import Ids, Triples
from freshet.store.appended_view import AppendedView
from freshet.store.repeated import triples_within
from freshet.store.slices import TimeSlices
from freshet.store.stream_index import StreamIndex
from freshet.store.window_reader import WindowReader

DEFAULT_BUDGET_BYTES = 1 << 30


class StreamWindows:
    """One stream. What no window needs any more is freed by `free_before`, or when the slices are full."""

    def __init__(self, budget_bytes: int = DEFAULT_BUDGET_BYTES, needed_from: Callable[[], int] | None = None) -> None:
        self.index = StreamIndex()
        self.slices = TimeSlices(budget_bytes, needed_from)

    def record_absorbed(self, elements: Elements, rows: Ids, appended: AppendedView) -> None:
        """A batch has been absorbed, as these rows."""
        self.index.add(elements, rows, appended)

    def free_before(self, time_ms: int) -> None:
        """Free what has no element from a time on."""
        self.index.free_before(time_ms)
        self.slices.free_before(time_ms)

    def reader(self, appended: AppendedView, from_ms: int, to_ms: int) -> WindowReader:
        """The window from_ms <= time < to_ms, of what is in a view."""
        indexed = self.index.window(from_ms, to_ms, appended.rows)
        again = triples_within(indexed.repeated, appended, from_ms, to_ms)
        timing = Triples(*self.slices.window(from_ms, to_ms)[1:])
        others = Triples(*(np.concatenate(columns) for columns in zip(timing, *again, strict=True)))
        return WindowReader(appended, indexed, from_ms, to_ms, others)
