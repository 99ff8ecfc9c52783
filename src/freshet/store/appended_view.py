"""The appended triples that a reader sees: those that were there when its view was taken."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from freshet.kernels.adjacency import find_groups
from freshet.kernels.adjacency_reading import (
    count_chain,
    count_every_chain,
    find_row,
    find_rows,
    probe_chains,
    probe_triples,
    rows_along,
)
from freshet.rdf.triples import ANY, Ids, Triples
from freshet.store.appended_arrays import AppendedArrays, Chains, no_rows
from freshet.store.found import NO_IDS, NO_TRIPLES, NOTHING_FOUND, Column, Found

SUBJECT, OBJECT = 0, 2


class AppendedView:
    """A prefix of the appended rows. The rest may come while it is read."""

    __slots__ = (
        "_arrays",
        "_chains_along",
        "_group_arrays",
        "_groups",
        "compacted",
        "compactions",
        "lowerings",
        "rows",
    )

    def __init__(
        self,
        arrays: AppendedArrays,
        rows: int,
        groups: Mapping[int, int],
        lowerings: int = 0,
        compacted: int = 0,
        compactions: int = 0,
    ) -> None:
        self._arrays = arrays
        self.lowerings = lowerings  # how often triples came again with earlier times
        self.compacted = compacted  # rows that came before these and are part of the base now
        self.compactions = compactions  # how often the base was replaced by one that has what is appended
        self._groups = groups  # grows; what came after the view has no row in it
        self._group_arrays: dict[int, Ids] = {}
        self._chains_along: dict[int, tuple[int, int]] = {}
        self.rows = rows

    def held(self) -> tuple[()]:
        """The appending side has all that a view has."""
        return ()

    def count(self, subject: int, predicate: int, object: int) -> int:
        """How many triples match a pattern; at most some more, which have come since."""
        arrays = self._arrays
        if predicate == ANY:
            return self._count_everywhere(subject, object)
        group = self._groups.get(predicate)
        if group is None:
            return 0
        if subject != ANY and object != ANY:
            row = find_row(arrays.triples, arrays.out.nodes, arrays.into.nodes, self.rows, subject, group, object)
            return int(row >= 0)
        if subject != ANY:
            return int(count_chain(arrays.out.table, arrays.out.entries, self.rows, subject, group))
        if object != ANY:
            return int(count_chain(arrays.into.table, arrays.into.entries, self.rows, object, group))
        return self._group_rows(group)[1]

    def distinct(self, predicate: int, place: int) -> int:
        """At most how many different terms stand at a place of a predicate's triples, or of all."""
        different = (self._arrays.out if place == SUBJECT else self._arrays.into).different
        if predicate == ANY:
            return int(different.sum())
        group = self._groups.get(predicate)
        return 0 if group is None or group >= different.size else int(different[group])

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        """The triples that match a pattern."""
        if subject != ANY:
            return self.probe(np.array([subject], np.int64), predicate, object)[1]
        if object != ANY:
            return self.probe(subject, predicate, np.array([object], np.int64))[1]
        if predicate == ANY:
            return self.triples()
        group = self._groups.get(predicate)
        if group is None:
            return NO_TRIPLES
        arrays = self._arrays
        subjects, objects = rows_along(
            arrays.along, arrays.out.nodes, arrays.into.nodes, self.rows, *self._group_rows(group)
        )
        return Triples(subjects, np.full(subjects.size, predicate, np.int64), objects)

    def probe(self, subjects: Column, predicates: Column, objects: Column) -> Found:
        """Every match of many patterns, with the number of the pattern, in the order of the patterns."""
        groups, every = self.asked_groups(predicates)
        if not groups.size or (isinstance(subjects, np.ndarray) and not subjects.size):
            return NOTHING_FOUND
        if isinstance(subjects, np.ndarray):
            if isinstance(objects, np.ndarray) or objects != ANY:
                return self._probe_triples(subjects, groups, objects, every)
            return self._probe_chains(self._arrays.out, np.ascontiguousarray(subjects), groups, every, SUBJECT)
        if isinstance(objects, np.ndarray):
            if not objects.size:
                return NOTHING_FOUND
            if subjects != ANY:
                return self._probe_triples(subjects, groups, objects, every)
            return self._probe_chains(self._arrays.into, np.ascontiguousarray(objects), groups, every, OBJECT)
        if subjects != ANY and objects != ANY:
            return self._probe_triples(subjects, groups, objects, every)
        if subjects != ANY:
            return self.probe(np.full(groups.size, subjects, np.int64), predicates, ANY)
        if objects != ANY:
            return self.probe(ANY, predicates, np.full(groups.size, objects, np.int64))
        return self._probe_predicates(predicates)

    def group(self, predicate: int) -> int | None:
        """The number that a predicate goes by here."""
        return self._groups.get(predicate)

    def chains(self, key: int) -> Chains:
        """The rows by subject (0) or by object (2)."""
        return self._arrays.out if key == SUBJECT else self._arrays.into

    def nodes(self, key: int) -> tuple[Ids, Ids]:
        """The nodes that have the keys (subjects or objects) of rows, and those that link the rows of equal key."""
        out, into = self._arrays.out.nodes, self._arrays.into.nodes
        return (into, out) if key == SUBJECT else (out, into)

    def end_of(self, predicate: int) -> int:
        """The number after that of a predicate's last row, or after one that has come since; 0 where it has none."""
        group = self._groups.get(predicate)
        ends = self._arrays.groups.ends
        return 0 if group is None else int(ends[group, 1]) if group < len(ends) else self.rows

    def rows_of(self, triples: Triples) -> Ids:
        """The rows of triples, -1 for those that are not here."""
        arrays = self._arrays
        groups = find_groups(triples.predicates, arrays.groups.slots, arrays.groups.known)
        rows: Ids = find_rows(
            arrays.triples, arrays.out.nodes, arrays.into.nodes, self.rows, triples.subjects, groups, triples.objects
        )
        return rows

    def at(self, rows: Ids) -> Triples:
        """The triples of rows."""
        out, into = self._arrays.out.nodes, self._arrays.into.nodes
        return Triples(into[rows, 0], self._arrays.groups.known[out[rows, 1] >> 32], out[rows, 0])

    def asked_groups(self, predicates: Column) -> tuple[Ids, int]:
        """The groups of predicates, none where nothing can match; or all groups that are below a number."""
        if isinstance(predicates, np.ndarray):
            groups = self._arrays.groups
            return find_groups(np.ascontiguousarray(predicates), groups.slots, groups.known), 0
        if predicates == ANY:
            every = min(len(self._groups), self._arrays.groups.known.size)
            return np.zeros(min(every, 1), np.int64), every
        group = self._groups.get(int(predicates))
        if group is None:
            return NO_IDS, 0
        found = self._group_arrays.get(group)
        if found is None:
            found = self._group_arrays[group] = np.array([group], np.int64)
        return found, 0

    def triples(self, first: int = 0, stop: int | None = None) -> Triples:
        """All triples, or those from a row on or before one, in the order in which they came."""
        rows = slice(first, self.rows if stop is None else stop)
        out, into = (chains.nodes[rows] for chains in (self._arrays.out, self._arrays.into))
        return Triples(into[:, 0].copy(), self._arrays.groups.known[out[:, 1] >> 32], out[:, 0].copy())

    def times(self, first: int = 0) -> Ids:
        """The earliest times of the same."""
        return self._arrays.earliest[first : self.rows]

    @property
    def arrays(self) -> AppendedArrays:
        """What the view is of, for kernels that read up to `rows`."""
        return self._arrays

    @property
    def row_bytes(self) -> int:
        """Bytes of the triples."""
        return self.rows * self._arrays.row_bytes

    @property
    def index_bytes(self) -> int:
        """Bytes of what finds them."""
        return self._arrays.index_bytes

    def _probe_chains(self, chains: Chains, keys: Ids, groups: Ids, every: int, key: int) -> Found:
        numbers, found, others, predicates = probe_chains(
            chains.table, chains.entries, chains.nodes, self.rows, keys, groups, every, self._arrays.groups.known
        )
        if key == SUBJECT:
            return numbers, Triples(found, predicates, others)
        return numbers, Triples(others, predicates, found)

    def _probe_triples(self, subjects: Column, groups: Ids, objects: Column, every: int) -> Found:
        arrays = self._arrays
        subjects, objects = _column(subjects), _column(objects)
        numbers, found = probe_triples(
            arrays.triples, arrays.out.nodes, arrays.into.nodes, self.rows, subjects, groups, objects, every
        )
        return numbers, Triples(_column_at(subjects, numbers), arrays.groups.known[found], _column_at(objects, numbers))

    def _probe_predicates(self, predicates: Column) -> Found:
        """Patterns with nothing but a predicate each: a scan for each that differs."""
        assert isinstance(predicates, np.ndarray), "one of the places is a column"
        scans = [self.match(ANY, predicate, ANY) for predicate in predicates.tolist()]
        numbers = np.repeat(np.arange(len(scans)), [scan.subjects.size for scan in scans])
        return numbers, Triples(*(np.concatenate(columns) for columns in zip(*scans, strict=True)))

    def _count_everywhere(self, subject: int, object: int) -> int:
        if subject == ANY and object == ANY:
            return self.rows
        if subject != ANY and object != ANY:
            return len(self.match(subject, ANY, object).subjects)
        chains, key = (self._arrays.out, subject) if subject != ANY else (self._arrays.into, object)
        return int(count_every_chain(chains.table, chains.entries, self.rows, key, len(self._groups)))

    def _group_rows(self, group: int) -> tuple[int, int]:
        """The first row of a group, and how many it has: perhaps some more than are in the view; -1 and 0 for none."""
        found = self._chains_along.get(group)
        if found is None:
            found = -1, 0
            ends = self._arrays.groups.ends
            if group < len(ends) and 0 < ends[group, 0] <= self.rows:
                found = int(ends[group, 0]) - 1, min(int(ends[group, 2]), self.rows)
            self._chains_along[group] = found
        return found


NOTHING_APPENDED = AppendedView(no_rows(), 0, {})


def _column(ids: Column) -> Ids:
    return np.ascontiguousarray(ids) if isinstance(ids, np.ndarray) else np.array([ids], np.int64)


def _column_at(column: Ids, numbers: Ids) -> Ids:
    return column[numbers] if column.size > 1 else np.full(numbers.size, column[0], np.int64)
