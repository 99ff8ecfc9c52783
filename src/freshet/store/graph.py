"""The stored graph: what was loaded, and what streams have left in it."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.elements import Elements
from freshet.rdf.triples import Triples
from freshet.store.triple_index import TripleIndex

# Loaded triples were there before any time a stream can have.
BEFORE_ALL_TIME = -(2**62)

_NOTHING = np.empty(0, np.int64)


class StoredGraph:
    """A stored graph as timed triples, in no order. A triple may stand in it more than once."""

    def __init__(self) -> None:
        self._parts: list[Elements] = []
        self._indexed = 0  # how many of the triples `_index` has
        self._index = TripleIndex(Triples(_NOTHING, _NOTHING, _NOTHING))
        self._lock = threading.Lock()

    def load(self, subjects: NDArray[np.int64], predicates: NDArray[np.int64], objects: NDArray[np.int64]) -> Elements:
        """Add triples that were always there."""
        times = np.full(len(subjects), BEFORE_ALL_TIME, np.int64)
        elements = Elements(times, subjects, predicates, objects)
        self.absorb(elements)
        return elements

    def absorb(self, elements: Elements) -> None:
        """Add what a stream leaves behind."""
        if len(elements.times):
            with self._lock:
                self._parts.append(elements)

    def elements(self) -> Elements:
        """All triples, in order of time."""
        with self._lock:
            if len(self._parts) > 1:
                joined = Elements(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))
                order = np.argsort(joined.times, kind="stable")
                self._parts = [Elements(*(column[order] for column in joined))]
            if self._parts:
                return self._parts[0]
        return Elements(_NOTHING, _NOTHING, _NOTHING, _NOTHING)

    def base(self) -> TripleIndex:
        every = self.elements()
        keep = every.times == BEFORE_ALL_TIME
        return TripleIndex(Triples(*(column[keep] for column in every[1:])))

    def added(self) -> Elements:
        every = self.elements()
        return Elements(*(column[every.times != BEFORE_ALL_TIME] for column in every))

    def index(self) -> TripleIndex:
        """The set of triples that are here now, for one-shot queries. Nothing is made anew where none came since."""
        with self._lock:
            if self._indexed != len(self):
                _, *columns = (np.concatenate(column) for column in zip(*self._parts, strict=True))
                self._index = TripleIndex(Triples(*columns))
                self._indexed = len(self)
            return self._index

    def __len__(self) -> int:
        return sum(len(part.times) for part in self._parts)
