"""The rows of an answer in the order in which they came, for reports of all that hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from freshet.kernels.direct_call import DirectCall
from freshet.kernels.row_log import AT, HEAD, LATE, PASSED, living_rows, rows_go
from freshet.native.buffers.one_way_index import Ids
from freshet.native.buffers.ring_index import RingIndex
from freshet.native.change import OPEN, Change
from freshet.native.r2s.bags import as_rows
from freshet.oneshot.table import Table

_FIRST_CAPACITY = 64
_MOST_SPARE = 1 << 16  # rows: what is read of a log as Arrow is read anew where rows move
_SPARE = 64  # rows that may be late before more room is made
_ROW_BYTES = 8  # a death
_NO_MOMENTS = np.empty(0, np.int64)
_GO, _LIVING = DirectCall(rows_go), DirectCall(living_rows)


class LogRows(NamedTuple):
    """Rows of a log from a place on, up to another. What is there does not change any more."""

    columns: Ids  # a row for each variable, as long as there is room
    first: int
    end: int

    @property
    def rows(self) -> Ids:
        """A row for each row, as a view."""
        return self.columns[:, self.first : self.end].T


class RowLog:
    """A bag of rows with their lives, in order of their births. Mostly the oldest goes; any other costs more.

    Rows are written once and stay where they are, so that reports share them without a copy: where there is no
    more room, those that hold move to other arrays.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._use(_FIRST_CAPACITY)
        self._first = self._end = 0  # what is before and after is of no more use, or not there yet
        self._head = 0  # from here on all rows hold; those before that do are late
        self._late = 0
        self._index = RingIndex(tuple(range(len(names))))  # of the late rows
        self._place = np.zeros(4, np.int64)
        self._single_place = self._place.data  # single numbers are read and written through it in half the time
        self._came_at = self._went_at = _NO_MOMENTS  # of the present batch
        self._is_in_order = True  # whether the oldest went in it

    def _use(self, capacity: int) -> None:
        self._columns = np.zeros((len(self._names), capacity), np.int64)
        self._died = np.zeros(capacity, np.int64)

    @property
    def held_bytes(self) -> int:
        """What the rows take that are here."""
        rows = self._end - self._head + self._late
        return rows * (_ROW_BYTES + 8 * len(self._names)) + (self._index.held_bytes if self._late else 0)

    def step(self, change: Change) -> None:
        """Take a batch in."""
        if not self._late:
            self._first = self._head
        self._came_at, self._went_at = change.came_at, change.went_at
        if len(change.came_at):
            self._add(change.came, len(change.came_at))
        self._is_in_order = True
        if len(change.went_at):
            self._remove_rows(as_rows(change.went, self._names), np.ascontiguousarray(change.went_at))

    @property
    def is_empty(self) -> bool:
        """Whether no row holds."""
        return self._head == self._end and not self._late

    def step_in_order(self, came: Table, came_at: Ids, went_at: Ids) -> None:
        """The same where those go that came first of all that are here; none is late."""
        self._first = self._head
        self._came_at, self._went_at = came_at, went_at
        if len(came_at):
            self._add(came, len(came_at))
        self._is_in_order = True
        if len(went_at):
            head = self._head + len(went_at)
            self._died[self._head : head] = went_at
            self._head = head

    def _add(self, came: Table, count: int) -> None:
        if self._end + count > len(self._died):
            self._make_room(count)
        back = slice(self._end, self._end + count)
        for at, name in enumerate(self._names):
            self._columns[at, back] = came.column(name)
        self._died[back] = OPEN
        self._end = back.stop

    def _make_room(self, more: int) -> None:
        """Move those that hold to arrays with twice the room that they and `more` rows take; none is late there."""
        columns = self._columns[:, self._head : self._end]
        if self._late:
            columns = self._columns[:, self._first + np.flatnonzero(self._died[self._first : self._end] == OPEN)]
        kept = columns.shape[1]
        needed = kept + more
        self._use(max(_FIRST_CAPACITY, 2 * needed, min(4 * needed, _MOST_SPARE)))
        self._columns[:, :kept], self._died[:kept] = columns, OPEN
        self._first, self._head, self._end = 0, 0, kept
        if self._late:
            self._late, self._index = 0, RingIndex(tuple(range(len(self._names))))

    def _remove_rows(self, went: Ids, went_at: Ids) -> None:
        place = self._single_place
        place[AT], place[HEAD], place[LATE], place[PASSED] = 0, self._head, self._late, 0
        while True:
            _GO.run(self._index.arrays[:8], self._columns, self._died, self._end, went, went_at, self._place)
            if place[AT] == len(went):
                break
            if place[HEAD] == self._end:
                raise ValueError("a row goes that never came")
            self._index.make_room(max(_SPARE, place[LATE]), len(self._died))
        self._is_in_order = self._late == 0 and place[PASSED] == 0
        self._head, self._late = place[HEAD], place[LATE]
        self._index.rows = self._late

    def held(self) -> Ids:
        """The rows that hold after the present batch."""
        held = self._first + np.flatnonzero(self._died[self._first : self._end] == OPEN)
        rows: Ids = self._columns[:, held].T
        return rows

    def all_at(self, moment: int) -> LogRows | None:
        """The rows that live at a moment of the batch, where they are all that there are, one behind the other."""
        for moments in (self._came_at, self._went_at):
            if len(moments) and moments[-1] > moment:
                return None
        return None if self._late else LogRows(self._columns, self._head, self._end)

    def living_at(self, moments: Ids) -> tuple[Ids, Ids]:
        """The rows that live at moments of the present batch, in order: which moment, and the row."""
        if len(moments) == 1:
            return self._living_at_one(moments)
        ends = self._end - len(self._came_at) + self._came_at.searchsorted(moments, side="right")
        firsts = np.full(len(moments), self._first)
        if self._is_in_order:
            firsts += self._went_at.searchsorted(moments, side="right")
        columns, offsets = _LIVING.run(self._columns, self._died, firsts, ends, moments)
        return np.repeat(np.arange(len(moments)), np.diff(offsets)), columns.T

    def _living_at_one(self, moments: Ids) -> tuple[Ids, Ids]:
        """The same for one moment, as it mostly is where elements come one by one."""
        came_at, went_at, moment = self._came_at, self._went_at, moments.item()
        end = self._end
        if len(came_at) and came_at.item(-1) > moment:
            end -= len(came_at) - int(came_at.searchsorted(moment, side="right"))
        first = self._first
        if self._is_in_order:
            first += int(went_at.searchsorted(moment, side="right"))
        columns, _ = _LIVING.run(self._columns, self._died, np.array([first]), np.array([end]), moments)
        return np.zeros(columns.shape[1], np.int64), columns.T
