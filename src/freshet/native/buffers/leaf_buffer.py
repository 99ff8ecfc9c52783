"""Leaf buffers: the rows that one triple pattern matches in one window, or in the stored graph, with their lives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from freshet.kernels import records
from freshet.kernels.direct_call import DirectCall
from freshet.kernels.leaf_steps import receive, step_leaves
from freshet.kernels.row_lifetimes import DELETES, OPEN, POSITION_BITS
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.arrivals import Arrivals
from freshet.native.buffers.begins import RowBegins
from freshet.native.buffers.constant_filter import ConstantFilter
from freshet.native.buffers.one_way_index import Ids, OneWayIndex, Rows
from freshet.native.buffers.ordered_index import OrderedIndex
from freshet.native.buffers.record import Record
from freshet.native.buffers.ring_index import Lives, RingIndex
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements

_SPARE_ROWS, _MOST_SPARE_ROWS = 32, 1 << 12
_TOO_LARGE = 16  # times the room that is wanted
_LIFE_BYTES = 20  # a birth, a death and an heir
_DELETION_BYTES = 16  # what is kept beside a row where rows can be deleted
_BEFORE_ALL_MOMENTS = 2 * BEFORE_ALL_TIME

_NO_ROWS = np.empty(0, np.int32)
_STEP, _RECEIVE = DirectCall(step_leaves), DirectCall(receive)


@dataclass(frozen=True, slots=True)
class LeafPattern:
    """A triple pattern without names: ids where it has constants, and for each variable the places it stands at.

    `constants` has 0 where there is a variable. Patterns that differ only in the names of variables are equal, and
    share one leaf buffer. At some places only chosen terms match: the constants of queries that share the pattern.
    """

    constants: tuple[int, int, int]
    columns: tuple[tuple[int, ...], ...]
    filters: tuple[tuple[int, ConstantFilter], ...] = ()

    def among_chosen(self, elements: Elements) -> Elements:
        """The elements that have chosen terms where only these match."""
        for place, constant_filter in self.filters:
            chosen = constant_filter.among(np.abs(elements.predicates) if place == 1 else elements[1 + place])
            elements = Elements(*(column[chosen] for column in elements))
        return elements


class Moves(NamedTuple):
    """How a window moves in a batch: elements with numbers before `entered` come in, those before `left` go out.

    `births` are the moments of those that come, from the number `entered_before` on; `deaths` likewise.
    """

    entered: int
    entered_before: int
    births: Ids
    left: int
    left_before: int
    deaths: Ids


class LeafBuffer:
    """Distinct rows of a pattern in a window (a set: a row that comes again stays until its last arrival leaves).

    An element that deletes its triple ends the life of its row.

    `LeafSet.step` takes a batch in. `fresh` and `dead` then give the rows whose lives began and ended in it, in order;
    `born` and `died` have the moments. Rows that died can be read, and found by indexes, until the next step.
    """

    def __init__(self, pattern: LeafPattern, *, expires: bool = True) -> None:
        self.pattern = pattern
        self._rows = OneWayIndex(len(pattern.columns))
        self.born = np.zeros(self.row_capacity, np.int64)
        self.died = np.full(self.row_capacity, _BEFORE_ALL_MOMENTS, np.int64)
        self._heirs = np.full(self.row_capacity, -1, np.int32)
        self._deleted: Ids | None = None  # from the first deletion on
        self.values: Ids = self._rows.keys  # one row a leaf row, one column a variable
        self._outs = (_NO_ROWS, _NO_ROWS, _NO_ROWS)  # room for rows that are fresh, dead and replaced
        self._waiting = Arrivals(np.int64, (len(pattern.columns),))
        self._inside = Arrivals(np.int32)
        self._indexes: dict[tuple[int, ...], RingIndex] = {}
        self._ordered: dict[int, OrderedIndex] = {}
        self._rings = np.empty(0, np.int64)  # the records of the ring indexes
        self.begins: RowBegins | None = None  # where queries read it that do not see all of its elements
        self.is_followed = False  # whether `follow_step` has to know of steps
        self.record = Record(records.LEAF_FIELDS)
        self._describe(expires)
        self._point()
        # The pattern as a single triple is matched: places that must have a value, places that must agree, and which
        # places are the columns.
        self._fixed = [(place, constant) for place, constant in enumerate(pattern.constants) if constant]
        self._equal = [(places[0], place) for places in pattern.columns for place in places[1:]]
        self._values_of = _taken_from([places[0] for places in pattern.columns])

    def _describe(self, expires: bool) -> None:
        """Write down what never changes."""
        fields, pattern = self.record.fields, self.pattern
        fields[records.EXPIRES] = expires
        fields[records.WAITING], fields[records.INSIDE] = self._waiting.record.address, self._inside.record.address
        for place, constant in enumerate(pattern.constants):
            fields[records.CONSTANTS + place] = constant
        for column, places in enumerate(pattern.columns):
            fields[records.PLACES + column] = places[0]
            for place in places[1:]:
                fields[records.EQUAL] |= 1 << (places[0] + place - 1)

    @property
    def number(self) -> int:
        """The number of the last batch in which anything changed."""
        return self.record.fields[records.NUMBER]

    @property
    def row_capacity(self) -> int:
        return self._rows.capacity

    @property
    def live(self) -> int:
        """How many rows can be found: those that live, and those that have died in the present batch."""
        return self._rows.live + self.record.fields[records.DEAD_COUNT]

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to enter, and nothing that is inside will leave."""
        inside, waiting = self._inside.record.fields, self._waiting.record.fields
        if inside[records.END] != inside[records.FIRST]:
            return False
        return bool(waiting[records.END] == waiting[records.FIRST])

    @property
    def row_bytes(self) -> int:
        """What an arrival takes at most while it is inside, if it is the only one with its row."""
        rings = sum(index.row_bytes for index in self._all_indexes())
        rings += 0 if self._deleted is None else _DELETION_BYTES
        return _LIFE_BYTES + self._rows.entry_bytes + self._inside.row_bytes + rings

    @property
    def held_bytes(self) -> int:
        """What the rows take that are inside or wait to enter."""
        rows = self._rows.held_bytes + _LIFE_BYTES * self._rows.live
        queues = sum(len(queue) * queue.row_bytes for queue in (self._waiting, self._inside))
        begins = 0 if self.begins is None else self.begins.nbytes
        begins += 0 if self._deleted is None else self._deleted.nbytes
        return rows + queues + begins + sum(index.held_bytes for index in self._all_indexes())

    def begin_at(self, number: int) -> None:
        """A query reads it that sees the elements from a number on, which are yet to come."""
        self.is_followed = True
        if self.begins is None:
            self.begins = RowBegins(self.row_capacity, number)
        else:
            self.begins.newest = max(self.begins.newest, number)

    def fresh(self, number: int) -> Rows:
        """The rows whose lives began in a batch, in order."""
        fields = self.record.fields
        return self._outs[0][: fields[records.FRESH_COUNT]] if fields[records.NUMBER] == number else _NO_ROWS

    def dead(self, number: int) -> Rows:
        """The rows whose lives ended in a batch, in order."""
        return self._dead if self.number == number else _NO_ROWS

    @property
    def _dead(self) -> Rows:
        """The rows that have died, and can still be found."""
        return self._outs[1][: self.record.fields[records.DEAD_COUNT]]

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
        before = len(self._waiting)
        receive_all([self], np.array([self.record.address]), self.pattern.among_chosen(elements))
        return len(self._waiting) > before

    def receive_one(self, position: int, triple: tuple[int, int, int]) -> bool:
        """One element, not before those that have come. Says whether it matches."""
        position <<= POSITION_BITS
        if triple[1] < 0:
            if self._deleted is None:
                self._note_deletions()
            position |= DELETES
            triple = triple[0], -triple[1], triple[2]
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

    def step(self, number: int, first_moment: int, moves: Moves) -> None:
        """Take a batch in."""
        LeafSet([self]).step(number, first_moment, moves)

    def make_waiting_room(self) -> None:
        """See that what matches can wait, and delete."""
        if self.record.fields[records.LEAVING] and self._deleted is None:
            self._note_deletions()
        self._waiting.make_room(self.record.fields[records.COMING])

    def _note_deletions(self) -> None:
        """There are deletions from now on."""
        self._deleted = _no_deletions(self.row_capacity)
        self._point()

    def make_room(self) -> None:
        """See that what comes fits, and some rows more, so that steps of a few rows seldom have to look for room."""
        fields = self.record.fields
        if fields[records.ORDERED]:
            fields[records.ORDERED] = 0
            for ordered in self._ordered.values():
                ordered.unlink(self._dead)
            return  # the dead are in use until the kernel is done with the batch before
        coming, leaving = fields[records.COMING], fields[records.LEAVING]
        self._inside.make_room(coming)
        rows = self._rows.arrays
        self._rows.make_room(coming + _SPARE_ROWS)
        capacity = self.row_capacity
        is_pointed = self._rows.arrays is rows and len(self.born) == capacity
        if len(self.born) < capacity:
            self.born = longer(self.born, capacity)
            self.died = longer(self.died, capacity, _BEFORE_ALL_MOMENTS)
            self._heirs = longer(self._heirs, capacity, -1)
            if self._deleted is not None:
                known, self._deleted = self._deleted, _no_deletions(capacity)
                self._deleted[: len(known)] = known
        fresh, dead, replaced = self._outs
        wanted = coming + min(coming, _MOST_SPARE_ROWS) // 2 + _SPARE_ROWS
        is_too_large = len(fresh) > _TOO_LARGE * wanted  # as after the batch that fills a window
        if is_too_large or len(fresh) < coming:
            fresh, replaced = np.empty(wanted, np.int32), np.empty(wanted, np.int32)
            is_pointed = False
        if is_too_large or len(dead) < leaving + coming:
            dead = np.empty(len(fresh) + leaving + min(leaving, _MOST_SPARE_ROWS) // 2, np.int32)
            is_pointed = False
        self._outs, self.values = (fresh, dead, replaced), self._rows.keys
        for index in self._indexes.values():
            index.make_room(coming, capacity)
        if not is_pointed:
            self._point()

    def _point(self) -> None:
        """Write down where the arrays are."""
        record, fields, (fresh, dead, replaced) = self.record, self.record.fields, self._outs
        table, _, counts, free, sizes = self._rows.arrays
        fields[records.ROOM], fields[records.COLUMNS] = self.values.shape
        fields[records.ROW_TABLE_SIZE] = len(table)
        fields[records.FRESH_ROOM], fields[records.DEAD_ROOM] = len(fresh), len(dead)
        for field, array in (
            (records.VALUES, self.values),
            (records.BORN, self.born),
            (records.DIED, self.died),
            (records.FRESH, fresh),
            (records.DEAD, dead),
            (records.REPLACED, replaced),
            (records.ROW_TABLE, table),
            (records.ROW_COUNTS, counts),
            (records.UNUSED_ROWS, free),
            (records.ROW_SIZES, sizes),
            (records.HEIRS, self._heirs),
        ):
            record.point(field, array)
        if self._deleted is not None:
            record.point(records.DELETED, self._deleted)

    def follow_step(self, moves: Moves) -> None:
        """Let those know of a step that kernels do not: ordered indexes, and queries that came later than some rows."""
        fields = self.record.fields
        if self._ordered:
            fresh = self.fresh(self.number)
            for ordered in self._ordered.values():
                if len(fresh):
                    ordered.link(fresh, self.values)
            fields[records.ORDERED] = len(self._dead) > 0
        if self.begins is not None:
            if moves.left_before >= self.begins.newest:  # who came last sees all that is here
                self.begins = None
                self.is_followed = len(self._ordered) > 0
            else:
                numbers, rows = self._inside.last_added(fields[records.COMING])
                births = moves.births[numbers - moves.entered_before]
                self.begins.step(self.row_capacity, self.fresh(self.number), rows, numbers, births)

    def index_on(self, columns: tuple[int, ...]) -> RingIndex:
        """The ring index on these columns, made the first time it is asked for."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = RingIndex(columns)
            index.link(np.concatenate((self.live_rows(), self._dead)), self.values)
            self._rings = np.array([each.record.address for each in self._indexes.values()], np.int64)
            self.record.fields[records.RING_COUNT] = len(self._rings)
            self.record.point(records.RINGS, self._rings)
        return index

    def ordered_on(self, column: int, dictionary: Dictionary) -> OrderedIndex:
        """The ordered index on a column, made the first time it is asked for."""
        index = self._ordered.get(column)
        if index is None:
            index = self._ordered[column] = OrderedIndex(column, dictionary)
            self.is_followed = True
            index.link(np.concatenate((self.live_rows(), self._dead)), self.values)
            self.record.fields[records.ORDERED] = len(self._dead) > 0
        return index

    def _all_indexes(self) -> list[RingIndex | OrderedIndex]:
        return [*self._indexes.values(), *self._ordered.values()]  # as they are now: its thread may add one


class LeafSet:
    """Leaf buffers that take batches in together, in one call of a kernel."""

    def __init__(self, leaves: Iterable[LeafBuffer]) -> None:
        self._leaves = tuple(leaves)
        self._addresses = np.array([leaf.record.address for leaf in self._leaves], np.int64)
        self._changed = np.zeros(len(self._leaves) + 1, np.int64)
        self._single_changed = self._changed.data  # single numbers are read and written through it in half the time

    def step(self, number: int, first_moment: int, moves: Moves) -> list[LeafBuffer]:
        """Take a batch in; gives those in which anything changes."""
        leaves, changed, at = self._leaves, self._single_changed, 0
        changed[0] = 0
        while (at := _STEP.run(self._addresses, at, number, first_moment, *moves, self._changed)) < len(leaves):
            leaves[at].make_room()
        if changed[0] == 1:  # as it mostly is where elements come one by one
            found = [leaves[changed[1]]]
        else:
            found = [leaves[place] for place in self._changed[1 : changed[0] + 1].tolist()]
        for leaf in found:
            if leaf.is_followed:
                leaf.follow_step(moves)
        return found


def receive_all(leaves: Sequence[LeafBuffer], addresses: Ids, elements: Elements) -> list[LeafBuffer]:
    """Let leaf buffers have those of some elements, in order, that match; gives those that had nothing before."""
    filled, at = np.zeros(len(leaves) + 1, np.int64), 0
    while (at := _RECEIVE.run(addresses, at, *elements, filled)) < len(leaves):
        leaves[at].make_waiting_room()
    return [leaves[at] for at in filled[1 : filled.item(0) + 1].tolist()]


def _no_deletions(rows: int) -> Ids:
    """The two numbers that each row has where rows can be deleted: the place of a deletion, and a moment."""
    deleted = np.full(2 * rows, OPEN)
    deleted[::2] = -1
    return deleted


def _taken_from(places: list[int]) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """What gives the numbers at some places of a tuple, sooner than a loop does."""
    if len(places) == 1:
        return itemgetter(slice(places[0], places[0] + 1))
    return itemgetter(*places) if places else itemgetter(slice(0))
