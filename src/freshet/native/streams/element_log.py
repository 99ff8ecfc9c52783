"""The newest elements of each stream, with the records that they came from: what `why` derives an answer from again.

Windows keep only the rows that patterns match, and let go of them when they move on. An answer is asked about later, so
the elements are kept here by their number, as they came, for all windows and all queries at once.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.streams.narrow_column import NarrowColumn, narrow_ids, narrow_times
from freshet.rdf.elements import Elements

Ids = NDArray[np.int64]

MOST_ELEMENTS = 100_000  # of each stream
_FIRST_STAGED, _MOST_STAGED = 256, 1 << 13  # elements of small batches that become a block together
_ELEMENT_BYTES = 32  # at most: a time and three ids


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


class Retention(NamedTuple):
    """What is kept of a stream beside its newest elements: those from a time on, in some memory."""

    needed_from: Callable[[], int]
    most_bytes: int


class _Block(NamedTuple):
    """Elements that came together."""

    times: NarrowColumn
    subjects: NarrowColumn
    predicates: NarrowColumn
    objects: NarrowColumn


class _Newest:
    """The newest elements of one stream, in blocks. An element has a number, in the order in which they came.

    A batch is a block; batches of a few elements are staged in a small array and become a block together. The oldest
    block goes when there are enough elements without it. Of each batch there is in `_batches` the number of its first
    element, its place in the order of all batches, and its own number.
    Blocks are narrow: there may be as many elements here as in all windows, and they are seldom asked for. The arrays
    of ids may be those that were given.
    """

    def __init__(self, most: int, retention: Retention | None = None) -> None:
        self._most = most
        self._retention = retention
        self._blocks: deque[_Block] = deque()
        self._held = 0  # elements in blocks
        self._count = 0  # of all elements so far but those that are staged
        self._gone_ms = BEFORE_ALL_TIME  # the latest time of those whose blocks are gone
        self._last_gone = -1  # the latest arrival before a restart
        self._number = 0  # of the last batch
        self._batches = np.zeros((3, 0), np.int64)
        self._new_batches: tuple[list[int], list[int], list[int]] = ([], [], [])
        self._rows: dict[int, Ids] = {}  # by the first element of a batch, where not all of it were taken
        self._origins: deque[tuple[int, int, Origin]] = deque()  # number behind the last element, batch, origin
        self._most_staged = min(_MOST_STAGED, max(most, _FIRST_STAGED))
        self._stage(_FIRST_STAGED)
        self._staged_count = 0

    def _stage(self, room: int) -> None:
        self._staged = np.zeros((len(Elements._fields), room), np.int64)
        self._single = tuple(column.data for column in self._staged)  # single numbers are written in half the time

    def add(
        self, elements: Elements, count: int, arrival: int, number: int | None, origin: Origin | None, rows: Ids | None
    ) -> None:
        self._number = number = self._number + 1 if number is None else number
        if not count:
            return
        place = self._staged_count
        if place + count > self._staged.shape[1]:
            place = self._make_room(count)
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
        elif count <= self._most_staged:
            staged = self._staged
            for at in range(len(elements)):
                staged[at, place : place + count] = elements[at]
        else:
            self._keep(elements, count)
            return
        self._staged_count = place + count

    def note_gone(self, until_ms: int, arrival: int) -> None:
        self._gone_ms = max(self._gone_ms, until_ms)
        self._last_gone = max(self._last_gone, arrival)

    def _make_room(self, more: int) -> int:
        """See that more elements can be staged, if they are not too many for that. Says where."""
        if self._staged_count + more > self._most_staged:
            self._take_in()
        count, room = self._staged_count, self._staged.shape[1]
        if room < count + more <= self._most_staged:
            before = self._staged
            self._stage(min(self._most_staged, max(2 * room, count + more)))
            self._staged[:, :count] = before[:, :count]
        return count

    def _take_in(self) -> None:
        """Make a block of what is staged."""
        count, self._staged_count = self._staged_count, 0
        if count:
            staged = self._staged[:, :count]
            self._keep(Elements(*staged), count)
            staged.fill(0)  # else the terms would stay

    def _keep(self, elements: Elements, count: int) -> None:
        """Keep elements as a block, and let those blocks go whose elements are too many."""
        first = 0 if self._retention else max(0, count - self._most)  # those before it are gone at once
        if first:
            self._gone_ms = max(self._gone_ms, int(elements.times[:first].max()))
            elements = Elements(*(column[first:] for column in elements))
        blocks = self._blocks
        blocks.append(_Block(narrow_times(elements.times), *map(narrow_ids, elements[1:])))
        self._count += count
        self._held += count - first
        while blocks and self._held - blocks[0].times.size >= self._most and self._is_free(blocks[0]):
            gone = blocks.popleft().times
            self._held -= gone.size
            self._gone_ms = max(self._gone_ms, gone.largest)
        self._forget()

    def _is_free(self, block: _Block) -> bool:
        """Whether a block may go that is not needed as one of the newest."""
        if self._retention is None or _ELEMENT_BYTES * self._held > self._retention.most_bytes:
            return True
        return block.times.largest < self._retention.needed_from()

    @property
    def _reach(self) -> int:
        """How many elements are there at most."""
        return self._most if self._retention is None else max(self._most, self._held)

    def _forget(self) -> None:
        """Let go of what is known only of elements that are gone."""
        gone = self._count - self._reach
        while self._origins and self._origins[0][0] <= gone:
            self._origins.popleft()
        if self._rows:
            for first in [first for first, rows in self._rows.items() if first + len(rows) <= gone]:
                del self._rows[first]
        if len(self._new_batches[0]) >= _FIRST_STAGED:
            self._note_batches()

    def _note_batches(self) -> None:
        """Add the new batches to those that are known, of which the ones go that have no element any more."""
        known, self._new_batches = np.array(self._new_batches, np.int64), ([], [], [])
        # the batch of the latest element that is gone is needed: its arrival is asked for
        first = int(self._batches[0].searchsorted(self._count - self._reach, side="left")) - 1
        self._batches = np.concatenate((self._batches[:, max(0, first) :], known), axis=1)

    def held(self, stream: str, begin: int) -> HeldElements:
        """Those of an arrival or later."""
        self._take_in()
        self._note_batches()
        held = min(self._held, self._reach)
        columns = np.zeros((len(Elements._fields), 0), np.int64)
        if self._blocks:
            parts = zip(*self._blocks, strict=True)
            columns = np.stack([np.concatenate([part.numbers() for part in column]) for column in parts])
        gone, columns = columns[:, : self._held - held], columns[:, self._held - held :]
        gone_ms = max(self._gone_ms, int(gone[0].max())) if gone.size else self._gone_ms
        firsts, arrivals, batches = self._batches
        numbers = np.arange(self._count - held, self._count)
        places = firsts.searchsorted(numbers, side="right") - 1
        last_gone = self._last_gone
        if self._count > held:
            before = int(firsts.searchsorted(self._count - held - 1, side="right")) - 1
            last_gone = max(last_gone, arrivals.item(before))
        order = np.argsort(columns[0], kind="stable")
        order = order[arrivals[places[order]] >= begin]
        places, numbers = places[order], numbers[order]
        rows = numbers - firsts[places]
        for first, known in self._rows.items():
            own = np.flatnonzero(firsts[places] == first)
            rows[own] = known[rows[own]]
        origins = {batch: origin for _, batch, origin in self._origins}
        times, subjects, predicates, objects = np.ascontiguousarray(columns[:, order])
        return HeldElements(
            stream, times, subjects, predicates, objects, batches[places], rows,
            gone_ms if begin <= last_gone else BEFORE_ALL_TIME, origins,
        )  # fmt: skip


class ElementLog:
    """The newest elements of each stream, up to a number of each, and more of those that are to be kept. With 0 nothing
    else is."""

    def __init__(self, most: int = MOST_ELEMENTS) -> None:
        self.most = most
        self._order = itertools.count()  # of batches of all streams; several threads may push at the same time
        self._newest: dict[str, _Newest] = {}
        self._retentions: dict[str, Retention] = {}

    def keep(self, stream: str, needed_from: Callable[[], int], most_bytes: int) -> None:
        """Keep of a stream, from now on, what comes from a time on, as far as there is room."""
        self._retentions[stream] = Retention(needed_from, most_bytes)
        self._newest[stream] = _Newest(self.most, self._retentions[stream])

    def add(
        self,
        stream: str,
        elements: Elements,
        batch: int | None = None,
        origin: Origin | None = None,
        rows: Ids | None = None,
    ) -> None:
        """Keep elements that a stream has taken; `rows` are their rows in the batch, where they are not all of it.

        The caller must not change their arrays: those of more than a few elements may be kept.
        Batches are numbered from 1, unless they have numbers already.
        """
        newest = self._newest.get(stream)
        if newest is None:
            if not self.most:
                return
            newest = self._newest.setdefault(stream, _Newest(self.most))
        newest.add(elements, len(elements.times), next(self._order), batch, origin, rows)

    def note_gone(self, stream: str, until_ms: int) -> None:
        """Elements of a stream up to a time came before a restart, and do not come again."""
        if self.most or stream in self._newest:
            newest = self._newest.setdefault(stream, _Newest(self.most))
            newest.note_gone(until_ms, next(self._order))

    def begin(self) -> int:
        """A number by which to ask later for the elements that come from now on."""
        return next(self._order)

    def held(self, stream: str, begin: int) -> HeldElements:
        """The elements of a stream that came after `begin`; all of them after 0."""
        newest = self._newest.get(stream)
        return (_Newest(1) if newest is None else newest).held(stream, begin)
