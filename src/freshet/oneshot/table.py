"""Solutions as columns of ids: what operators take and give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freshet.oneshot.dataset import Ids
from freshet.rdf.arrow import read_only
from freshet.rdf.deadline import current
from freshet.rdf.row_numbers import ROWS_AT_ONCE, number_in_blocks

Rows = NDArray[np.int64]  # numbers of rows


@dataclass(slots=True, eq=False)  # a frozen one takes three times as long to make
class Table:
    """A bag of solutions: a column for each variable in scope, 0 where a solution does not bind it. Not to be changed.

    A variable that has no column is bound in no solution.
    """

    columns: Mapping[str, Ids]
    count: int

    @property
    def nbytes(self) -> int:
        """The memory that the columns take."""
        return 8 * self.count * len(self.columns)

    def column(self, name: str) -> Ids:
        """The ids of a variable."""
        found = self.columns.get(name)
        return np.zeros(self.count, np.int64) if found is None else found

    def take(self, rows: Rows) -> Table:
        """Some rows, by their numbers."""
        deadline = current()
        columns = {}
        for name, ids in self.columns.items():
            deadline.reserve(8 * len(rows))
            columns[name] = ids[rows]
        return Table(columns, len(rows))

    def where(self, mask: NDArray[np.bool_]) -> Table:
        """The rows for which the mask is true."""
        return self if np.count_nonzero(mask) == self.count else self.take(np.flatnonzero(mask))

    def select(self, names: Iterable[str]) -> Table:
        """The same rows with some of the columns."""
        return Table({name: self.columns[name] for name in names if name in self.columns}, self.count)

    def distinct(self) -> Table:
        """No row twice."""
        return self.take(number_groups(self, tuple(self.columns))[1])

    def bound_columns(self) -> Table:
        """The columns that are bound in every row."""
        return Table({name: ids for name, ids in self.columns.items() if ids.all()}, self.count)


UNIT = Table({}, 1)  # the solution that binds nothing


def empty(names: Iterable[str]) -> Table:
    """No solutions."""
    return Table({name: np.empty(0, np.int64) for name in names}, 0)


def keys(table: Table, names: Sequence[str]) -> Ids:
    """Some columns as rows, in the form that kernels take."""
    if len(names) == 1:
        return read_only(table.columns[names[0]]).reshape(-1, 1)
    rows = np.empty((table.count, len(names)), np.int64)
    for at, name in enumerate(names):
        rows[:, at] = table.columns[name]
    return read_only(rows)


def number_groups(table: Table, names: Sequence[str]) -> tuple[Rows, Rows]:
    """A number for each row, equal where the columns are, in order of appearance; and the first row of each number."""
    if not names:
        return np.zeros(table.count, np.int64), np.zeros(min(table.count, 1), np.int64)
    if table.count > ROWS_AT_ONCE:
        current().reserve(table.count * (8 * len(names) + 24))
    return number_in_blocks(keys(table, names))


def stack_tables(tables: Sequence[Table]) -> Table:
    """The rows of all tables, one after another."""
    if len(tables) == 1:
        return tables[0]
    names = dict.fromkeys(name for table in tables for name in table.columns)
    count = sum(table.count for table in tables)
    columns = {}
    for name in names:
        current().reserve(8 * count)
        columns[name] = np.concatenate([table.column(name) for table in tables])
    return Table(columns, count)
