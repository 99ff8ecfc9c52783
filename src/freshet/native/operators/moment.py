"""The time of the evaluation, as a row that another follows at each of them: what NOW() gives.

Δ(moment) = at every evaluation, its time for that of the one before
"""

from __future__ import annotations

import numpy as np

from freshet.expressions.times import date_time_ids
from freshet.native.change import NOTHING, Change, MomentBatch
from freshet.oneshot.table import Table


class MomentOp:
    """One row, with the time of the evaluation as a dateTime."""

    def __init__(self, variable: str) -> None:
        self._variable = variable
        self._before = np.empty(0, np.int64)

    def changes(self, batch: MomentBatch) -> Change:
        due = batch.due
        if not len(due):
            return NOTHING
        came = date_time_ids(due >> 1)
        went = np.concatenate((self._before, came[:-1]))
        went_at = due[len(due) - len(went) :]
        self._before = came[-1:]
        return Change(self._table(came), due, self._table(went), went_at)

    def _table(self, ids: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Table:
        return Table({self._variable: ids}, len(ids))
