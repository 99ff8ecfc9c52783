"""The rows of a graph that have ended, for a graph from which something was deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.adjacency import SortedBase
from freshet.kernels.ended_rows import end_rows
from freshet.rdf.triples import ANY, Triples
from freshet.store.appended_view import AppendedView
from freshet.store.order_arrays import OrderArrays
from freshet.store.triple_index import OBJECT, SUBJECT, TripleIndex

Ends = NDArray[np.int32]  # for each row the number of the deletion that ended it, 0 where it is there
Mask = NDArray[np.bool_]

_FIRST_ROWS = 1 << 10
_NO_GROUPS = np.empty(0, np.int64)


class EndedView(NamedTuple):
    """What had ended by a deletion. Rows that ended later have greater numbers, or are in newer arrays."""

    by_subject: Ends  # of the base, in its order by subject
    by_object: Ends
    appended: Ends
    number: int  # of the last deletion
    log: Ends  # rows in the order in which they ended: place by subject, place by object, appended row, -1 for none
    total: int  # how many have ended
    predicates: Mapping[int, int]  # how many rows of each have ended, or some more

    def concerns(self, predicate: int) -> bool:
        """Whether rows of a predicate have ended, or of any."""
        return predicate == ANY or predicate in self.predicates

    def live_base(self) -> Mask:
        """Which rows of the base are there, in the order by subject."""
        return _are_there(self.by_subject, self.number)

    def live_appended(self, first: int, stop: int) -> Mask:
        """Which of some appended rows are there."""
        live = np.ones(stop - first, np.bool_)
        known = _are_there(self.appended[first:stop], self.number)
        live[: len(known)] = known
        return live

    def without_ended(self, index: TripleIndex) -> TripleIndex:
        """The base of what is there only."""
        return index.with_rows(self.live_base(), _are_there(self.by_object, self.number))


class EndedRows:
    """The ended rows of a base and of what is appended to it. One thread at a time ends rows; views are read freely."""

    def __init__(self, base: TripleIndex) -> None:
        self._base = base
        self._by_subject, self._by_object = (np.zeros(len(base), np.int32) for _ in range(2))
        self._appended = np.zeros(_FIRST_ROWS, np.int32)
        self._log = np.empty((_FIRST_ROWS, 3), np.int32)
        self._number = 0
        self._total = 0
        self._predicates: dict[int, int] = {}

    def end(self, triples: Triples, appended: AppendedView) -> Mask:
        """End the rows of triples; says which of them were there."""
        subjects, predicates, objects = map(np.ascontiguousarray, triples)
        self._make_room(appended.rows, len(subjects))
        arrays = appended.arrays
        ended = np.empty((len(subjects), 3), np.int32)
        count = end_rows(
            _sorted_base(self._base.order(SUBJECT).arrays),
            _sorted_base(self._base.order(OBJECT).arrays),
            self._base.order(SUBJECT).groups_of(predicates),
            self._by_subject,
            self._by_object,
            arrays.triples,
            arrays.out.nodes,
            arrays.into.nodes,
            appended.rows,
            appended.asked_groups(predicates)[0],
            self._appended,
            self._number + 1,
            subjects,
            objects,
            ended,
        )
        were_there: Mask = np.any(ended >= 0, axis=1)
        if count:
            self._number += 1
            self._log[self._total : self._total + count] = ended[were_there]
            self._total += count
            for predicate, rows in zip(*np.unique(predicates[were_there], return_counts=True), strict=True):
                self._predicates[int(predicate)] = self._predicates.get(int(predicate), 0) + int(rows)
        return were_there

    def take_over(self, view: EndedView, compacted: int, rows: int, appended: AppendedView) -> None:
        """End the appended rows that had ended; the first `compacted` of `rows` are part of the base now."""
        gone = np.flatnonzero(~view.live_appended(compacted, rows))
        if not gone.size:
            return
        self._make_room(rows - compacted, gone.size)
        self._number = 1
        self._appended[gone] = 1
        self._log[: gone.size, :2], self._log[: gone.size, 2] = -1, gone
        self._total = gone.size
        predicates, counts = np.unique(appended.at(gone).predicates, return_counts=True)
        self._predicates = dict(zip(predicates.tolist(), counts.tolist(), strict=True))

    @property
    def appended(self) -> Ends:
        """Of appended rows; those beyond it have not ended."""
        return self._appended

    @property
    def by_subject(self) -> Ends:
        return self._by_subject

    def view(self) -> EndedView | None:
        """What has ended by now, for readers; None for nothing."""
        if not self._total:
            return None
        return EndedView(
            self._by_subject,
            self._by_object,
            self._appended,
            self._number,
            self._log,
            self._total,
            self._predicates,
        )

    @property
    def nbytes(self) -> int:
        """Bytes at most: pages of the base in which nothing ends take no memory."""
        return self._by_subject.nbytes + self._by_object.nbytes + self._appended.nbytes + self._log.nbytes

    def _make_room(self, rows: int, more: int) -> None:
        if rows > len(self._appended):
            self._appended = _longer(self._appended, rows)
        if self._total + more > len(self._log):
            self._log = _longer(self._log, self._total + more)


def _are_there(ends: Ends, number: int) -> Mask:
    live: Mask = (ends == 0) | (ends > number)
    return live


def _longer(array: Ends, rows: int) -> Ends:
    """A copy with room for more rows; readers of the old one go on."""
    longer = np.zeros((1 << (rows - 1).bit_length(), *array.shape[1:]), np.int32)
    longer[: len(array)] = array
    return longer


def _sorted_base(order: OrderArrays) -> SortedBase:
    return SortedBase(order.slots, order.firsts, order.shifts, order.seconds, _NO_GROUPS)
