"""The solutions of a local view, a row each, with the entry that each belongs to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from freshet.federation.client import Columns
from freshet.federation.moment import Flags, Ids
from freshet.rdf.dictionary import Dictionary


class ViewRows:
    """Rows by entry, in arrays that are replaced as a whole."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._values: Ids = np.empty((0, len(self._names)), np.int64)
        self._owners: Ids = np.empty(0, np.int64)

    def add(self, found: Columns, owners: Ids, rows: Ids) -> None:
        """Some of the solutions, with the entries that they belong to."""
        values = np.empty((len(rows), len(self._names)), np.int64)
        for at, name in enumerate(self._names):
            values[:, at] = found.ids[name][rows]
        self._values = np.concatenate([self._values, values])
        self._owners = np.concatenate([self._owners, owners[rows]])

    def of(self, entries: Ids) -> Columns:
        """The solutions of entries."""
        rows = np.flatnonzero(np.isin(self._owners, entries))
        return Columns({name: self._values[rows, at] for at, name in enumerate(self._names)}, len(rows))

    def counts(self, entries: int) -> Ids:
        """How many solutions each of so many entries has."""
        return np.bincount(self._owners, minlength=entries)

    def differs(self, other: ViewRows, entries: Ids, comparable: Callable[[Ids], Ids]) -> Flags:
        """For which entries the solutions here and there are not the same bag."""
        mine, yours = self._sorted(entries, comparable), other._sorted(entries, comparable)
        result: Flags = np.bincount(mine[:, 0], minlength=len(entries)) != np.bincount(
            yours[:, 0], minlength=len(entries)
        )
        same = ~result
        left, right = mine[same[mine[:, 0]]], yours[same[yours[:, 0]]]
        result[left[(left != right).any(axis=1), 0]] = True
        return result

    def replace(self, entries: Ids, other: ViewRows) -> None:
        """The solutions of these entries are the other's."""
        kept, new = ~np.isin(self._owners, entries), np.isin(other._owners, entries)
        self._values = np.concatenate([self._values[kept], other._values[new]])
        self._owners = np.concatenate([self._owners[kept], other._owners[new]])

    def keep(self, entries: Ids, count: int) -> None:
        """Of so many entries only these are left, numbered anew in their order."""
        numbers = np.full(count, -1)
        numbers[entries] = np.arange(len(entries))
        owners = numbers[self._owners]
        self._values, self._owners = self._values[owners >= 0], owners[owners >= 0]

    def _sorted(self, entries: Ids, comparable: Callable[[Ids], Ids]) -> Ids:
        """The rows of entries in one order: the entry's place in front, then the values."""
        order = np.argsort(entries, kind="stable")
        ours = np.isin(self._owners, entries)
        places = order[np.searchsorted(entries[order], self._owners[ours])]
        rows = np.column_stack([places, comparable(self._values[ours])])
        return rows[np.lexsort(rows.T[::-1])]


def without_blanks(dictionary: Dictionary) -> Callable[[Ids], Ids]:
    """Makes all blank nodes look alike: an endpoint gives them other labels in every answer."""

    def comparable(values: Ids) -> Ids:
        distinct, places = np.unique(values, return_inverse=True)
        keys = dictionary.keys(distinct).to_pylist()
        blank = np.array([key is not None and key.startswith("_") for key in keys], np.bool_)
        result: Ids = np.where(blank, -1, distinct)[places.reshape(values.shape)]
        return result

    return comparable
