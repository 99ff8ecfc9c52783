"""One stream as windows see it: its elements in order of time, numbered, as far as the watermarks let them through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.native.s2r.waiting import ELEMENT_BYTES, WaitingElements

if TYPE_CHECKING:
    from freshet.native.s2r.content import WindowContent

_FIRST_CAPACITY = 256


class Feed:
    """Elements are numbered from 0 in the order of (time, arrival); a window's content is a range of these numbers.

    Windows ask for numbers by times and for times by numbers. Leaf buffers get the elements that are let through with
    their numbers in place of their times.
    """

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.waiting = WaitingElements()
        self.count = 0  # elements let through
        self.last_ms = BEFORE_ALL_TIME  # the latest time let through
        self.instants = False  # whether any of its elements makes a window move at its own instant
        self.readers: list[WindowContent] = []
        self._times = np.empty(_FIRST_CAPACITY, np.int64)
        self._first = 0  # the number of the element at place 0

    @property
    def element_bytes(self) -> int:
        """What an element takes at most, one that matches every pattern of the windows."""
        leaves = sum(leaf.row_bytes for reader in self.readers for leaf in reader.leaves.values())
        return ELEMENT_BYTES + self._times.itemsize + leaves

    @property
    def held_bytes(self) -> int:
        """What the elements that wait may take, and what the times do that windows ask for."""
        oldest = min((reader.oldest() for reader in self.readers), default=self.count)
        waiting = self.waiting.count * self.element_bytes if self.waiting.count else 0
        return waiting + self._times.itemsize * (self.count - oldest)

    def release(self, time_ms: int) -> None:
        """Let everything before a time through."""
        elements = self.waiting.release(time_ms)
        if elements is None:
            return
        more = len(elements.times)
        self._remember(elements.times, more)
        if more == 1:
            triple = (elements.subjects.item(0), elements.predicates.item(0), elements.objects.item(0))
            for reader in self.readers:
                for leaf in reader.leaves.values():
                    leaf.receive_one(self.count, triple)
        else:
            numbered = elements._replace(times=np.arange(self.count, self.count + more))
            for reader in self.readers:
                for leaf in reader.leaves.values():
                    leaf.receive(numbered)
        self.count += more

    def before(self, time_ms: int, known: int) -> int:
        """How many elements have a time before this one, where `known` is known to be at most as many."""
        at, end = known - self._first, self.count - self._first
        if at >= end or self._times.item(at) >= time_ms:
            return known
        at += 1
        if at >= end or self._times.item(at) >= time_ms:
            return known + 1
        return known + 1 + int(self._times[at:end].searchsorted(time_ms))

    def time(self, number: int) -> int:
        """The time of an element; after all time where it has not been let through yet."""
        return self._times.item(number - self._first) if number < self.count else AFTER_ALL_TIME

    def _remember(self, times: np.typing.NDArray[np.int64], more: int) -> None:
        if self.count - self._first + more > len(self._times):
            self._make_room(more)
        end = self.count - self._first
        self.last_ms = times.item(-1)
        if more == 1:
            self._times[end] = self.last_ms
        else:
            self._times[end : end + more] = times

    def _make_room(self, more: int) -> None:
        """Let go of times that nobody will ask for, and move the rest to the front, of a larger array if need be."""
        oldest = min((reader.oldest() for reader in self.readers), default=self.count)
        kept = self._times[oldest - self._first : self.count - self._first]
        room = 2 * (len(kept) + more)
        times = self._times if room <= len(self._times) else np.empty(room, np.int64)
        times[: len(kept)] = kept
        self._times, self._first = times, oldest
