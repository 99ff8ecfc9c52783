"""The solutions of a local view, a row each. Those of an entry lie together, and are found without a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from freshet.federation.candidates import Flags, Ids
from freshet.federation.client import Columns
from freshet.rdf.dictionary import Dictionary

_LEAST_DEAD = 1000  # rows that are worth being cleared away


class AnswerRows(NamedTuple):
    """Solutions that came, as rows, and the entry that each belongs to."""

    owners: Ids
    values: Ids


class ViewRows:
    """Rows by entry. Where those of an entry change, the new ones are added at the end; the old are cleared away when
    they are half of all.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._values: Ids = np.zeros((0, len(self._names)), np.int64)  # with room: zeros, which are no ids
        self._filled = 0
        self._dead = 0
        self._starts: Ids = np.zeros(0, np.int64)  # where the rows of each entry begin
        self._counts: Ids = np.zeros(0, np.int64)

    def answer(self, found: Columns, owners: Ids) -> AnswerRows:
        """Solutions with the entries that they belong to, without those that belong to none (-1)."""
        rows = np.flatnonzero(owners >= 0)
        values = np.empty((len(rows), len(self._names)), np.int64)
        for at, name in enumerate(self._names):
            values[:, at] = found.ids[name][rows]
        return AnswerRows(owners[rows], values)

    def solutions_of(self, entries: Ids) -> Columns:
        """The solutions of entries, all different."""
        self._reach(entries)
        values = self._values[self._places(entries)]
        return Columns({name: values[:, at] for at, name in enumerate(self._names)}, len(values))

    def counts(self, entries: Ids) -> Ids:
        """How many solutions each entry has."""
        self._reach(entries)
        return self._counts[entries]

    def differs(self, answer: AnswerRows, entries: Ids, comparable: Callable[[Ids], Ids]) -> Flags:
        """For which entries the solutions here and those that came are not the same bag."""
        counts = self.counts(entries)
        mine = _sorted(np.repeat(np.arange(len(entries)), counts), comparable(self._values[self._places(entries)]))
        order = np.argsort(entries, kind="stable")
        answer = _select_entries(answer, entries)
        yours = _sorted(order[np.searchsorted(entries[order], answer.owners)], comparable(answer.values))
        result: Flags = counts != np.bincount(yours[:, 0], minlength=len(entries))
        same = ~result
        left, right = mine[same[mine[:, 0]]], yours[same[yours[:, 0]]]
        result[left[(left != right).any(axis=1), 0]] = True
        return result

    def replace(self, entries: Ids, answer: AnswerRows) -> None:
        """The solutions of these entries are those that came."""
        self._dead += int(self.counts(entries).sum())
        self._counts[entries] = 0
        answer = _select_entries(answer, entries)
        order = np.argsort(answer.owners, kind="stable")
        named, firsts, counts = np.unique(answer.owners[order], return_index=True, return_counts=True)
        self._starts[named], self._counts[named] = self._filled + firsts, counts
        self._add(answer.values[order])
        if self._dead > max(_LEAST_DEAD, self._filled // 2):
            self._clear()

    def keep(self, entries: Ids) -> None:
        """Only these entries are left, numbered anew in their order."""
        self._reach(entries)
        self._values = self._values[self._places(entries)]
        self._counts = self._counts[entries]
        self._starts = np.cumsum(self._counts) - self._counts
        self._filled, self._dead = len(self._values), 0

    def _clear(self) -> None:
        """Let go of rows that no entry has any more."""
        self.keep(np.arange(len(self._counts)))

    def _places(self, entries: Ids) -> Ids:
        counts = self._counts[entries]
        before = np.cumsum(counts) - counts
        return np.repeat(self._starts[entries] - before, counts) + np.arange(counts.sum())

    def _reach(self, entries: Ids) -> None:
        """Entries that were never heard of have no rows."""
        if (count := int(entries.max(initial=-1)) + 1) > len(self._counts):
            added = np.zeros(max(count, 2 * len(self._counts)) - len(self._counts), np.int64)
            self._starts = np.concatenate([self._starts, added])
            self._counts = np.concatenate([self._counts, added])

    def _add(self, values: Ids) -> None:
        end = self._filled + len(values)
        if end > len(self._values):
            added = np.zeros((max(end, 2 * len(self._values)) - len(self._values), len(self._names)), np.int64)
            self._values = np.concatenate([self._values, added])
        self._values[self._filled : end] = values
        self._filled = end


def _select_entries(answer: AnswerRows, entries: Ids) -> AnswerRows:
    """The rows of some entries."""
    some = np.isin(answer.owners, entries)
    return AnswerRows(answer.owners[some], answer.values[some])


def _sorted(places: Ids, values: Ids) -> Ids:
    """Rows in one order: the entry's place in front, then the values."""
    rows = np.column_stack([places, values])
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
