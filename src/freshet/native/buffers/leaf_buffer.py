"""Leaf buffers: the rows that one triple pattern matches in one window, or in the stored graph, with their lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from freshet.kernels.row_lifetimes import leaf_step, release_replaced
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.arrivals import Arrivals
from freshet.native.buffers.begins import RowBegins
from freshet.native.buffers.constant_filter import ConstantFilter
from freshet.native.buffers.one_way_index import Ids, Mask, OneWayIndex, Rows
from freshet.native.buffers.ordered_index import OrderedIndex
from freshet.native.buffers.ring_index import Lives, RingIndex
from freshet.native.direct_call import DirectCall
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements

_SPARE_ROWS = 32
_LIFE_BYTES = 20  # a birth, a death and an heir
_BEFORE_ALL_MOMENTS = 2 * BEFORE_ALL_TIME

_NO_ROWS = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class LeafPattern:
    """A triple pattern without names: ids where it has constants, and for each variable the places it stands at.

    `constants` has 0 where there is a variable. Patterns that differ only in the names of variables are equal, and
    share one leaf buffer. At some places only chosen terms match: the constants of queries that share the pattern.
    """

    constants: tuple[int, int, int]
    columns: tuple[tuple[int, ...], ...]
    filters: tuple[tuple[int, ConstantFilter], ...] = ()

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
        for place, constant_filter in self.filters:
            hit = constant_filter.among(triple[place])
            mask = hit if mask is None else mask & hit
        chosen: Mask | slice = slice(None) if mask is None else mask
        count = len(elements.times) if mask is None else int(np.count_nonzero(mask))
        values = np.empty((count, len(self.columns)), np.int64)
        for at, places in enumerate(self.columns):
            values[:, at] = triple[places[0]][chosen]
        return chosen, values


class LeafBuffer:
    """Distinct rows of a pattern in a window (a set: a row that comes again stays until its last arrival leaves).

    `step` takes a batch in. `fresh` and `dead` then give the rows whose lives began and ended in it, in order; `born`
    and `died` have the moments. Rows that died can be read, and found by indexes, until the next step.
    """

    def __init__(self, pattern: LeafPattern, *, expires: bool = True) -> None:
        self.pattern = pattern
        self.number = 0  # of the last batch in which anything changed
        self._expires = expires
        self._fresh = self._dead = _NO_ROWS
        self._rows = OneWayIndex(len(pattern.columns))
        self.born = np.zeros(self.row_capacity, np.int64)
        self.died = np.full(self.row_capacity, _BEFORE_ALL_MOMENTS, np.int64)
        self._heirs = np.full(self.row_capacity, -1, np.int32)
        self._arrays = (*self._rows.arrays, self.born, self.died, self._heirs)  # see `freshet.kernels.row_lifetimes`
        self.values: Ids = self._rows.keys  # one row a leaf row, one column a variable
        self._outs = (_NO_ROWS, _NO_ROWS, _NO_ROWS)  # room for rows that are fresh, dead and replaced
        self._replaced = 0
        self._waiting = Arrivals(np.int64, (len(pattern.columns),))
        self._inside = Arrivals(np.int32)
        self._indexes: dict[tuple[int, ...], RingIndex] = {}
        self._ordered: dict[int, OrderedIndex] = {}
        self.begins: RowBegins | None = None  # where queries read it that do not see all of its elements
        self._step = DirectCall(leaf_step)
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
        """How many rows can be found: those that live, and those that have died in the present batch."""
        return self._rows.live + len(self._dead)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to enter, and nothing that is inside will leave."""
        return not len(self._waiting) and not len(self._inside)

    @property
    def row_bytes(self) -> int:
        """What an arrival takes at most while it is inside, one whose row nobody else brought."""
        rings = sum(index.row_bytes for index in self._all_indexes())
        return _LIFE_BYTES + self._rows.entry_bytes + self._inside.row_bytes + rings

    @property
    def held_bytes(self) -> int:
        """What the rows take that are inside or wait to enter."""
        rows = self._rows.held_bytes + _LIFE_BYTES * self._rows.live
        queues = sum(len(queue) * queue.row_bytes for queue in (self._waiting, self._inside))
        begins = 0 if self.begins is None else self.begins.nbytes
        return rows + queues + begins + sum(index.held_bytes for index in self._all_indexes())

    def begin_at(self, number: int) -> None:
        """A query reads it that sees the elements from a number on, which are yet to come."""
        if self.begins is None:
            self.begins = RowBegins(self.row_capacity, number)
        else:
            self.begins.newest = max(self.begins.newest, number)

    def fresh(self, number: int) -> Rows:
        """The rows whose lives began in a batch, in order."""
        return self._fresh if self.number == number else _NO_ROWS

    def dead(self, number: int) -> Rows:
        """The rows whose lives ended in a batch, in order."""
        return self._dead if self.number == number else _NO_ROWS

    def lives(self, number: int) -> Lives:
        """The lives of all rows in a batch."""
        return Lives(self.born, self.died, self.number != number and not len(self._dead))

    def births(self, rows: Rows) -> Ids:
        return self.born[rows]

    def deaths(self, rows: Rows) -> Ids:
        return self.died[rows]

    def old_rows(self, first_moment: int) -> Rows:
        """The rows that lived before a batch that has begun at a moment, and may have died in it."""
        rows = self._rows.live_entries()
        if len(self._dead):
            rows = np.concatenate((rows, self._dead))
        return rows[(self.born[rows] < first_moment) & (self.died[rows] >= first_moment)]

    def live_rows(self) -> Rows:
        """The rows that live at the end of the present batch."""
        return self._rows.live_entries()

    def sizes(self) -> tuple[int, list[int]]:
        """How many rows are here or wait to enter, and how many different values each column has in them."""
        rows = np.concatenate((self.values[self.live_rows()], self._waiting.values))
        return len(rows), [len(np.unique(column)) for column in rows.T]

    def receive(self, elements: Elements) -> bool:
        """Elements in order; those that match wait until a step lets them in. Says whether there are any."""
        chosen, values = self.pattern.match(elements)
        if len(values):
            self._waiting.append(elements.times[chosen], values)
        return len(values) > 0

    def receive_one(self, position: int, triple: tuple[int, int, int]) -> bool:
        """One element, not before those that have come. Says whether it matches."""
        for place, constant in self._fixed:
            if triple[place] != constant:
                return False
        for place, constant_filter in self.pattern.filters:
            if triple[place] not in constant_filter:
                return False
        for place, other in self._equal:
            if triple[place] != triple[other]:
                return False
        self._waiting.append_one(position, self._values_of(triple))
        return True

    def step(
        self,
        number: int,
        first_moment: int,
        entered: int,
        entered_before: int,
        births: Ids,
        left: int,
        left_before: int,
        deaths: Ids,
    ) -> None:
        """Take a batch in: elements with numbers before `entered` come, those before `left` go.

        `births` are the moments of those that come, from the number `entered_before` on; `deaths` likewise.
        """
        waiting, inside = self._waiting, self._inside
        coming = waiting.count_before(entered) if waiting.first_time < entered else 0
        leaving = inside.count_before(left) if inside.first_time < left else 0
        if coming or leaving:
            self._take(number, first_moment, coming, births, entered_before, leaving, left, deaths, left_before)

    def _take(
        self,
        number: int,
        first_moment: int,
        coming: int,
        births: Ids,
        entered_before: int,
        leaving: int,
        left: int,
        deaths: Ids,
        left_before: int,
    ) -> None:
        """Let so many of those that wait in, and at least so many of those inside out."""
        waiting, inside = self._waiting, self._inside
        if len(self._dead) or self._replaced:
            self._finish()
        if self._rows.room < coming or len(self._outs[0]) < coming or len(self._outs[1]) < leaving + coming:
            self._make_room(coming, leaving)
        inside.make_room(coming)
        fresh, dead, replaced = self._outs
        found, gone, self._replaced, gone_arrivals = self._step.run(
            self._arrays, waiting.arrays, waiting.first, coming, births, entered_before, inside.arrays, inside.first,
            inside.end, left, deaths, left_before, first_moment, fresh, dead, replaced,
        )  # fmt: skip
        self.number = number
        self._fresh = fresh[:found].copy() if found else _NO_ROWS
        self._dead = dead[:gone].copy() if gone else _NO_ROWS
        if self.begins is not None:
            if left_before >= self.begins.newest:  # who came last sees all that is here
                self.begins = None
            else:
                places = slice(inside.end, inside.end + coming)
                numbers, rows = inside.arrays[0][places].copy(), inside.arrays[1][places].copy()
                self.begins.step(self.row_capacity, self._fresh, rows, numbers, births[numbers - entered_before])
        waiting.move(coming, 0)
        if self._expires:
            inside.move(gone_arrivals, coming)
        elif coming:  # nothing leaves, so nobody has to know when what came
            self._inside = Arrivals(np.int32)
        if found:
            for index in self._all_indexes():
                index.link(self._fresh, self.values)

    def _finish(self) -> None:
        """The batch before is done with: its dead leave the indexes, and rows that have an heir are free."""
        if len(self._dead):
            for index in self._all_indexes():
                index.unlink(self._dead)
        if self._replaced:
            release_replaced(self._arrays, self._outs[2], self._replaced)
        self._fresh = self._dead = _NO_ROWS
        self._replaced = 0

    def _make_room(self, coming: int, leaving: int) -> None:
        """See that so many rows fit, and some to come, so that steps of a few rows seldom have to look for room."""
        self._rows.make_room(coming + _SPARE_ROWS)
        arrays = self._rows.arrays
        if arrays.table is not self._arrays[0]:  # it is another one whenever any of them is
            capacity = self.row_capacity
            if len(self.born) < capacity:
                self.born = longer(self.born, capacity)
                self.died = longer(self.died, capacity, _BEFORE_ALL_MOMENTS)
                self._heirs = longer(self._heirs, capacity, -1)
            self._arrays, self.values = (*arrays, self.born, self.died, self._heirs), arrays.keys
        fresh, dead, replaced = self._outs
        if len(fresh) < coming:
            fresh, replaced = np.empty(2 * coming + _SPARE_ROWS, np.int32), np.empty(2 * coming + _SPARE_ROWS, np.int32)
        if len(dead) < leaving + coming:
            dead = np.empty(2 * (leaving + coming) + _SPARE_ROWS, np.int32)
        self._outs = (fresh, dead, replaced)

    def index_on(self, columns: tuple[int, ...]) -> RingIndex:
        """The ring index on these columns, made the first time it is asked for."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = RingIndex(columns)
            rows = self.live_rows()
            index.link(np.concatenate((rows, self._dead)) if len(self._dead) else rows, self.values)
        return index

    def ordered_on(self, column: int, dictionary: Dictionary) -> OrderedIndex:
        """The ordered index on a column, made the first time it is asked for."""
        index = self._ordered.get(column)
        if index is None:
            index = self._ordered[column] = OrderedIndex(column, dictionary)
            rows = self.live_rows()
            index.link(np.concatenate((rows, self._dead)) if len(self._dead) else rows, self.values)
        return index

    def _all_indexes(self) -> list[RingIndex | OrderedIndex]:
        return [*self._indexes.values(), *self._ordered.values()]  # as they are now: its thread may add one


def _taken_from(places: list[int]) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """What gives the numbers at some places of a tuple, sooner than a loop does."""
    if len(places) == 1:
        return itemgetter(slice(places[0], places[0] + 1))
    return itemgetter(*places) if places else itemgetter(slice(0))
