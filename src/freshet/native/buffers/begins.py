"""From when on queries that were registered later see the rows of a leaf buffer: a number each, not a copy.

Elements have numbers in the order of their lives. A query that was registered when the next element to come had number
b sees the elements from b on: a row of the leaf buffer from its first arrival with such a number on, and to its end,
since arrivals leave in order.

| arrivals of a row (number: moment) | it ends | seen from 0 on | from 5 on | from 9 on |
| ---------------------------------- | ------- | -------------- | --------- | --------- |
| 2: 10, 7: 30                       | 50      | 10 to 50       | 30 to 50  | never     |
"""

from __future__ import annotations

import numpy as np

from freshet.kernels.row_lifetimes import OPEN
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.one_way_index import Ids, Rows
from freshet.native.moments import FIRST_MOMENT

_NO_ROWS, _NO_NUMBERS = np.empty(0, np.int32), np.empty(0, np.int64)
_LOW = 32  # bits of a number within a batch
_MOST = 2**_LOW - 1


class RowBegins:
    """The last arrival of each row before the present batch, and all arrivals in it.

    It is kept while a query sees less than there is: until the last element before `newest` has left.
    """

    def __init__(self, row_capacity: int, newest: int) -> None:
        """All rows that there are came before `newest`, and are in sight for all who begin with lower numbers."""
        self.newest = newest
        self._last = np.full(row_capacity, newest - 1, np.int64)
        self._rows, self._numbers, self._births = _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS
        self._keys: Ids | None = None  # the arrivals in order of row and number, once they are needed
        self._ordered_births = _NO_NUMBERS
        self._first = 0  # the least number of them
        self._is_plain = True  # whether each is the first arrival of a row

    @property
    def nbytes(self) -> int:
        return int(self._last.nbytes)

    def step(self, row_capacity: int, fresh: Rows, rows: Rows, numbers: Ids, births: Ids) -> None:
        """Take a batch in: the rows whose lives begin, and the rows of its arrivals in order with their moments."""
        self._last[self._rows] = self._numbers
        if len(self._last) < row_capacity:
            self._last = longer(self._last, row_capacity, -1)
        self._last[fresh] = -1
        self._rows, self._numbers, self._births, self._keys = rows, numbers, births, None
        self._first = int(numbers[0]) if len(numbers) else 0
        self._is_plain = len(fresh) == len(rows)

    def are_seen_from(self, number: int) -> bool:
        """Whether who begins with a number sees what begins in this batch as all others do."""
        return self._is_plain and number <= self._first

    def seen_at(self, rows: Rows, begins: Ids | int) -> Ids:
        """The moments at which rows come into sight for who begins with a number: before all where it was before this
        batch, after all where it has not been yet.
        """
        before = self._last[rows] >= begins
        if not len(self._rows):
            return np.where(before, FIRST_MOMENT, OPEN)
        if self._keys is None:
            order = np.lexsort((self._numbers, self._rows))
            self._keys = self._rows[order].astype(np.int64) << _LOW | (self._numbers[order] - self._first)
            self._ordered_births = self._births[order]
        sought = rows.astype(np.int64) << _LOW | np.clip(begins - np.int64(self._first), 0, _MOST)
        places = self._keys.searchsorted(sought)
        known = np.minimum(places, len(self._keys) - 1)
        found = (places < len(self._keys)) & (self._keys[known] >> _LOW == rows)
        moments: Ids = np.where(before, FIRST_MOMENT, np.where(found, self._ordered_births[known], OPEN))
        return moments

    def coming_into_sight(self, number: int, died: Ids) -> tuple[Rows, Ids]:
        """The rows that come into sight in this batch for who begins with a number, in order, with the moments."""
        chosen = np.flatnonzero((self._numbers >= number) & (self._last[self._rows] < number))
        rows, first = np.unique(self._rows[chosen], return_index=True)
        return _in_order(rows, self._births[chosen[first]], died)

    def coming_into_any_sight(self, numbers: Ids, died: Ids) -> tuple[Rows, Ids]:
        """The same for who begins with any of some numbers, which are in order; a row may come several times."""
        order = np.lexsort((self._numbers, self._rows))
        rows, arrivals = self._rows[order], self._numbers[order]
        before = self._last[rows]
        again = np.flatnonzero(rows[1:] == rows[:-1]) + 1
        before[again] = arrivals[again - 1]
        seen = numbers.searchsorted(before, side="right") < numbers.searchsorted(arrivals, side="right")
        found = np.unique(np.column_stack((rows[seen], self._births[order][seen])), axis=0)
        return _in_order(found[:, 0].astype(np.int32), found[:, 1], died)


def _in_order(rows: Rows, births: Ids, died: Ids) -> tuple[Rows, Ids]:
    """Rows in order of births, without those that are gone by then."""
    kept = np.flatnonzero(births < died[rows])
    order = kept[np.argsort(births[kept], kind="stable")]
    return rows[order], births[order]
