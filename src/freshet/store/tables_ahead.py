"""The tables that find appended triples grow ahead of time, so that no batch waits until everything is entered anew.

When five ninths of a table are full, one of twice the size is begun. Every batch moves a part of what the table had
then, and after that enters what has come since; when two thirds are full, the larger is ready, but for a few entries.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from freshet.kernels.adjacency_ahead import enter_keys, enter_triples, move_slots
from freshet.rdf.triples import Ids
from freshet.store.mapped_files import reserve_array

SLOTS_A_WORD = 16  # four bits of the filter a slot
_SMALL = 1 << 14  # slots that are entered anew in no time
_LEAST_MOVED = 1 << 10  # slots a batch

Enter = Callable[["TableAhead", int, int], None]


class TableAhead:
    """A larger table on its way."""

    def __init__(self, smaller: Ids, below: int, *, filtered: bool) -> None:
        """All numbers below one are in the smaller table, and stay where they are."""
        room = reserve_array(2 * smaller.size, np.int64)
        self.table = np.zeros(2 * smaller.size, np.int64) if room is None else room
        self.filter = np.zeros(self.table.size // SLOTS_A_WORD if filtered else 0, np.int64)
        self._smaller = smaller
        self._below = below
        self._moved = 0  # slots
        self._pace = _LEAST_MOVED
        self._entered = below  # numbers

    def bring_on(self, used: int, more: int, enter: Enter) -> None:
        """After `more` new rows: move enough that the move ends before the table is full."""
        batches = max(1, (self.table.size // 3 - used) // max(1, more) - 1)
        unmoved = self._smaller.size - self._moved
        if unmoved:  # in the first half of the time
            self._pace = max(self._pace, 2 * unmoved // batches)
            self._move(self._pace)
        else:
            behind = used - self._entered
            self._enter(min(used, self._entered + behind // batches + 2 * more), enter)

    def finish(self, used: int, enter: Enter) -> None:
        """Do all that is left."""
        self._move(self._smaller.size)
        self._enter(used, enter)

    def _move(self, slots: int) -> None:
        stop = min(self._moved + slots, self._smaller.size)
        move_slots(self._smaller, self.table, self.filter, self._moved, stop, self._below)
        self._moved = stop

    def _enter(self, stop: int, enter: Enter) -> None:
        if stop > self._entered:
            enter(self, self._entered, stop)
            self._entered = stop


class GrowingTable:
    """Has the next table of one that grows, once there is need for it."""

    def __init__(self, *, filtered: bool) -> None:
        self._filtered = filtered
        self._ahead: TableAhead | None = None

    def bring_on(self, table: Ids, used: int, more: int, enter: Enter) -> None:
        """After a batch of `more` rows: continue the next table of one that has `used` slots filled, or begin it."""
        if self._ahead is None:
            if 9 * used <= 5 * table.size or table.size < _SMALL:
                return
            self._ahead = TableAhead(table, used, filtered=self._filtered)
        self._ahead.bring_on(used, more, enter)

    def take(self, needed: int, used: int, enter: Enter) -> TableAhead | None:
        """The next table, complete, if it has enough room; None where it has not, or was not begun."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or not has_room(ahead.table, needed):
            return None
        ahead.finish(used, enter)
        return ahead


def has_room(table: Ids, needed: int) -> bool:
    """Whether at least a third of a table is free when it holds `needed` keys."""
    return 3 * needed <= 2 * table.size


def entering_keys(entries: Ids) -> Enter:
    return lambda ahead, first, stop: enter_keys(ahead.table, ahead.filter, entries, first, stop)


def entering_triples(out: Ids, into: Ids) -> Enter:
    return lambda ahead, first, stop: enter_triples(ahead.table, out, into, first, stop)
