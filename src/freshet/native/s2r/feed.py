"""One stream as windows see it: its elements in order of time, numbered, as far as the watermarks let them through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakSet

import numpy as np

from freshet.native.buffers.arrivals import room_for
from freshet.native.buffers.leaf_buffer import LeafBuffer, receive_all
from freshet.native.buffers.one_way_index import Ids
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME, FURTHEST_MS
from freshet.native.s2r.waiting import ELEMENT_BYTES, WaitingElements
from freshet.native.streams.stream import split_before
from freshet.rdf.elements import Elements

if TYPE_CHECKING:
    from freshet.native.s2r.content import WindowContent

_FIRST_CAPACITY = 256
_FEW_LEAVES = 16

_WindowLeaf = tuple["WindowContent", LeafBuffer]


class Begin(NamedTuple):
    """The first element of a time or later has a number; the elements before that time are as many, and gone."""

    time_ms: int
    number: int


FROM_THE_FIRST = Begin(BEFORE_ALL_TIME, 0)


class Follower(Protocol):
    """What knows elements by their numbers."""

    def settle(self) -> None:
        """Ask for the times of these elements: they may be dropped."""


class Route:
    """Leaf buffers that are offered the same elements."""

    def __init__(self, leaves: list[_WindowLeaf]) -> None:
        self.all = leaves
        self._contents = {leaf: content for content, leaf in leaves}
        self._plain = [leaf for _, leaf in leaves if not leaf.pattern.filters]
        self._filtered = [leaf for _, leaf in leaves if leaf.pattern.filters]
        self._addresses = np.array([leaf.record.address for leaf in self._plain], np.int64)

    def send(self, elements: Elements) -> None:
        """Let those that match wait in the leaf buffers."""
        filled = receive_all(self._plain, self._addresses, elements) if self._plain else []
        filled += [leaf for leaf in self._filtered if leaf.receive(elements)]
        for leaf in filled:
            self._contents[leaf].fill(leaf)


class Routes:
    """Which leaf buffers can match an element: those that have its predicate, and those that have any."""

    def __init__(self, leaves: Iterable[_WindowLeaf]) -> None:
        of_any: list[_WindowLeaf] = []
        by_predicate: dict[int, list[_WindowLeaf]] = {}
        for each in leaves:
            predicate = each[1].pattern.constants[1]
            (by_predicate.setdefault(predicate, []) if predicate else of_any).append(each)
        self._of_any = Route(of_any)
        self._by_predicate = {predicate: Route(some) for predicate, some in by_predicate.items()}
        self._every = Route([*of_any, *(each for some in by_predicate.values() for each in some)])

    def to(self, predicate: int) -> list[_WindowLeaf]:
        """Those that can match an element with a predicate."""
        found = self._by_predicate.get(predicate)
        of_any = self._of_any.all
        return of_any if found is None else found.all + of_any if of_any else found.all

    def split(self, elements: Elements) -> Iterator[tuple[Elements, Route]]:
        """Elements, at least one, by the leaf buffers that can match them, in order."""
        if len(self._every.all) <= _FEW_LEAVES:  # each leaf buffer selects what is its own as quickly
            yield elements, self._every
            return
        if self._of_any.all:
            yield elements, self._of_any
        predicates = np.abs(elements.predicates)
        order = np.argsort(predicates, kind="stable")
        predicates = predicates[order]
        starts = np.flatnonzero(np.concatenate(([True], predicates[1:] != predicates[:-1])))
        ends = [*starts[1:].tolist(), len(order)]
        for start, end, predicate in zip(starts.tolist(), ends, predicates[starts].tolist(), strict=True):
            if predicate in self._by_predicate:
                rows = order[start:end]
                yield Elements(*(column[rows] for column in elements)), self._by_predicate[predicate]


class Feed:
    """Elements are numbered from 0 in the order of (time, arrival); a window's content is a range of these numbers.

    Windows ask for numbers by times and for times by numbers. Leaf buffers get the elements that are let through with
    their numbers in place of their times. After a restart a feed may begin later: it goes on with the numbers, and what
    comes again of the elements before is not let through.
    """

    def __init__(self, stream: str, begin: Begin = FROM_THE_FIRST) -> None:
        self.stream = stream
        self.waiting = WaitingElements()
        self.begin = begin
        self.count = begin.number  # elements let through, and those before
        self.last_ms = BEFORE_ALL_TIME  # the latest time let through
        self.instants = False  # whether any of its elements makes a window move at its own instant
        self.readers: list[WindowContent] = []
        self.followers: WeakSet[Follower] = WeakSet()
        self.routes: Routes | None = None  # to the leaf buffers of the windows, found anew when these change
        self._use(np.zeros(_FIRST_CAPACITY, np.int64))
        self._first = begin.number  # the number of the element at place 0

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

    @property
    def next_number(self) -> int:
        """The number of the next element to come, where it comes behind those that wait."""
        return self.count + self.waiting.count

    @property
    def elements_so_far(self) -> int:
        """How many elements have come."""
        return self.next_number - self.begin.number

    def release(self, time_ms: int) -> None:
        """Let everything before a time through."""
        elements = self.waiting.release(time_ms)
        if elements is not None and self.last_ms == BEFORE_ALL_TIME:
            elements = self._from_begin(elements)
        if elements is None:
            return
        times, subjects, predicates, objects = elements
        more = len(times)
        if self.count - self._first + more > len(self._times):
            self._make_room(more)
        end = self.count - self._first
        self.last_ms = last_ms = times.item(-1)
        if more == 1:
            self._single_times[end] = last_ms
            triple = (subjects.item(), predicates.item(), objects.item())
            for content, leaf in self._routes().to(abs(triple[1])):
                if leaf.receive_one(self.count, triple):
                    content.fill(leaf)
        else:
            self._times[end : end + more] = times
            numbered = elements._replace(times=np.arange(self.count, self.count + more))
            for some, route in self._routes().split(numbered):
                route.send(some)
        self.count += more

    def _routes(self) -> Routes:
        if self.routes is None:
            self.routes = Routes([(reader, leaf) for reader in self.readers for leaf in reader.leaves.values()])
        return self.routes

    def before(self, time_ms: int, known: int) -> int:
        """How many elements have a time before this one, where `known` is known to be at most as many."""
        at, end, times = known - self._first, self.count - self._first, self._single_times
        if at >= end or times[at] >= time_ms:
            return known
        at += 1
        if at >= end or times[at] >= time_ms:
            return known + 1
        return known + 1 + int(self._times[at:end].searchsorted(time_ms))

    def times(self, first: int, end: int) -> Ids:
        """The times of elements, as a view."""
        return self._times[first - self._first : end - self._first]

    def instants_of(self, first: int, end: int) -> Ids:
        """The moments of elements that count from their own times on."""
        if end == first + 1:  # as it mostly is where elements come one by one
            return np.array([2 * self._single_times[first - self._first] + 1])
        moments: Ids = 2 * self._times[first - self._first : end - self._first] + 1
        return moments

    def times_of(self, numbers: Ids) -> Ids:
        """The times of elements in any order."""
        times: Ids = self._times[numbers - self._first]
        return times

    def first_times(self, times: Ids) -> Ids:
        """For each time that of the first element from it on, of those that are still known; far away where none is."""
        if self.last_ms < times[0]:
            return np.full(len(times), FURTHEST_MS)
        if len(times) == 1:
            return self._times[self.before(times.item(0), self._first) - self._first :][:1]
        known = self._times[: self.count - self._first]
        places = known.searchsorted(times)
        found: Ids = np.where(places < len(known), known[np.minimum(places, len(known) - 1)], FURTHEST_MS)
        return found

    def last_before(self, time_ms: int) -> int:
        """The time of the last element before a time."""
        if self.last_ms < time_ms:
            return self.last_ms
        number = int(self._times[: self.count - self._first].searchsorted(time_ms))
        return int(self._times[number - 1]) if number else BEFORE_ALL_TIME

    def time(self, number: int) -> int:
        """The time of an element; after all time where it has not been let through yet."""
        return self._single_times[number - self._first] if number < self.count else AFTER_ALL_TIME

    def begin_of(self, number: int) -> Begin:
        """Where to begin so that an element is there, and all that have its time."""
        if number >= self.count:
            return Begin(self.last_ms + 1, self.count)
        place = number - self._first
        time_ms = self._single_times[place]
        if place and self._single_times[place - 1] < time_ms:
            return Begin(time_ms, number)
        return Begin(time_ms, self._first_of(time_ms, number))

    def _first_of(self, time_ms: int, number: int) -> int:
        """The number of the first element of a time, where `number` is one. Elements of one time go together."""
        return self._first + int(self._times[: number - self._first + 1].searchsorted(time_ms))

    def _from_begin(self, elements: Elements) -> Elements | None:
        """What is let through of the first elements."""
        if self.begin is FROM_THE_FIRST:
            self.begin = Begin(elements.times.item(0), 0)
        elif elements.times.item(0) < self.begin.time_ms:
            elements = split_before(elements, self.begin.time_ms)[1]
        return elements if len(elements.times) else None

    def _make_room(self, more: int) -> None:
        """Drop times that are no longer needed, and move the rest to the front, of a larger array if need be."""
        for follower in self.followers:
            follower.settle()
        oldest = min((reader.oldest() for reader in self.readers), default=self.count)
        if oldest < self.count:
            oldest = self._first_of(self.time(oldest), oldest)
        kept = self._times[oldest - self._first : self.count - self._first]
        room = room_for(len(kept), more)
        times = self._times if room <= len(self._times) <= 8 * room else np.zeros(room, np.int64)
        times[: len(kept)] = kept
        self._use(times)
        self._first = oldest

    def _use(self, times: np.typing.NDArray[np.int64]) -> None:
        self._times = times
        self._single_times = times.data  # single numbers are read and written through it in half the time
