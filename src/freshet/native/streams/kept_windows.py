"""What of streams is kept beside the registered queries, so that one-shot queries can ask for their last windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from freshet.native.streams.stream import StreamState
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError

_PARTS = 8  # so often is freed what is too old, while the watermark moves by as much as is kept


class WindowStore(Protocol):
    """Where absorbed rows are, and timing data in slices, for streams of which windows are kept."""

    def keep_windows(
        self, stream: str, budget_bytes: int = ..., needed_from: Callable[[], int] | None = None
    ) -> None: ...
    def push_timing(self, elements: Elements, stream: str) -> None: ...
    def check_timing_room(self, elements: Elements, stream: str) -> None: ...
    def close_windows(self, stream: str, closed_ms: int, needed_from_ms: int | None = None) -> None: ...


class KeptWindows:
    """Streams with a `keep_ms`: the elements of the last `keep_ms` milliseconds are there.

    Where queries read several streams together, they count from the `common_watermark` of these: a one-shot query over
    the same windows asks for them as of then. Only where there is no room they count from the stream's own.
    """

    def __init__(self, store: WindowStore, common_watermark: Callable[[str], int]) -> None:
        self._store = store
        self._common_watermark = common_watermark
        self._freed_ms: dict[str, int] = {}

    def declare(self, state: StreamState, budget_bytes: int) -> None:
        """Keep windows of a stream from now on. Timing data may take `budget_bytes`."""
        self._store.keep_windows(state.iri, budget_bytes, lambda: state.watermark_ms - state.keep_ms)
        self._freed_ms[state.iri] = state.watermark_ms

    def accept(self, state: StreamState, elements: Elements) -> Elements:
        """What is on time of a batch. Where its timing data find no room, it is refused as if it had not come."""
        before = (state.watermark_ms, state.elements, state.late)
        on_time = state.accept(elements)
        try:
            self._store.push_timing(_timing(state, on_time), state.iri)
        except InputError:
            state.watermark_ms, state.elements, state.late = before
            state.refused += 1
            raise
        return on_time

    def check_room(self, state: StreamState, elements: Elements) -> None:
        """Raise, before anything is done with a batch, what `accept` would raise for want of room."""
        if not state.keep_ms:
            return
        before = (state.watermark_ms, state.elements, state.late)
        on_time = state.accept(elements)
        try:
            self._store.check_timing_room(_timing(state, on_time), state.iri)
        except InputError:
            state.refused += 1
            raise
        finally:
            state.watermark_ms, state.elements, state.late = before

    def advance(self, state: StreamState) -> None:
        """All before the watermark is in: windows that it has passed can be read. What is too old is freed in time."""
        if state.watermark_ms - self._freed_ms[state.iri] > state.keep_ms // _PARTS:
            self.free(state)
        else:
            self._store.close_windows(state.iri, state.watermark_ms)

    def free(self, state: StreamState) -> None:
        """The same, and what is too old is freed now."""
        self._freed_ms[state.iri] = state.watermark_ms
        needed_from_ms = self._common_watermark(state.iri) - state.keep_ms
        self._store.close_windows(state.iri, state.watermark_ms, needed_from_ms)


def _timing(state: StreamState, elements: Elements) -> Elements:
    """What does not enter the stored graph, or not to stay."""
    if state.absorb is None or state.changes_graph:
        return elements
    if not state.absorb:
        return Elements(*(column[:0] for column in elements))
    stays = ~np.isin(elements.predicates, np.fromiter(state.absorb, np.int64))
    return Elements(*(column[stays] for column in elements))
