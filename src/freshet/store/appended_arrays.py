"""The arrays of appended triples, and how they grow: what is full is replaced, and readers of the old one go on."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.adjacency import enter_groups, refill
from freshet.rdf.triples import Ids

_FIRST_ROWS = 1 << 10
_FIRST_GROUPS = 1 << 6

Number = TypeVar("Number", bound=np.generic)


class Chains(NamedTuple):
    """One direction: the rows of each key of a vertex and a predicate; `freshet.kernels.adjacency` has the layout."""

    table: Ids
    entries: Ids
    nodes: Ids
    used: Ids  # entries of each shard
    different: Ids  # keys of each group, for each shard


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
    times: Ids
    along: NDArray[np.int32]  # the chains of the predicates
    triples: Ids  # the table that finds a triple
    triples_used: Ids  # triples of each shard

    @property
    def row_bytes(self) -> int:
        """Bytes of a triple, without what finds it."""
        return 2 * 16 + self.times.itemsize + self.along.itemsize

    @property
    def index_bytes(self) -> int:
        """Bytes of what finds the triples."""
        return self.triples.nbytes + sum(
            chains.table.nbytes + chains.entries.itemsize * 3 * int(chains.used.sum())
            for chains in (self.out, self.into)
        )


def no_rows(shards: int) -> AppendedArrays:
    """Arrays of nothing; `shards` is a power of two."""
    return AppendedArrays(
        _no_chains(shards),
        _no_chains(shards),
        Groups(
            np.zeros(2 * _FIRST_GROUPS, np.int64),
            np.zeros(_FIRST_GROUPS, np.int64),
            np.zeros((_FIRST_GROUPS, 3), np.int64),
        ),
        np.zeros(_FIRST_ROWS, np.int64),
        np.zeros(_FIRST_ROWS, np.int32),
        np.zeros((shards, 2 * _FIRST_ROWS), np.int64),
        np.zeros(shards, np.int64),
    )


def with_room(arrays: AppendedArrays, rows: int, more: int) -> AppendedArrays:
    """Arrays that have room for so many more rows, each with keys of its own."""
    return arrays._replace(
        out=_chains_with_room(arrays.out, rows, more),
        into=_chains_with_room(arrays.into, rows, more),
        times=_grown(arrays.times, rows + more),
        along=_grown(arrays.along, rows + more),
        triples=_grown_table(arrays.triples, int(arrays.triples_used.max()) + more),
    )


def with_predicates(arrays: AppendedArrays, count: int, predicates: Ids) -> AppendedArrays:
    """Arrays that know so many predicates and some new ones."""
    groups = arrays.groups
    if count + predicates.size > groups.known.size:
        known = _grown(groups.known, count + predicates.size)
        groups = Groups(np.zeros(2 * known.size, np.int64), known, _grown(groups.ends, known.size))
        enter_groups(known[:count].copy(), groups.slots, known, 0)
        arrays = arrays._replace(out=_with_groups(arrays.out, known.size), into=_with_groups(arrays.into, known.size))
    enter_groups(predicates, groups.slots, groups.known, count)
    return arrays._replace(groups=groups)


def _no_chains(shards: int) -> Chains:
    return Chains(
        np.zeros((shards, 2 * _FIRST_ROWS), np.int64),
        np.zeros((_FIRST_ROWS, 3), np.int64),
        np.zeros((_FIRST_ROWS, 2), np.int64),
        np.zeros(shards, np.int64),
        np.zeros((shards, _FIRST_GROUPS), np.int64),
    )


def _chains_with_room(chains: Chains, rows: int, more: int) -> Chains:
    entries = int(chains.used.max()) + more
    return chains._replace(
        table=_grown_table(chains.table, entries),
        entries=_grown(chains.entries, len(chains.table) * entries),
        nodes=_grown(chains.nodes, rows + more),
    )


def _with_groups(chains: Chains, groups: int) -> Chains:
    different = np.zeros((len(chains.different), groups), np.int64)
    different[:, : chains.different.shape[1]] = chains.different
    return chains._replace(different=different)


def _grown_table(table: Ids, needed: int) -> Ids:
    """A table that has so many slots for each shard, and at least a third of them free."""
    shards, size = table.shape
    if 3 * needed <= 2 * size:
        return table
    larger = np.zeros((shards, _size(3 * needed // 2 + 1)), np.int64)
    refill(table, larger)
    return larger


def _grown(array: NDArray[Number], needed: int) -> NDArray[Number]:
    if needed <= len(array):
        return array
    longer = np.zeros((_size(needed), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _size(needed: int) -> int:
    """A power of two."""
    return 1 << (needed - 1).bit_length()
