"""The arrays of appended triples, and how they grow: what is full is replaced, and readers of the old one go on.

Rows are in arrays that reserve far more than they need: what is not used takes no memory, and nothing is ever copied.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.adjacency import enter_groups, refill, refill_filter
from freshet.rdf.triples import Ids
from freshet.store.mapped_files import reserve_array
from freshet.store.tables_ahead import (
    SLOTS_A_WORD,
    GrowingTable,
    entering_keys,
    entering_triples,
    has_room,
)

_FIRST_ROWS = 1 << 10
_FIRST_GROUPS = 1 << 6
_LONG = 1 << 16  # rows from which on an array reserves
_RESERVED = 1 << 28  # rows

Number = TypeVar("Number", bound=np.generic)


class Chains(NamedTuple):
    """One direction: the rows of each key of a vertex and a predicate; `freshet.kernels.adjacency` has the layout."""

    table: Ids
    filter: Ids
    entries: Ids
    nodes: Ids
    used: Ids  # one number: how many entries there are
    different: Ids  # keys of each group


class Groups(NamedTuple):
    """The predicates, by small numbers."""

    slots: Ids
    known: Ids
    ends: Ids  # of each predicate's chain: first row + 1, last row + 1, count


class AppendedArrays(NamedTuple):
    """All of it."""

    out: Chains
    into: Chains
    groups: Groups
    times: Ids  # which each triple came with first
    earliest: Ids  # the earliest that it came with; `times` itself until one comes again with an earlier time
    along: NDArray[np.int32]  # the chains of the predicates
    triples: Ids  # the table that finds a triple

    @property
    def row_bytes(self) -> int:
        """Bytes of a triple, without what finds it."""
        time_bytes = self.times.itemsize * (1 if self.earliest is self.times else 2)
        return 2 * 16 + time_bytes + self.along.itemsize

    @property
    def index_bytes(self) -> int:
        """Bytes of what finds the triples."""
        return self.triples.nbytes + sum(
            chains.table.nbytes + chains.filter.nbytes + chains.entries.itemsize * 3 * chains.used.item()
            for chains in (self.out, self.into)
        )


def no_rows() -> AppendedArrays:
    """Arrays of nothing."""
    times = np.zeros(_FIRST_ROWS, np.int64)
    return AppendedArrays(
        _no_chains(),
        _no_chains(),
        Groups(
            np.zeros(2 * _FIRST_GROUPS, np.int64),
            np.zeros(_FIRST_GROUPS, np.int64),
            np.zeros((_FIRST_GROUPS, 3), np.int64),
        ),
        times,
        times,
        np.zeros(_FIRST_ROWS, np.int32),
        np.zeros(2 * _FIRST_ROWS, np.int64),
    )


class Growing:
    """The tables that are made ready ahead of time."""

    def __init__(self) -> None:
        self._out = GrowingTable(filtered=True)
        self._into = GrowingTable(filtered=True)
        self._triples = GrowingTable(filtered=False)

    def with_room(self, arrays: AppendedArrays, rows: int, more: int) -> AppendedArrays:
        """Arrays that have room for `more` rows, each with keys of its own."""
        out, into = arrays.out, arrays.into
        times = _grown(arrays.times, rows + more)
        return arrays._replace(
            out=_chains_with_room(out, rows, more, self._out),
            into=_chains_with_room(into, rows, more, self._into),
            times=times,
            earliest=times if arrays.earliest is arrays.times else _grown(arrays.earliest, rows + more),
            along=_grown(arrays.along, rows + more),
            triples=_triples_with_room(arrays, rows, more, self._triples),
        )

    def bring_on(self, arrays: AppendedArrays, rows: int, more: int) -> None:
        """After a batch of at most `more` rows, `rows` in all: move a part of tables that grow."""
        for chains, growing in ((arrays.out, self._out), (arrays.into, self._into)):
            growing.bring_on(chains.table, chains.used.item(), more, entering_keys(chains.entries))
        self._triples.bring_on(arrays.triples, rows, more, entering_triples(arrays.out.nodes, arrays.into.nodes))


def with_predicates(arrays: AppendedArrays, count: int, predicates: Ids) -> AppendedArrays:
    """Arrays that know the first `count` predicates and some new ones."""
    groups = arrays.groups
    if count + predicates.size > groups.known.size:
        known = _copy(groups.known, np.zeros(_size(count + predicates.size), np.int64))
        ends = _copy(groups.ends, np.zeros((known.size, 3), np.int64))
        groups = Groups(np.zeros(2 * known.size, np.int64), known, ends)
        enter_groups(known[:count].copy(), groups.slots, known, 0)
        arrays = arrays._replace(out=_with_groups(arrays.out, known.size), into=_with_groups(arrays.into, known.size))
    enter_groups(predicates, groups.slots, groups.known, count)
    return arrays._replace(groups=groups)


def with_earlier_times(arrays: AppendedArrays, rows: int) -> AppendedArrays:
    """Arrays in which the earliest time of each of the first `rows` triples may differ from its first."""
    if arrays.earliest is not arrays.times:
        return arrays
    earliest = _zeros_like(arrays.times)
    earliest[:rows] = arrays.times[:rows]
    return arrays._replace(earliest=earliest)


def _no_chains() -> Chains:
    return Chains(
        np.zeros(2 * _FIRST_ROWS, np.int64),
        np.zeros(2 * _FIRST_ROWS // SLOTS_A_WORD, np.int64),
        np.zeros((_FIRST_ROWS, 3), np.int64),
        np.zeros((_FIRST_ROWS, 2), np.int64),
        np.zeros(1, np.int64),
        np.zeros(_FIRST_GROUPS, np.int64),
    )


def _chains_with_room(chains: Chains, rows: int, more: int, growing: GrowingTable) -> Chains:
    used = chains.used.item()
    entries = used + more
    table, filter = chains.table, chains.filter
    if not has_room(table, entries):
        ahead = growing.take(entries, used, entering_keys(chains.entries))
        if ahead is not None:
            table, filter = ahead.table, ahead.filter
        else:
            table = _larger_table(table, entries)
            filter = np.zeros(table.size // SLOTS_A_WORD, np.int64)
            refill_filter(table, filter)
    return chains._replace(
        table=table,
        filter=filter,
        entries=_grown(chains.entries, entries),
        nodes=_grown(chains.nodes, rows + more),
    )


def _triples_with_room(arrays: AppendedArrays, rows: int, more: int, growing: GrowingTable) -> Ids:
    if has_room(arrays.triples, rows + more):
        return arrays.triples
    ahead = growing.take(rows + more, rows, entering_triples(arrays.out.nodes, arrays.into.nodes))
    return _larger_table(arrays.triples, rows + more) if ahead is None else ahead.table


def _with_groups(chains: Chains, groups: int) -> Chains:
    return chains._replace(different=_copy(chains.different, np.zeros(groups, np.int64)))


def _larger_table(table: Ids, needed: int) -> Ids:
    """The same table with slots for `needed` keys, and at least a third of them free."""
    larger = np.zeros(_size(3 * needed // 2 + 1), np.int64)
    refill(table, larger)
    return larger


def _grown(array: NDArray[Number], needed: int) -> NDArray[Number]:
    """An array with `needed` rows at least: itself, or a longer copy."""
    if needed <= len(array):
        return array
    rows = _size(needed)
    if needed >= _LONG:
        room = reserve_array(max(_RESERVED, rows) * array[:1].size, array.dtype.type)
        if room is not None:
            return _copy(array, room.reshape(max(_RESERVED, rows), *array.shape[1:]))
    return _copy(array, np.zeros((rows, *array.shape[1:]), array.dtype))


def _zeros_like(array: Ids) -> Ids:
    room = reserve_array(len(array), np.int64) if len(array) >= _LONG else None
    return np.zeros(len(array), np.int64) if room is None else room


def _copy(array: NDArray[Number], longer: NDArray[Number]) -> NDArray[Number]:
    longer[: len(array)] = array
    return longer


def _size(needed: int) -> int:
    """A power of two."""
    return 1 << (needed - 1).bit_length()
