"""Triples that are appended to a graph batch by batch, while others read what was there before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from freshet.kernels.adjacency import (
    SortedBase,
    enter_fresh,
    find_groups,
    link_groups,
    link_rows,
    lower_times,
    set_times,
)
from freshet.rdf.elements import Elements
from freshet.rdf.triples import Ids
from freshet.store.appended_arrays import Chains, Growing, no_rows, with_earlier_times, with_predicates
from freshet.store.appended_view import AppendedView
from freshet.store.ended import EndedRows
from freshet.store.triple_index import SUBJECT, TripleIndex

_NOTHING = np.empty(0, np.int64)
_NO_ENDS = np.empty(0, np.int32)
_NO_BASE = SortedBase(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING)


class Appended:
    """The appended part of a graph. One thread at a time appends; views are taken in between, and read at any time."""

    def __init__(self, base: TripleIndex) -> None:
        self._base = base
        self._arrays = no_rows()
        self._growing = Growing()
        self._groups: dict[int, int] = {}  # by predicate
        self._in_base = _NO_BASE
        self.lowerings = 0  # batches in which triples came again with earlier times
        self.compacted = 0  # rows that were appended before, and are part of the base now
        self.compactions = 0
        self.rows = 0

    def append(self, elements: Elements, ended: EndedRows | None = None, *, are_new: bool = False) -> Ids:
        """Append triples that are not in the graph yet; the row of each, -1 where it was there.

        Triples whose rows have ended are not there; with `are_new` none is.
        """
        ends = (_NO_ENDS, _NO_ENDS) if ended is None else (ended.by_subject, ended.appended)
        times, subjects, predicates, objects = (np.ascontiguousarray(column, np.int64) for column in elements)
        groups = self._groups_of(predicates)
        self._arrays = arrays = self._growing.with_room(self._arrays, self.rows, times.size)
        times = times.copy()
        rows = np.empty(times.size, np.int64)
        fresh, earlier = enter_fresh(
            rows,
            self._in_base,
            *ends,
            arrays.triples,
            arrays.out.nodes,
            arrays.into.nodes,
            arrays.earliest,
            self.rows,
            subjects,
            groups,
            objects,
            times,
            are_new,
        )
        _link(arrays.out, subjects, groups, objects, rows)
        _link(arrays.into, objects, groups, subjects, rows)
        set_times(arrays.times, rows, times)
        if arrays.earliest is not arrays.times:
            set_times(arrays.earliest, rows, times)
        if earlier:
            self._arrays = arrays = with_earlier_times(arrays, self.rows + int(fresh))
            lower_times(arrays.earliest, rows, times)
            self.lowerings += 1
        link_groups(arrays.along, arrays.groups.ends, groups, rows)
        self.rows += int(fresh)
        self._growing.bring_on(arrays, self.rows, times.size)
        return rows

    def take_over(self, before: AppendedView, compacted: int) -> None:
        """Have the rows of a view, in their order, that are not here yet; the first `compacted` are in the base."""
        first = compacted + self.rows
        if first < before.rows:
            elements = Elements(before.arrays.times[first : before.rows], *before.triples(first))
            self.append(elements, are_new=True)  # one that has ended and come again has two rows
        if before.arrays.earliest is not before.arrays.times:
            self._arrays = arrays = with_earlier_times(self._arrays, self.rows)
            arrays.earliest[: self.rows] = before.times(compacted)
        self.lowerings = before.lowerings
        self.compacted = before.compacted + compacted
        self.compactions = before.compactions + 1

    def view(self) -> AppendedView:
        """What is there now, for readers."""
        return AppendedView(self._arrays, self.rows, self._groups, self.lowerings, self.compacted, self.compactions)

    def held(self) -> Iterator[Ids]:
        """The arrays that have ids of terms, as far as they are used."""
        yield self._arrays.groups.known
        yield self._arrays.out.nodes[: self.rows]
        yield self._arrays.into.nodes[: self.rows]

    def _groups_of(self, predicates: Ids) -> Ids:
        """The groups of predicates; new ones are made."""
        groups: Ids = find_groups(predicates, self._arrays.groups.slots, self._arrays.groups.known)
        unknown = groups < 0
        if unknown.any():
            new = np.unique(predicates[unknown])
            count = len(self._groups)
            self._arrays = with_predicates(self._arrays, count, new)
            self._in_base = self._base_groups(count, new)
            self._groups.update((predicate, at) for at, predicate in enumerate(new.tolist(), count))
            groups = find_groups(predicates, self._arrays.groups.slots, self._arrays.groups.known)
        return groups

    def _base_groups(self, count: int, predicates: Ids) -> SortedBase:
        """What finds triples in the base, with groups for some more predicates."""
        if not len(self._base):
            return _NO_BASE
        order = self._base.order(SUBJECT)
        groups = np.concatenate([self._in_base.groups[:count], order.groups_of(predicates)])
        return SortedBase(order.arrays.slots, order.arrays.firsts, order.arrays.shifts, order.arrays.seconds, groups)


def _link(chains: Chains, keys: Ids, groups: Ids, others: Ids, rows: Ids) -> None:
    table, filter, entries, nodes, used, different = chains
    link_rows(table, filter, entries, nodes, used, different, keys, groups, others, rows)
