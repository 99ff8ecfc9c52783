"""Timing data: what streams do not leave in the graph, kept in time slices for as long as a window needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.errors import BudgetError

_NOTHING = np.empty(0, np.int64)
NO_ELEMENTS = Elements(_NOTHING, _NOTHING, _NOTHING, _NOTHING)


class BufferFullError(BudgetError):
    """There is no room for a batch: windows still need all that is there. The batch may be pushed again later."""


class TimeSlice(NamedTuple):
    """One batch: its arrays as they were pushed, and what its times span."""

    elements: Elements
    first_ms: int
    last_ms: int
    nbytes: int


def time_slice(elements: Elements) -> TimeSlice:
    """A batch that has elements."""
    size = sum(column.nbytes for column in elements)
    return TimeSlice(elements, int(elements.times.min()), int(elements.times.max()), size)


def elements_within(slices: Iterable[TimeSlice], from_ms: int, to_ms: int) -> Elements:
    """The elements with from_ms <= time < to_ms, in the order in which they came."""
    parts = [NO_ELEMENTS]
    for piece in slices:
        if piece.last_ms < from_ms or piece.first_ms >= to_ms:
            continue
        elements = piece.elements
        if piece.first_ms < from_ms or piece.last_ms >= to_ms:
            inside = (elements.times >= from_ms) & (elements.times < to_ms)
            elements = Elements(*(column[inside] for column in elements))
        parts.append(elements)
    if len(parts) <= 2:
        return parts[-1]
    return Elements(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class TimeSlices:
    """A stream's slices, oldest first, within a budget of bytes.

    `needed_from` says from what time on windows need elements; it is asked when there is no room.
    """

    def __init__(self, budget_bytes: int, needed_from: Callable[[], int] | None = None) -> None:
        self.budget_bytes = budget_bytes
        self.nbytes = 0
        self.refused = 0  # batches for which there was no room
        self._needed_from = needed_from
        self.slices: tuple[TimeSlice, ...] = ()  # replaced, never changed: readers have what they began with
        self.kept_from_ms = -(2**62)  # nothing from there on has been freed
        self._lock = threading.Lock()

    def push(self, elements: Elements) -> None:
        """Keep a batch, all of it or, with a BufferFullError, nothing."""
        if not len(elements.times):
            return
        new = time_slice(elements)
        size = new.nbytes
        with self._lock:
            if self.nbytes + size > self.budget_bytes and self._needed_from is not None:
                self._free(self._needed_from())
            if self.nbytes + size > self.budget_bytes:
                raise self._full(size, self.nbytes)
            self.slices = (*self.slices, new)
            self.nbytes += size

    def check_room(self, elements: Elements) -> None:
        """Raise the BufferFullError that `push` would raise. Nothing is freed."""
        size = sum(column.nbytes for column in elements)
        with self._lock:
            used = self.nbytes
            if used + size > self.budget_bytes and self._needed_from is not None:
                needed_ms = self._needed_from()
                used = sum(piece.nbytes for piece in self.slices if piece.last_ms >= needed_ms)
            if size and used + size > self.budget_bytes:
                raise self._full(size, used)

    def free_before(self, time_ms: int) -> int:
        """Drop slices that have no element from a time on; how many bytes that gave back."""
        with self._lock:
            return self._free(time_ms)

    def __len__(self) -> int:
        return len(self.slices)

    def _full(self, size: int, used: int) -> BufferFullError:
        self.refused += 1
        return BufferFullError(
            f"a batch of {size} bytes does not fit: the slices have {used} of {self.budget_bytes} bytes"
        )

    def _free(self, time_ms: int) -> int:
        kept = tuple(piece for piece in self.slices if piece.last_ms >= time_ms)
        self.kept_from_ms = max(self.kept_from_ms, time_ms)
        before, self.nbytes = self.nbytes, sum(piece.nbytes for piece in kept)
        self.slices = kept
        return before - self.nbytes
