"""Stored rows that have come but do not hold yet: their births are later than all moments so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.triples import Ids

NEVER = 2**63 - 1  # later than every moment

_FEW = 1 << 10
_NO_ROWS = np.empty(0, np.int32)
_NO_BIRTHS = np.empty(0, np.int64)


class PendingRows:
    """Rows in order of birth. Those that came last are put in order with the others when they are as many."""

    def __init__(self) -> None:
        self._rows: NDArray[np.int32] = _NO_ROWS
        self._births: Ids = _NO_BIRTHS
        self._released = 0  # of the rows
        self._later: list[tuple[NDArray[np.int32], Ids]] = []
        self._later_count, self._later_first = 0, NEVER

    def __len__(self) -> int:
        return len(self._rows) - self._released + self._later_count

    @property
    def nbytes(self) -> int:
        return 12 * (len(self._rows) + self._later_count)

    @property
    def first_birth(self) -> int:
        """The earliest birth, or NEVER."""
        at = self._released
        return min(self._later_first, int(self._births[at]) if at < len(self._births) else NEVER)

    def least_row(self, known: int) -> int:
        """A number that no row is below: exact where there are few, else one that is known."""
        return int(self.rows().min()) if 0 < len(self) <= _FEW else known

    def rows(self) -> NDArray[np.int32]:
        """All of them."""
        return np.concatenate((self._rows[self._released :], *(rows for rows, _ in self._later)))

    def add(self, rows: Ids, births: Ids) -> None:
        """Rows in any order."""
        if not len(rows):
            return
        self._later.append((rows.astype(np.int32), births))
        self._later_count += len(rows)
        self._later_first = min(self._later_first, int(births.min()))
        if self._later_count > max(_FEW, len(self._rows) - self._released):
            later_births = (births for _, births in self._later)
            self.replace(self.rows(), np.concatenate((self._births[self._released :], *later_births)))

    def replace(self, rows: NDArray[np.int32], births: Ids) -> None:
        """Have these instead."""
        order = np.argsort(births, kind="stable")
        self._rows, self._births, self._released = rows[order], births[order], 0
        self._later, self._later_count, self._later_first = [], 0, NEVER

    def shift(self, count: int) -> None:
        """All rows have numbers that are less by a count."""
        self._rows = self._rows - np.int32(count)
        self._later = [(rows - np.int32(count), births) for rows, births in self._later]

    def release(self, last: int) -> tuple[NDArray[np.int32], Ids]:
        """Give away the rows that are born by a moment, with their births, in any order."""
        start = self._released
        stop = start + int(np.searchsorted(self._births[start:], last, side="right"))
        released = [(self._rows[start:stop], self._births[start:stop])]
        self._released = stop
        if 2 * stop > len(self._rows):
            self._rows, self._births, self._released = self._rows[stop:].copy(), self._births[stop:].copy(), 0
        if self._later_first <= last:
            rows, births = (np.concatenate(each) for each in zip(*self._later, strict=True))
            due = births <= last
            released.append((rows[due], births[due]))
            self._later, self._later_count, self._later_first = [], 0, NEVER
            self.add(rows[~due], births[~due])
        rows, births = (np.concatenate(each) for each in zip(*released, strict=True))
        return rows, births
