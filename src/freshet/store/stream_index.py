"""The stream index: where in the graph the absorbed rows of a stream's batches are (Wukong+S, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.window_rows import (
    AT,
    FIELDS,
    FIRST,
    GREATEST,
    LAST,
    LEAST,
    MOST_ROWS,
    RUNS,
    SIZE,
    TABLES,
    enter_batch,
    runs_of,
)
from freshet.rdf.elements import Elements
from freshet.rdf.triples import Ids
from freshet.store.appended_view import OBJECT, SUBJECT, AppendedView
from freshet.store.repeated import Repeated, find_repeated

Number = TypeVar("Number", bound=np.generic)

_FIRST_SLOTS = 1 << 12
_SLOTS_A_ROW = 2  # of each table: most keys that are asked for are absent, which few steps should show
_FIRST_RUNS = 1 << 8
NO_ROW = (1 << 63) - 1
MOST_MILLISECONDS = (1 << 47) - 1  # between two times of a batch: beside them a run has sixteen bits for its row


class IndexedBatches(NamedTuple):
    """Batches with the arrays that their numbers point into; `freshet.kernels.window_rows` has the layout."""

    batches: Ids
    slots: NDArray[np.uint16]
    runs: Ids
    repeated: tuple[Repeated, ...]

    def select(self, which: NDArray[np.bool_], repeated: Iterable[Repeated]) -> IndexedBatches:
        """Some of the batches, and of repeated triples."""
        return self._replace(batches=self.batches[which], repeated=tuple(repeated))


def batches_within(indexed: IndexedBatches, from_ms: int, to_ms: int, rows: int) -> IndexedBatches:
    """The batches that have something with from_ms <= time < to_ms, of those below a number of rows."""
    batches = indexed.batches
    inside = (batches[:, GREATEST] >= from_ms) & (batches[:, LEAST] < to_ms) & (batches[:, LAST] <= rows)
    return indexed.select(inside, (again for again in indexed.repeated if again.rows <= rows))


class StreamIndex:
    """A stream's absorbed batches, oldest first. One thread adds and drops; readers have what was there before.

    A triple that the graph had before its batch came has no new row: the row that it has is kept with its time.
    """

    def __init__(self) -> None:
        # replaced as a whole: a reader never sees batches that point into the arrays of others
        self.indexed = IndexedBatches(
            np.empty((0, FIELDS), np.int64),
            np.zeros(_FIRST_SLOTS, np.uint16),
            np.zeros(_FIRST_RUNS, np.int64),
            (),
        )
        self._slots_used = 0
        self._runs_used = 0

    def add(self, elements: Elements, rows: Ids, appended: AppendedView) -> None:
        """Index a batch, whose elements have got these rows."""
        fresh = rows >= 0
        repeated = self.indexed.repeated
        times = np.ascontiguousarray(elements.times[fresh])
        first = appended.rows - times.size
        if not fresh.all():
            again = find_repeated(Elements(*(column[~fresh] for column in elements)), first, times, appended)
            repeated = (*repeated, again) if again else repeated
        for start in range(0, times.size, MOST_ROWS):
            self._enter(times[start : start + MOST_ROWS], first + start, appended)
        self.indexed = self.indexed._replace(repeated=repeated)

    def _enter(self, times: Ids, first: int, appended: AppendedView) -> None:
        """Index rows that are not too many for one batch; their times may be too far apart for one."""
        least, greatest = int(times.min()), int(times.max())
        if greatest - least > MOST_MILLISECONDS:
            half = times.size // 2
            self._enter(times[:half], first, appended)
            self._enter(times[half:], first + half, appended)
            return
        last, size = first + times.size, _SLOTS_A_ROW * times.size + 1
        runs = runs_of(times, least)
        indexed = self._with_room(2 * size, runs.size)
        tables, at = self._slots_used, self._runs_used
        enter_batch(indexed.slots, tables, size, *appended.nodes(SUBJECT), first, last)
        enter_batch(indexed.slots, tables + size, size, *appended.nodes(OBJECT), first, last)
        indexed.runs[at : at + runs.size] = runs
        self._slots_used += 2 * size
        self._runs_used += runs.size
        batch = np.empty((1, FIELDS), np.int64)
        fields = [FIRST, LAST, TABLES, SIZE, AT, RUNS, LEAST, GREATEST]
        batch[0, fields] = first, last, tables, size, at, runs.size, least, greatest
        self.indexed = indexed._replace(batches=np.concatenate([indexed.batches, batch]))

    def free_before(self, time_ms: int) -> None:
        """Drop the batches that have nothing from a time on."""
        before = self.indexed
        repeated = (again for again in before.repeated if again.last_ms >= time_ms)
        self.indexed = before.select(before.batches[:, GREATEST] >= time_ms, repeated)

    @property
    def first_row(self) -> int:
        """The first row that a batch has; one after all rows where there are no batches."""
        firsts = self.indexed.batches[:, FIRST]
        return int(firsts.min()) if firsts.size else NO_ROW

    def compact(self, rows: int, appended: AppendedView) -> None:
        """The first rows, which no batch has, are part of the base from now on, and the others numbered anew."""
        before = self.indexed
        batches = before.batches.copy()
        batches[:, [FIRST, LAST]] -= rows
        repeated = tuple(each.compacted(rows, appended) for each in before.repeated)
        self.indexed = before._replace(batches=batches, repeated=repeated)

    @property
    def nbytes(self) -> int:
        """Bytes of the batches that are there, and of repeated triples."""
        batches, slots, runs, repeated = self.indexed
        used = 2 * int(batches[:, SIZE].sum()) * slots.itemsize + int(batches[:, RUNS].sum()) * runs.itemsize
        return used + batches.nbytes + sum(each.nbytes for each in repeated)

    @property
    def rows(self) -> int:
        """How many rows are indexed."""
        batches = self.indexed.batches
        return int((batches[:, LAST] - batches[:, FIRST]).sum())

    def __len__(self) -> int:
        return len(self.indexed.batches)

    def _with_room(self, slots: int, runs: int) -> IndexedBatches:
        """Where an array is full, a new one takes what is still there; readers of the old one go on."""
        before = self.indexed
        if self._slots_used + slots <= before.slots.size and self._runs_used + runs <= before.runs.size:
            return before
        batches = before.batches.copy()
        tables, lengths = 2 * batches[:, SIZE], batches[:, RUNS]
        new_slots, batches[:, TABLES] = _pack(before.slots, batches[:, TABLES], tables, slots)
        new_runs, batches[:, AT] = _pack(before.runs, batches[:, AT], lengths, runs)
        self._slots_used, self._runs_used = int(tables.sum()), int(lengths.sum())
        return IndexedBatches(batches, new_slots, new_runs, before.repeated)


def _pack(array: NDArray[Number], starts: Ids, lengths: Ids, more: int) -> tuple[NDArray[Number], Ids]:
    """Pieces of an array side by side in a new one with room for twice as much, and where they begin there."""
    begins = np.cumsum(lengths) - lengths
    packed = np.zeros(2 * (int(lengths.sum()) + more), array.dtype)
    for start, length, begin in zip(starts.tolist(), lengths.tolist(), begins.tolist(), strict=True):
        packed[begin : begin + length] = array[start : start + length]
    return packed, begins
