"""The newest elements of each stream, with the records that they came from: what `why` derives an answer from again.

Windows keep only the rows that patterns match, and let go of them when they move on. An answer is asked about later, so
the elements are kept here by their number, as they came, for all windows and all queries at once.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from freshet.native.moments import BEFORE_ALL_TIME
from freshet.rdf.elements import Elements

Ids = NDArray[np.int64]

MOST_ELEMENTS = 100_000  # of each stream
_FIRST_CAPACITY = 256
_AT_ONCE = 4096  # elements that are taken in together


class Origin(Protocol):
    """What a batch came from."""

    def record(self, batch: int, row: int) -> str:
        """The record of a row of the batch with a number, as a user can find it again."""


class HeldElements(NamedTuple):
    """Elements of a stream in the order of (time, arrival): those of a query, as far as they are still there.

    `gone_ms` is the latest time of an element that is not there any more; before all time where all are there.
    `batches` and `rows` say which record each came from, by `origins`.
    """

    stream: str
    times: Ids
    subjects: Ids
    predicates: Ids
    objects: Ids
    batches: Ids
    rows: Ids
    gone_ms: int
    origins: dict[int, Origin]

    def where(self, places: Ids) -> HeldElements:
        """Some of them."""
        return self._replace(**{name: getattr(self, name)[places] for name in (*Elements._fields, "batches", "rows")})


class _Ring:
    """Elements of one stream in a circular array: element `number` is at `number % capacity`.

    Elements are staged in a small array and taken in some at a time, since a batch may be one element. Of each batch
    there is in `_batches` the number of its first element, its place in the order of all batches, and its own number.
    Nothing that was given is held: the caller may change it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._columns = np.zeros((len(Elements._fields), min(most, _FIRST_CAPACITY)), np.int64)
        self._count = 0  # of all elements so far
        self._gone_ms = BEFORE_ALL_TIME  # the latest time of those that are gone
        self._last_gone = -1  # and the latest arrival
        self._number = 0  # of the last batch
        self._batches = np.zeros((3, _FIRST_CAPACITY), np.int64)
        self._batch_count = 0
        self._rows: dict[int, Ids] = {}  # by the first element of a batch, where not all of it were taken
        self._origins: deque[tuple[int, int, Origin]] = deque()  # number behind the last element, batch, origin
        self._room = min(most, _AT_ONCE)
        self._staged = np.zeros((len(Elements._fields), self._room), np.int64)
        self._single = tuple(column.data for column in self._staged)  # single numbers are written in half the time
        self._staged_count = 0
        self._new_batches: tuple[list[int], list[int], list[int]] = ([], [], [])

    def add(
        self, elements: Elements, count: int, arrival: int, number: int | None, origin: Origin | None, rows: Ids | None
    ) -> None:
        self._number = number = self._number + 1 if number is None else number
        if not count:
            return
        place = self._staged_count
        if place + count > self._room:
            self._take_in()
            place = 0
        firsts, arrivals, numbers = self._new_batches
        firsts.append(self._count + place)
        arrivals.append(arrival)
        numbers.append(number)
        if origin is not None:
            self._origins.append((self._count + place + count, number, origin))
        if rows is not None:
            self._rows[self._count + place] = rows
        if count == 1:
            times, subjects, predicates, objects = self._single
            times[place] = elements[0].item()
            subjects[place] = elements[1].item()
            predicates[place] = elements[2].item()
            objects[place] = elements[3].item()
        elif count <= self._room:
            for column, given in zip(self._staged, elements, strict=True):
                column[place : place + count] = given
        else:
            self._note_batches()
            self._write(elements, count)
            return
        self._staged_count = place + count

    def note_gone(self, until_ms: int, arrival: int) -> None:
        self._gone_ms = max(self._gone_ms, until_ms)
        self._last_gone = max(self._last_gone, arrival)

    def _take_in(self) -> None:
        """Write what is staged."""
        count, self._staged_count = self._staged_count, 0
        if count:
            self._note_batches()
            self._write(Elements(*self._staged[:, :count]), count)

    def _write(self, elements: Elements, count: int) -> None:
        """Put elements in their places; those that they push out are noted as gone."""
        first = max(0, count - self._most)  # those before it are gone at once
        self._make_room(count - first)
        capacity = self._columns.shape[1]
        held = min(self._count, capacity)
        gone = held if first else max(0, held + count - capacity)
        for start, end in _ranges(self._count - held, gone, capacity):
            self._gone_ms = max(self._gone_ms, int(self._columns[0, start:end].max()))
        if first:
            self._gone_ms = max(self._gone_ms, int(elements.times[:first].max()))
        done = first
        for start, end in _ranges(self._count + first, count - first, capacity):
            for column, given in zip(self._columns, elements, strict=True):
                column[start:end] = given[done : done + end - start]
            done += end - start
        self._count += count
        last_gone = self._count - capacity - 1
        if last_gone >= 0:
            self._last_gone = max(self._last_gone, int(self._arrivals(np.array([last_gone]))[0]))
            self._forget()

    def _make_room(self, count: int) -> None:
        """Grow before the first element would be overwritten, up to the most that are kept."""
        capacity = self._columns.shape[1]
        needed = min(self._most, self._count + count)
        if capacity < needed:
            larger = np.zeros((len(self._columns), min(self._most, max(needed, 2 * capacity))), np.int64)
            larger[:, :capacity] = self._columns
            self._columns = larger

    def _note_batches(self) -> None:
        known = np.array(self._new_batches, np.int64)
        self._new_batches = ([], [], [])
        end = self._batch_count + known.shape[1]
        if end > self._batches.shape[1]:
            first = int(self._batches[0, : self._batch_count].searchsorted(self._count - self._most, side="right"))
            kept = self._batches[:, max(0, first - 1) : self._batch_count]
            self._batch_count = kept.shape[1]
            end = self._batch_count + known.shape[1]
            larger = np.zeros((3, max(2 * end, _FIRST_CAPACITY)), np.int64)
            larger[:, : self._batch_count] = kept
            self._batches = larger
        self._batches[:, self._batch_count : end] = known
        self._batch_count = end

    def _forget(self) -> None:
        """Let go of what is known only of elements that are gone."""
        gone = self._count - self._columns.shape[1]
        while self._origins and self._origins[0][0] <= gone:
            self._origins.popleft()
        for first in [first for first, rows in self._rows.items() if first + len(rows) <= gone]:
            del self._rows[first]

    def _arrivals(self, numbers: Ids) -> Ids:
        firsts, arrivals, _ = self._batches[:, : self._batch_count]
        places = firsts.searchsorted(numbers, side="right") - 1
        found: Ids = arrivals[places]
        return found

    def held(self, stream: str, begin: int) -> HeldElements:
        """Those of an arrival or later."""
        self._take_in()
        capacity = self._columns.shape[1]
        numbers = np.arange(max(0, self._count - capacity), self._count)
        if len(numbers):
            numbers = numbers[self._arrivals(numbers) >= begin]
        columns = self._columns[:, numbers % capacity]
        order = np.argsort(columns[0], kind="stable")
        numbers = numbers[order]
        firsts, _, batches = self._batches[:, : self._batch_count]
        places = firsts.searchsorted(numbers, side="right") - 1
        rows = numbers - firsts[places]
        for first, known in self._rows.items():
            own = np.flatnonzero(firsts[places] == first)
            rows[own] = known[rows[own]]
        gone_ms = self._gone_ms if begin <= self._last_gone else BEFORE_ALL_TIME
        origins = {batch: origin for _, batch, origin in self._origins}
        times, subjects, predicates, objects = np.ascontiguousarray(columns[:, order])
        return HeldElements(stream, times, subjects, predicates, objects, batches[places], rows, gone_ms, origins)


