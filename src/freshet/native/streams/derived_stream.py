"""Streams over the time that a predicate gives: `[RANGE ... @predicate]`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.values import DATE_TIME, DATE_TIME_LOCAL, INTEGER
from freshet.native.buffers.one_way_index import Ids
from freshet.native.moments import FURTHEST_MS
from freshet.native.s2r.waiting import WaitingElements
from freshet.native.streams.stream import DerivedCounts, StreamState
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri
from freshet.rdf.values import values

_UNITS_PER_MS = 10**15  # of a date's value, which is in units of 10**-18 seconds
_UNITS_PER_ONE = 10**18  # of a number's


class DerivedStream:
    """An event is all elements of a stream that have one time and one subject. Where a triple of the event with the
    predicate has a date or a whole number of milliseconds as its object, the event's elements are in the derived stream
    at that time (the latest, if there are several), as soon as the base stream has passed the event.

    The derived stream has a watermark of its own, by the lateness of its base. Queries that were registered at other
    times have others, which begin with what came then; the oldest counts for all what does not enter it.
    """

    rows = 1  # for each element of the base stream

    def __init__(self, name: str, base: StreamState, predicate: Iri, dictionary: Dictionary) -> None:
        self.base = base
        self.state = StreamState(name, base.lateness_ms)
        self.predicate = predicate.value
        self.is_oldest = True
        self._predicate = dictionary.encode(predicate)
        self._dictionary = dictionary
        self._waiting = WaitingElements()

    @property
    def waiting(self) -> int:
        """How many elements of the base stream wait for it to pass them."""
        return self._waiting.count

    def push(self, elements: Elements, graphs: object = None) -> None:
        """Elements of the base stream in the order they came; their graphs do not matter here."""
        if len(elements.times):
            self._waiting.push(elements)

    def release(self) -> Elements | None:
        """What has entered the derived stream, and was not too late there, with its times."""
        elements = self._waiting.release(self.base.watermark_ms)
        if elements is None:
            return None
        times, timed = self._event_times(elements)
        untimed = len(times) - int(np.count_nonzero(timed))
        if untimed:
            elements, times = Elements(*(column[timed] for column in elements)), times[timed]
        late = self.state.late
        entered = self.state.accept(elements._replace(times=times))
        self._count(self.state.late - late, untimed)
        return entered

    def _count(self, late: int, untimed: int) -> None:
        if self.is_oldest and (late or untimed):
            counts = self.base.derived.setdefault(self.predicate, DerivedCounts())
            counts.late += late
            counts.untimed += untimed

    def _event_times(self, elements: Elements) -> tuple[Ids, NDArray[np.bool_]]:
        """For each element the time of its event, and whether there is one."""
        nothing = -FURTHEST_MS
        given = np.full(len(elements.times), nothing)
        rows = np.flatnonzero(elements.predicates == self._predicate)
        if len(rows):
            given[rows] = times_of_terms(self._dictionary, elements.objects[rows], nothing)
        order = np.lexsort((elements.subjects, elements.times))
        times, subjects = elements.times[order], elements.subjects[order]
        starts = np.flatnonzero(np.r_[True, (times[1:] != times[:-1]) | (subjects[1:] != subjects[:-1])])
        latest = np.maximum.reduceat(given[order], starts)
        result = np.empty_like(given)
        result[order] = np.repeat(latest, np.diff(np.r_[starts, len(order)]))
        return result, result != nothing


def times_of_terms(dictionary: Dictionary, ids: Ids, nothing: int) -> Ids:
    """The times that terms give: dates, and whole numbers of milliseconds; `nothing` where they give none, or one that
    is too far away."""
    distinct, where = np.unique(ids, return_inverse=True)
    found = values(dictionary, distinct)
    units = found.high.astype(object) * 2**64 + found.low.astype(object)
    whole = found.kinds == INTEGER
    dated = (found.kinds == DATE_TIME) | (found.kinds == DATE_TIME_LOCAL)
    times = np.where(whole, units // _UNITS_PER_ONE, units // _UNITS_PER_MS)
    usable = (whole | dated) & (abs(times) < FURTHEST_MS)
    result: Ids = np.where(usable, times, nothing).astype(np.int64)[where]
    return result
