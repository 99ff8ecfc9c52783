"""Streams that have the times of another's elements, for expressions that ask for them."""

from __future__ import annotations

import numpy as np

from freshet.native.streams.stream import StreamState, merge_in_order
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.ids import XSD_INTEGER
from freshet.rdf.terms import Iri, Literal

PREDICATE, TIME = Iri("urn:freshet:predicate"), Iri("urn:freshet:time")
ROWS = 3  # elements for each of the base stream
_MARK = " with times"  # no IRI has a blank


def timed_name(stream: Iri) -> Iri:
    """The name of the stream with the times of another."""
    return Iri(stream.value + _MARK)


def base_name(stream: str) -> str:
    """The stream that a stream has the times or the graphs of, or the stream itself."""
    return stream.partition(" ")[0]


class TimedStream:
    """For each element (s p o) at t of a stream three at the same time, where n stands for p at t:

        s n o       n urn:freshet:predicate p       n urn:freshet:time t

    So the triple and its time are joined by patterns as any others. The watermark is that of the stream.
    """

    rows = ROWS
    predicate = ""  # it takes its times from no predicate
    is_oldest = False

    def __init__(self, name: str, base: StreamState, dictionary: Dictionary) -> None:
        self.base = base
        self.state = StreamState(name, base.lateness_ms)
        self._dictionary = dictionary
        self._links = dictionary.encode_many([PREDICATE, TIME])
        self._waiting: list[Elements] = []

    @property
    def waiting(self) -> int:
        """How many elements wait until the stream goes on."""
        return sum(len(elements.times) for elements in self._waiting)

    def push(self, elements: Elements, graphs: object = None) -> None:
        """Elements of the base stream in the order they came; their graphs do not matter here."""
        if len(elements.times):
            self._waiting.append(self._with_times(elements))

    def release(self) -> Elements | None:
        """What has come since, with its times."""
        self.state.watermark_ms = self.base.watermark_ms
        waiting, self._waiting = self._waiting, []
        return merge_in_order(waiting) if waiting else None

    def _with_times(self, elements: Elements) -> Elements:
        times, subjects, predicates, objects = elements
        pairs, places = np.unique(np.stack([predicates, times]), axis=1, return_inverse=True)
        names = [Iri(f"urn:freshet:element:{predicate}:{at}") for predicate, at in pairs.T.tolist()]
        nodes = self._dictionary.encode_many(names)[places.reshape(-1)]
        distinct, at = np.unique(times, return_inverse=True)
        literals = [Literal(str(time_ms), XSD_INTEGER) for time_ms in distinct.tolist()]
        written = self._dictionary.encode_many(literals)[at]
        found = np.empty((3, len(times), ROWS), np.int64)
        found[0] = np.stack([subjects, nodes, nodes], axis=1)
        found[1] = np.stack([nodes, *(np.full(len(times), link) for link in self._links)], axis=1)
        found[2] = np.stack([objects, predicates, written], axis=1)
        return Elements(np.repeat(times, ROWS), *found.reshape(3, -1))
