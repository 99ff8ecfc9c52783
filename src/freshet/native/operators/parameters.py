"""Parameters: the constants of the queries that share a plan, a row each.

Δ(parameters) = the rows of the queries that were registered and removed since
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.native.change import Change
from freshet.native.one_way_index import Ids
from freshet.native.sharing import QUERY, parameter
from freshet.oneshot.table import Table

_NOTHING = np.empty(0, np.int64)


class Choice:
    """The terms that stand at one place of some query: a leaf keeps the rows of no others."""

    def __init__(self) -> None:
        self._ids = _NOTHING

    def choose(self, ids: Ids) -> None:
        self._ids = np.unique(ids)

    def among(self, values: Ids) -> NDArray[np.bool_]:
        """Which values are chosen."""
        if len(self._ids) == 0:
            return np.zeros(len(values), np.bool_)
        places = np.minimum(np.searchsorted(self._ids, values), len(self._ids) - 1)
        return np.asarray(self._ids[places] == values)


class ParametersOp:
    """A row a query: its number and its constants."""

    def __init__(self, count: int) -> None:
        self.choices = tuple(Choice() for _ in range(count))
        self._names = (QUERY, *(parameter(number).name for number in range(count)))
        self._rows: dict[int, Ids] = {}
        self._came: list[Ids] = []
        self._went: list[Ids] = []

    def add(self, number: int, constants: list[int]) -> None:
        """A query with its constants' ids."""
        row = self._rows[number] = np.array([number, *constants], np.int64)
        self._came.append(row)
        self._choose()

    def remove(self, number: int) -> None:
        row = self._rows.pop(number)
        waiting = [at for at, each in enumerate(self._came) if each is row]
        if waiting:
            del self._came[waiting[0]]
        else:
            self._went.append(row)
        self._choose()

    def changes(self, number: int) -> Change:
        change = Change(self._table(self._came), self._table(self._went))
        self._came, self._went = [], []
        return change

    def rows(self) -> Table:
        return self._table(list(self._rows.values()))

    def _choose(self) -> None:
        rows = np.array(list(self._rows.values()), np.int64).reshape(-1, len(self._names))
        for at, choice in enumerate(self.choices):
            choice.choose(rows[:, at + 1])

    def _table(self, rows: list[Ids]) -> Table:
        matrix = np.array(rows, np.int64).reshape(-1, len(self._names))
        return Table({name: matrix[:, at] for at, name in enumerate(self._names)}, len(rows))