def _ranges(first: int, count: int, capacity: int) -> Iterator[tuple[int, int]]:
    """The places of elements from a number on, as ranges: two where they go round the end.

    >>> list(_ranges(6, 4, 8)), list(_ranges(8, 2, 8)), list(_ranges(3, 0, 8))
    ([(6, 8), (0, 2)], [(0, 2)], [])
    """
    start = first % capacity
    end = min(capacity, start + count)
    if end > start:
        yield start, end
    if start + count > capacity:
        yield 0, start + count - capacity


class ElementLog:
    """The newest elements of each stream, up to a number of each. With 0 nothing is kept."""

    def __init__(self, most: int = MOST_ELEMENTS) -> None:
        self.most = most
        self._order = itertools.count()  # of batches of all streams; several threads may push at the same time
        self._rings: dict[str, _Ring] = {}

    def add(
        self,
        stream: str,
        elements: Elements,
        batch: int | None = None,
        origin: Origin | None = None,
        rows: Ids | None = None,
    ) -> None:
        """Keep elements that a stream has taken; `rows` are their rows in the batch, where they are not all of it.

        Batches are numbered from 1, unless they have numbers already.
        """
        if not self.most:
            return
        ring = self._rings.get(stream)
        if ring is None:
            ring = self._rings.setdefault(stream, _Ring(self.most))
        ring.add(elements, len(elements.times), next(self._order), batch, origin, rows)

    def note_gone(self, stream: str, until_ms: int) -> None:
        """Elements of a stream up to a time came before a restart, and do not come again."""
        if self.most:
            ring = self._rings.setdefault(stream, _Ring(self.most))
            ring.note_gone(until_ms, next(self._order))

    def begin(self) -> int:
        """A number by which to ask later for the elements that come from now on."""
        return next(self._order)

    def held(self, stream: str, begin: int) -> HeldElements:
        """The elements of a stream that came after `begin`; all of them after 0."""
        ring = self._rings.get(stream)
        return (_Ring(1) if ring is None else ring).held(stream, begin)
