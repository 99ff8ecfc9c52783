"""Changes of stored graphs that are collected before any is made: what an update deletes, inserts, creates and drops.

Whether a triple is there in the end depends on what was done with it last. So changes are what is to be deleted and
what is to be inserted, with no triple in both; a triple that is deleted and inserted again keeps its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from freshet.rdf.arrow import read_only
from freshet.rdf.deadline import current
from freshet.rdf.reading import Quads
from freshet.rdf.row_numbers import number_in_blocks
from freshet.rdf.triples import DEFAULT_GRAPH, Ids, Triples

_NOTHING = np.empty(0, np.int64)
_FEW = 64
NO_QUADS = Quads(_NOTHING, _NOTHING, _NOTHING, _NOTHING)


class GraphChange(NamedTuple):
    """What happens to one graph."""

    deleted: Triples
    inserted: Triples


class StoreChanges(NamedTuple):
    """What happens to the stored graphs. No quad is in both; `exists` says which named graphs are made, or dropped."""

    deleted: Quads
    inserted: Quads
    exists: Mapping[int, bool]

    def by_graph(self) -> dict[int, GraphChange]:
        """The same for each graph of which triples change."""
        names = _different(np.concatenate((self.deleted.graphs, self.inserted.graphs)))
        return {name: GraphChange(_of_graph(self.deleted, name), _of_graph(self.inserted, name)) for name in names}

    def __bool__(self) -> bool:
        return bool(len(self.deleted.graphs) or len(self.inserted.graphs) or self.exists)


class ChangeLog:
    """Changes one after the other, as an update makes them."""

    def __init__(self) -> None:
        self._parts: list[tuple[Quads, bool]] = []
        self._exists: dict[int, bool] = {}
        self._net: StoreChanges | None = None

    def delete(self, quads: Quads) -> None:
        """Quads are not there from now on."""
        self._add(quads, False)

    def insert(self, quads: Quads) -> None:
        """Quads are there from now on, and their graphs."""
        self._add(quads, True)
        for name in _different(quads.graphs):
            self.create(name)

    def create(self, graph: int) -> None:
        """A named graph is there from now on."""
        if graph != DEFAULT_GRAPH:
            self._exists[graph] = True
            self._net = None

    def drop(self, graph: int) -> None:
        """A named graph, whose triples are deleted, is no more."""
        if graph != DEFAULT_GRAPH:
            self._exists[graph] = False
            self._net = None

    def net(self) -> StoreChanges:
        """All of it as one change."""
        if self._net is None:
            self._net = self._net_changes()
        return self._net

    def _add(self, quads: Quads, inserted: bool) -> None:
        if len(quads.graphs):
            self._parts.append((quads, inserted))
            self._net = None

    def _net_changes(self) -> StoreChanges:
        if not self._parts:
            return StoreChanges(NO_QUADS, NO_QUADS, dict(self._exists))
        parts = self._parts[::-1]  # the first that is found of a quad is what happened last
        rows = np.concatenate([np.stack(quads, axis=1)[::-1] for quads, _ in parts])
        inserted = np.concatenate([np.full(len(quads.graphs), kind) for quads, kind in parts])
        _, firsts = number_in_blocks(read_only(rows))
        current().check()
        firsts = firsts[::-1]  # in the order in which they came
        rows, inserted = rows[firsts], inserted[firsts]
        current().check()
        deleted, kept = (Quads(*rows[some].T.copy()) for some in (~inserted, inserted))
        self._parts = [(quads, kind) for quads, kind in ((deleted, False), (kept, True)) if len(quads.graphs)]
        return StoreChanges(deleted, kept, dict(self._exists))


def quads_of(triples: Triples, graph: int) -> Quads:
    """The triples of a graph."""
    return Quads(*triples, np.full(len(triples.subjects), graph, np.int64))


def _of_graph(quads: Quads, name: int) -> Triples:
    own = quads.graphs == name
    return Triples(quads.subjects[own], quads.predicates[own], quads.objects[own])


def _different(names: Ids) -> list[int]:
    """The different names in a column, in order; of a few rows without NumPy, which takes longer to begin."""
    return np.unique(names).tolist() if len(names) > _FEW else sorted(set(names.tolist()))
