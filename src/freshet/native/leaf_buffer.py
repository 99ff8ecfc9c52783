"""Leaf buffers: the rows that one triple pattern matches in one window, or in the stored graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from freshet.kernels.few_rows import FEW_ROWS, leaf_step_few
from freshet.kernels.leaf import leaf_turn, leaf_turn_linked
from freshet.native.arrivals import Arrivals
from freshet.native.choice import Choice
from freshet.native.direct_call import DirectCall
from freshet.native.inputs import NOTHING_MOVED, Moved
from freshet.native.one_way_index import Ids, Mask, OneWayIndex, Rows
from freshet.native.ring_index import RingIndex
from freshet.rdf.elements import Elements

_SPARE_ROWS = 32
_BORN_BYTES = 8

_NO_ROWS = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class LeafPattern:
    """A triple pattern without names: ids where it has constants, and for each variable the places it stands at.

    `constants` has 0 where there is a variable. Patterns that differ only in the names of variables are equal, and
    share one leaf buffer. At some places only chosen terms match: the constants of queries that share the pattern.
    """

    constants: tuple[int, int, int]
    columns: tuple[tuple[int, ...], ...]
    chosen: tuple[tuple[int, Choice], ...] = ()

    def match(self, elements: Elements) -> tuple[Mask | slice, Ids]:
        """Which elements match, and the variables' values of those that do."""
        triple = (elements.subjects, elements.predicates, elements.objects)
        mask: Mask | None = None
        for constant, values in zip(self.constants, triple, strict=True):
            if constant:
                hit = values == constant
                mask = hit if mask is None else mask & hit
        for places in self.columns:
            for place in places[1:]:
                hit = triple[places[0]] == triple[place]
                mask = hit if mask is None else mask & hit
        for place, choice in self.chosen:
            hit = choice.among(triple[place])
            mask = hit if mask is None else mask & hit
        chosen: Mask | slice = slice(None) if mask is None else mask
        count = len(elements.times) if mask is None else int(np.count_nonzero(mask))
        values = np.empty((count, len(self.columns)), np.int64)
        for at, places in enumerate(self.columns):
            values[:, at] = triple[places[0]][chosen]
        return chosen, values


