"""From streams to leaves, in batches in which every instant with an arrival is an evaluation moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from freshet.algebra.windows import WindowOperator
from freshet.native.arrival_leaf import ArrivalLeaf
from freshet.native.arrival_window import ArrivalWindow
from freshet.native.one_way_index import Ids
from freshet.native.stream import BEFORE_ALL_TIME, in_order, split_before
from freshet.rdf.elements import Elements

_NONE = np.empty(0, np.int64)
_NO_ELEMENTS = Elements(_NONE, _NONE, _NONE, _NONE)


class ArrivalSource:
    """Leaves in windows that move with every arrival, and leaves of the stored graph (window None).

    `receive` takes the elements of streams, `stored` those of the stored graph. `step` lets in everything before a time
    as one batch: its instants are numbered as moments from `first` on.
    """

    def __init__(self, leaves: Sequence[tuple[WindowOperator | None, ArrivalLeaf]]) -> None:
        windows = dict.fromkeys(window for window, _ in leaves if window is not None)
        self._windows = {ArrivalWindow(window): [leaf for of, leaf in leaves if of == window] for window in windows}
        self._stored_leaves = [leaf for window, leaf in leaves if window is None]
        self._pending: dict[str, list[Elements]] = {window.stream: [] for window in self._windows}
        self._stored: list[Elements] = []
        self.first = 0
        self.instants = _NONE

    def receive(self, stream: str, elements: Elements) -> None:
        """Elements of a stream, none before a time that has been stepped over."""
        if stream in self._pending and len(elements.times):
            self._pending[stream].append(elements)

    def stored(self, elements: Elements) -> None:
        """Triples of the stored graph; one is seen from the first instant on that is not before its time."""
        if self._stored_leaves and len(elements.times):
            self._stored.append(elements)

    def step(self, until_ms: int) -> bool:
        """Let in everything before a time; False where no element came in a window's stream."""
        self.first += len(self.instants)
        ready = {stream: self._take(stream, until_ms) for stream in self._pending}
        self.instants = _distinct(part.times for part in ready.values())
        if len(self.instants) == 0:
            return False
        for window, leaves in self._windows.items():
            elements = ready[window.stream]
            places, starts = window.step(elements.times, self.instants)
            for leaf in leaves:
                self._let_in(leaf, elements, places, starts)
        if self._stored_leaves:
            self._step_stored()
        return True

    def end_step(self) -> None:
        """The batch is done with."""
        for leaves in (*self._windows.values(), self._stored_leaves):
            for leaf in leaves:
                leaf.end_step()

    def _take(self, stream: str, until_ms: int) -> Elements:
        pending = self._pending[stream]
        if not pending:
            return _NO_ELEMENTS
        ready, waiting = split_before(in_order(pending), until_ms)
        self._pending[stream] = [waiting] if len(waiting.times) else []
        return ready

    def _step_stored(self) -> None:
        ready = _NO_ELEMENTS
        if self._stored:
            ready, waiting = split_before(in_order(self._stored), int(self.instants[-1]) + 1)
            self._stored = [waiting] if len(waiting.times) else []
        starts = np.full(len(self.instants), BEFORE_ALL_TIME)
        for leaf in self._stored_leaves:
            self._let_in(leaf, ready, ready.times, starts)

    def _let_in(self, leaf: ArrivalLeaf, elements: Elements, places: Ids, starts: Ids) -> None:
        chosen, values = leaf.pattern.match(elements)
        moments = np.searchsorted(self.instants, elements.times[chosen])
        leaf.step(values, moments, np.ascontiguousarray(places[chosen]), starts, self.first)


def _distinct(columns: Iterable[Ids]) -> Ids:
    """The different times of several sorted columns, in order."""
    times = np.concatenate(list(columns))
    times.sort(kind="stable")
    if len(times) == 0:
        return times
    new = np.empty(len(times), np.bool_)
    new[0] = True
    np.not_equal(times[1:], times[:-1], out=new[1:])
    return times[new]
