"""A stream as the engine knows it: how far it has come, and what was too late."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.direct_call import DirectCall
from freshet.kernels.order import never_falls
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri

__all__ = [
    "AFTER_ALL_TIME",
    "BEFORE_ALL_TIME",
    "StreamState",
    "as_contiguous",
    "concatenate_elements",
    "is_in_order",
    "merge_in_order",
    "split_before",
]

_INT64 = np.dtype(np.int64)
_CONTIGUOUS = (_INT64.itemsize,)
_never_falls = DirectCall(never_falls)


@dataclass(slots=True)
class DerivedCounts:
    """Elements that did not enter a derived stream: behind its watermark, or of an event that gave no time."""

    late: int = 0
    untimed: int = 0


@dataclass(slots=True)
class StreamState:
    """The watermark is the largest time seen less the allowed lateness, or later if `advance` said so. Where it is
    `held` only calls of `advance` count: then elements come in several parts, each as far as it is.

    `absorb` is what enters the stored graph: nothing (None), everything (an empty set), or some predicates' ids. Where
    it is `latest`, each value takes the place of the others of its subject and predicate. Where it `retracts`, elements
    can delete; `deleted` are the predicates that these have had, so that their terms stay. What enters the stored graph
    goes again at an age of `absorb_ms`, never with 0.
    `idle_ms` is after how long a silence it goes on with the wall clock, 0 for never; the owner of the clock does that.
    `carries` are all predicates that its elements can have, where that is known.
    `keep_ms` is how far back one-shot queries may look, in `keep_bytes` of what does not enter the stored graph;
    `refused` counts the batches for which there was no room.
    `graphs`: whether elements keep the graphs that they are in, for queries that ask for them.
    `on_time` says which elements of the last batch that had late ones were not.
    `derived` counts, by the predicates that windows take time from, what these windows did not get.
    """

    iri: str
    lateness_ms: int = 0
    absorb: frozenset[int] | None = None
    latest: bool = False
    retracts: bool = False
    absorb_ms: int = 0
    watermark_ms: int = BEFORE_ALL_TIME
    elements: int = 0
    late: int = 0
    derived: dict[str, DerivedCounts] = field(default_factory=dict)
    held: bool = False
    keep_ms: int = 0
    keep_bytes: int = 0
    refused: int = 0
    carries: frozenset[Iri] | None = None
    idle_ms: int = 0
    graphs: bool = False
    on_time: NDArray[np.bool_] | None = None
    deleted: set[int] = field(default_factory=set)

    @property
    def counts(self) -> tuple[int, int, dict[str, list[int]]]:
        """What has come and what was not taken, as `go_on_counting` takes it."""
        return self.elements, self.late, {name: [each.late, each.untimed] for name, each in self.derived.items()}

    def go_on_counting(self, elements: int, late: int, derived: object = None) -> None:
        """Count from where the stream was before a restart; earlier versions kept another thing of derived streams."""
        self.elements, self.late = elements, late
        known = derived if isinstance(derived, dict) else {}
        self.derived = {name: DerivedCounts(*counts) for name, counts in known.items()}

    def accept(self, elements: Elements) -> Elements:
        """Move the watermark over elements in the order they came; those behind it when they came are dropped."""
        times = elements.times
        count = len(times)
        self.elements += count
        if self.held:
            return self._on_time(elements, times >= self.watermark_ms)
        if count == 1:
            time_ms = times.item(0)
            if time_ms < self.watermark_ms:
                self.late += 1
                return Elements(*(column[:0] for column in elements))
            if time_ms - self.lateness_ms > self.watermark_ms:
                self.watermark_ms = time_ms - self.lateness_ms
            return elements
        if count == 0:
            return elements
        if times.item(0) >= self.watermark_ms and is_in_order(times):  # as it mostly is: none is late
            self.watermark_ms = max(self.watermark_ms, times.item(-1) - self.lateness_ms)
            return elements
        reached = np.maximum.accumulate(times) - self.lateness_ms
        passed = np.empty_like(times)
        passed[0] = self.watermark_ms
        np.maximum(reached[:-1], self.watermark_ms, out=passed[1:])
        self.watermark_ms = max(self.watermark_ms, int(reached[-1]))
        return self._on_time(elements, times >= passed)

    def _on_time(self, elements: Elements, on_time: NDArray[np.bool_]) -> Elements:
        late = len(on_time) - int(np.count_nonzero(on_time))
        if late == 0:
            return elements
        self.late += late
        self.on_time = on_time
        return Elements(*(column[on_time] for column in elements))

    @property
    def changes_graph(self) -> bool:
        """Whether elements may take something out of the stored graph."""
        return self.absorb is not None and (self.latest or self.retracts or self.absorb_ms > 0)

    def note_deletions(self, elements: Elements) -> None:
        """Have the terms of deleted predicates stay: waiting elements have these with a minus sign."""
        self.deleted.update((-elements.predicates[elements.predicates < 0]).tolist())

    def absorbed(self, elements: Elements) -> Elements | None:
        """What of these elements enters the stored graph; None where nothing can."""
        if self.absorb is None:
            return None
        if not self.absorb:
            return elements
        kept = np.isin(np.abs(elements.predicates), np.fromiter(self.absorb, np.int64))
        return Elements(*(column[kept] for column in elements))


def is_in_order(times: NDArray[np.int64]) -> bool:
    if times.dtype == _INT64 and times.strides == _CONTIGUOUS:
        return bool(_never_falls.run(times))
    return not np.count_nonzero(times[1:] < times[:-1])


def concatenate_elements(parts: list[Elements]) -> Elements:
    """Elements of several batches as one, as they stand."""
    whole = np.concatenate([column for columns in zip(*parts, strict=True) for column in columns])  # one call for all
    if whole.dtype != _INT64:
        return as_contiguous(Elements(*map(np.concatenate, zip(*parts, strict=True))))
    count = len(whole) // 4
    return Elements(whole[:count], whole[count : 2 * count], whole[2 * count : 3 * count], whole[3 * count :])


def as_contiguous(elements: Elements) -> Elements:
    """Elements as kernels take them without a look (see `freshet.kernels.direct_call`), whatever made the columns."""
    for column in elements:
        if (column.dtype is not _INT64 and column.dtype != _INT64) or column.strides != _CONTIGUOUS:
            return Elements(*(np.array(column, order="C").astype(_INT64, casting="same_kind") for column in elements))
    return elements


def merge_in_order(parts: list[Elements]) -> Elements:
    """Elements of several batches as one, in order of time; equal times stay as they came."""
    whole = parts[0] if len(parts) == 1 else concatenate_elements(parts)
    if len(whole.times) < 2 or is_in_order(whole.times):
        return whole
    order = np.argsort(whole.times, kind="stable")
    return Elements(*(column[order] for column in whole))


def split_before(elements: Elements, time_ms: int) -> tuple[Elements, Elements]:
    """Elements in order of time, cut at a time."""
    cut = int(elements.times.searchsorted(time_ms))
    return Elements(*(c[:cut] for c in elements)), Elements(*(c[cut:] for c in elements))