class LeafBuffer:
    """Distinct rows of a pattern in a window (a set: a row that comes again stays until its last arrival leaves).

    `fresh` and `dead` give the rows that came and went since a step. Who reads a window's leaf looks at it after its
    every step; a leaf of the stored graph, whose rows stay, may move several steps between two looks. The arrays that
    they give, and `values` of dead rows, are good until the next step.
    """

    def __init__(self, pattern: LeafPattern, *, expires: bool = True) -> None:
        self.pattern = pattern
        self._expires = expires
        self._number = 0
        self._fresh = self._dead = _NO_ROWS
        self._rows = OneWayIndex(len(pattern.columns))
        self.born = np.zeros(self.row_capacity, np.int64)
        self._arrays = (*self._rows.arrays, self.born)  # see `freshet.kernels.leaf`
        self.values: Ids = self._rows.keys  # one row a leaf row, one column a variable
        self._outs = (_NO_ROWS, _NO_ROWS)  # room for fresh and dead rows
        self._spare = 0  # how many rows more fit for certain
        self._early = 0  # of the fresh rows of the next step, those that are here already
        self._waiting = Arrivals(np.int64, (len(pattern.columns),))
        self._inside = Arrivals(np.int32)
        self._indexes: dict[tuple[int, ...], RingIndex] = {}
        self._only_index: RingIndex | None = None  # where there is one
        self._step_few = DirectCall(leaf_step_few)
        # The pattern as a single triple is matched: places that must have a value, places that must agree, and which
        # places are the columns.
        self._fixed = [(place, constant) for place, constant in enumerate(pattern.constants) if constant]
        self._equal = [(places[0], place) for places in pattern.columns for place in places[1:]]
        self._values_of = _taken_from([places[0] for places in pattern.columns])

    @property
    def row_capacity(self) -> int:
        return self._rows.capacity

    @property
    def live(self) -> int:
        return self._rows.live

    @property
    def row_bytes(self) -> int:
        """What an arrival takes at most while it is inside, one whose row nobody else brought."""
        rings = sum(index.row_bytes for index in list(self._indexes.values()))  # its thread may add one
        return _BORN_BYTES + self._rows.entry_bytes + self._inside.row_bytes + rings

    @property
    def held_bytes(self) -> int:
        """What the rows take that are inside or wait to enter."""
        rows = self._rows.held_bytes + _BORN_BYTES * self._rows.live
        queues = sum(len(queue) * queue.row_bytes for queue in (self._waiting, self._inside))
        return rows + queues + sum(index.held_bytes for index in list(self._indexes.values()))

    def fresh(self, since: int) -> Rows:
        if self._number <= since:
            return _NO_ROWS
        if self._expires:
            return self._fresh
        first = int(np.searchsorted(self.born[: self.live], since, side="right"))
        return np.arange(first, self.live, dtype=np.int32)

    def dead(self, since: int) -> Rows:
        return self._dead if self._number > since else _NO_ROWS

    def moved(self, since: int) -> Moved:
        """Both."""
        if self._number <= since:
            return NOTHING_MOVED
        return (self._fresh if self._expires else self.fresh(since)), self._dead

    def live_rows(self) -> Rows:
        return self._rows.live_entries()

    def sizes(self) -> tuple[int, list[int]]:
        """How many rows are here or wait to enter, and how many different values each column has in them."""
        rows = np.concatenate((self.values[self.live_rows()], self._waiting.values))
        return len(rows), [len(np.unique(column)) for column in rows.T]

    def receive(self, elements: Elements) -> None:
        """Elements in order of time; those that match wait until a step lets them in."""
        chosen, values = self.pattern.match(elements)
        if len(values):
            self._waiting.append(elements.times[chosen], values)

    def receive_one(self, position: int, triple: tuple[int, int, int]) -> None:
        """One element, not before those that have come."""
        for place, constant in self._fixed:
            if triple[place] != constant:
                return
        for place, choice in self.pattern.chosen:
            if triple[place] not in choice:
                return
        for place, other in self._equal:
            if triple[place] != triple[other]:
                return
        self._waiting.append_one(position, self._values_of(triple))

    def moves(self, first: int, last: int) -> bool:
        """Whether a step to these positions changes anything."""
        return self._waiting.first_time < last or self._inside.first_time < first or self._early > 0

    def enter(self, first: int, last: int, number: int) -> None:
        """Let in ahead of time what the step with this number will let in, so that there is less to do then.

        Nobody may look before, and the step must be to these positions or to some behind, with the same `first`.
        """
        waiting = self._waiting
        if waiting.first_time < first:  # came between two windows
            waiting.move(waiting.count_before(first), 0)
        coming = waiting.count_before(last)
        if coming:
            found, _ = self._turn(coming, 0, number)
            self._early += found

    def step(self, first: int, last: int, number: int) -> None:
        """Move to the content at the positions from `first` up to, not including, `last`.

        Positions are numbers of elements in a window's leaf, times in a leaf of the stored graph.
        """
        waiting, inside, index = self._waiting, self._inside, self._only_index
        if waiting.first_time >= last and inside.first_time >= first and not self._early:
            return
        if waiting.first_time < first:  # came between two windows
            waiting.move(waiting.count_before(first), 0)
        if index is None or self._early:
            self._step_many(first, last, number)
            return
        came, left, found, gone, first_waiting, first_inside = self._step_few.run(
            self._arrays, index.arrays, waiting.arrays, waiting.first, waiting.end, inside.arrays, inside.first,
            inside.end, first, last, number, self._spare, self._outs,
        )  # fmt: skip
        if came < 0:
            self._step_many(first, last, number)
            return
        self._spare -= came
        index.rows += found - gone
        waiting.first += came
        waiting.first_time = first_waiting
        if self._expires:  # else nobody has to know when what came
            inside.first += left
            inside.end += came
            inside.first_time = first_inside
        self._number = number
        fresh, dead = self._outs
        self._fresh = fresh[:found] if found else _NO_ROWS
        self._dead = dead[:gone] if gone else _NO_ROWS

    def _step_many(self, first: int, last: int, number: int) -> None:
        """The same for any number of rows, of which some may be here already."""
        found, gone = self._turn(self._waiting.count_before(last), self._inside.count_before(first), number)
        found += self._early
        self._early = 0
        self._number = number
        fresh, dead = self._outs
        self._fresh, self._dead = fresh[:found], dead[:gone]

    def _turn(self, coming: int, leaving: int, number: int) -> tuple[int, int]:
        """Let so many rows in and so many out. Gives how many are new, which stand behind the early ones, and dead."""
        waiting, inside = self._waiting, self._inside
        if coming > self._spare or leaving > len(self._outs[1]):
            self._make_room(coming, leaving)
        self._spare -= coming
        if inside.end + coming > inside.room:
            inside.make_room(coming)
        queues = (waiting.arrays, waiting.first, coming, inside.arrays, inside.first, inside.end, leaving)
        fresh, dead = self._outs
        fresh = fresh[self._early :]
        found: int
        gone: int
        if (index := self._only_index) is not None:
            found, gone = leaf_turn_linked(self._arrays, index.arrays, *queues, number, fresh, dead)
            index.rows += found - gone
        else:
            found, gone = leaf_turn(self._arrays, *queues, number, fresh, dead)
            for index in self._indexes.values():
                index.link(fresh[:found], self.values)
                index.unlink(dead[:gone])
        waiting.move(coming, 0)
        if self._expires:
            inside.move(leaving, coming)
        elif coming:  # nothing leaves, so nobody has to know when what came
            self._inside = Arrivals(np.int32)
        return found, gone

    def _make_room(self, coming: int, leaving: int) -> None:
        """See that so many rows fit, and some to come, so that steps of a few rows seldom have to look for room."""
        self._spare = coming + _SPARE_ROWS
        self._rows.make_room(self._spare)
        arrays = self._rows.arrays
        if arrays.table is not self._arrays[0]:  # it is another one whenever any of them is
            if len(self.born) < self.row_capacity:
                born = np.zeros(self.row_capacity, np.int64)
                born[: len(self.born)] = self.born
                self.born = born
            self._arrays, self.values = (*arrays, self.born), arrays.keys
        for index in self._indexes.values():
            index.make_room(self._spare, len(self.born))
        fresh, dead = self._outs
        if len(fresh) < self._early + self._spare:
            fresh = np.empty(2 * (self._early + self._spare), np.int32)
            fresh[: self._early] = self._outs[0][: self._early]
        if len(dead) < leaving:
            dead = np.empty(max(FEW_ROWS, 2 * leaving), np.int32)
        self._outs = (fresh, dead)

    def index_on(self, columns: tuple[int, ...]) -> RingIndex:
        """The ring index on these columns, made the first time it is asked for."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = RingIndex(columns)
            self._only_index = index if len(self._indexes) == 1 else None
            index.link(self.live_rows(), self.values)
            self._spare = 0  # of which it knows nothing yet
        return index


def _taken_from(places: list[int]) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """What gives the numbers at some places of a tuple, sooner than a loop does."""
    if len(places) == 1:
        return itemgetter(slice(places[0], places[0] + 1))
    return itemgetter(*places) if places else itemgetter(slice(0))
