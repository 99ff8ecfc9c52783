"""The stream index: where in the graph the absorbed rows of a stream's batches are (Wukong+S, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.window_rows import AT, FIELDS, FIRST, IN, LAST, MASK, OUT, enter_batch
from freshet.rdf.elements import Elements
from freshet.rdf.triples import Ids
from freshet.store.appended_view import OBJECT, SUBJECT, AppendedView
from freshet.store.slices import TimeSlice, time_slice

Number = TypeVar("Number", bound=np.generic)

_FIRST_SLOTS = 1 << 12
_FIRST_TIMES = 1 << 11


class Repeated(NamedTuple):
    """The triples of a batch that the graph had before, and how many rows there were after the batch."""

    slice: TimeSlice
    rows: int


class IndexedBatches(NamedTuple):
    """Batches with the arrays that their numbers point into; `freshet.kernels.window_rows` has the layout."""

    batches: Ids
    spans: Ids  # the least and the greatest time of each batch
    slots: NDArray[np.int32]
    times: Ids
    repeated: tuple[Repeated, ...]

    def chosen(self, which: NDArray[np.bool_], repeated: Iterable[Repeated]) -> IndexedBatches:
        """Some of the batches, and of what came again."""
        return self._replace(batches=self.batches[which], spans=self.spans[which], repeated=tuple(repeated))


class StreamIndex:
    """A stream's absorbed batches, oldest first. One thread adds and drops; readers have what was there before.

    A triple that the graph had before its batch came has no new row: it is kept with its time.
    """

    def __init__(self) -> None:
        # replaced as a whole: a reader never sees batches that point into the arrays of others
        self._indexed = IndexedBatches(
            np.empty((0, FIELDS), np.int64),
            np.empty((0, 2), np.int64),
            np.zeros(_FIRST_SLOTS, np.int32),
            np.zeros(_FIRST_TIMES, np.int64),
            (),
        )
        self._slots_used = 0
        self._times_used = 0

    def add(self, elements: Elements, rows: Ids, appended: AppendedView) -> None:
        """Index a batch, whose elements have got these rows."""
        fresh = rows >= 0
        repeated = self._indexed.repeated
        if not fresh.all():
            again = time_slice(Elements(*(column[~fresh] for column in elements)))
            repeated = (*repeated, Repeated(again, appended.rows))
        times = elements.times[fresh]
        if not times.size:
            self._indexed = self._indexed._replace(repeated=repeated)
            return
        first, last = appended.rows - times.size, appended.rows
        mask = (1 << (3 * times.size // 2).bit_length()) - 1
        indexed = self._with_room(2 * (mask + 1), times.size)
        out, into, at = self._slots_used, self._slots_used + mask + 1, self._times_used
        enter_batch(indexed.slots, out, mask, *appended.nodes(SUBJECT), first, last)
        enter_batch(indexed.slots, into, mask, *appended.nodes(OBJECT), first, last)
        indexed.times[at : at + times.size] = times
        self._slots_used += 2 * (mask + 1)
        self._times_used += times.size
        batch = np.empty((1, FIELDS), np.int64)
        batch[0, [FIRST, LAST, OUT, IN, MASK, AT]] = first, last, out, into, mask, at
        self._indexed = indexed._replace(
            batches=np.concatenate([indexed.batches, batch]),
            spans=np.concatenate([indexed.spans, np.array([[times.min(), times.max()]])]),
            repeated=repeated,
        )

    def free_before(self, time_ms: int) -> None:
        """Drop the batches that have nothing from a time on."""
        before = self._indexed
        repeated = (again for again in before.repeated if again.slice.last_ms >= time_ms)
        self._indexed = before.chosen(before.spans[:, 1] >= time_ms, repeated)

    def window(self, from_ms: int, to_ms: int, rows: int) -> IndexedBatches:
        """The batches that have something with from_ms <= time < to_ms, of those below a number of rows."""
        indexed = self._indexed
        least, greatest = indexed.spans.T
        inside = (greatest >= from_ms) & (least < to_ms) & (indexed.batches[:, LAST] <= rows)
        return indexed.chosen(inside, (again for again in indexed.repeated if again.rows <= rows))

    @property
    def nbytes(self) -> int:
        """Bytes of the batches that are there, and of triples that came again."""
        batches, spans, _, times, repeated = self._indexed
        slots = 2 * int((batches[:, MASK] + 1).sum())
        rows = int((batches[:, LAST] - batches[:, FIRST]).sum())
        again = sum(each.slice.nbytes for each in repeated)
        return 4 * slots + times.itemsize * rows + batches.nbytes + spans.nbytes + again

    def __len__(self) -> int:
        return len(self._indexed.batches)

    def _with_room(self, slots: int, times: int) -> IndexedBatches:
        """Where an array is full, a new one takes what is still there; readers of the old one go on."""
        before = self._indexed
        if self._slots_used + slots <= before.slots.size and self._times_used + times <= before.times.size:
            return before
        batches = before.batches.copy()
        tables = 2 * (batches[:, MASK] + 1)
        lengths = batches[:, LAST] - batches[:, FIRST]
        new_slots, starts = _packed(before.slots, batches[:, OUT], tables, slots)
        new_times, ats = _packed(before.times, batches[:, AT], lengths, times)
        batches[:, OUT], batches[:, IN], batches[:, AT] = starts, starts + tables // 2, ats
        self._slots_used, self._times_used = int(tables.sum()), int(lengths.sum())
        return IndexedBatches(batches, before.spans, new_slots, new_times, before.repeated)


def _packed(array: NDArray[Number], starts: Ids, lengths: Ids, more: int) -> tuple[NDArray[Number], Ids]:
    """Pieces of an array side by side in a new one with room for twice as much, and where they begin there."""
    begins = np.cumsum(lengths) - lengths
    packed = np.zeros(2 * (int(lengths.sum()) + more), array.dtype)
    for start, length, begin in zip(starts.tolist(), lengths.tolist(), begins.tolist(), strict=True):
        packed[begin : begin + length] = array[start : start + length]
    return packed, begins
