"""A stored graph as an evaluation saw it: without what streams have left in it since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from freshet.oneshot.dataset import DEFAULT_GRAPH, Dataset, GraphReader, Ids, Triples
from freshet.store.triple_index import TripleIndex

if TYPE_CHECKING:
    from freshet.store.dataset import StoredDataset


class SeenDataset:
    """The stored graphs as they are, but for triples of the default graph that came at a time or later."""

    def __init__(self, stored: StoredDataset, end_ms: int) -> None:
        self._snapshot = stored.snapshot()
        added = stored.added()
        later = added.times >= end_ms
        default = self._snapshot.graph(DEFAULT_GRAPH)
        self._default: GraphReader = default
        if later.any():
            self._default = SeenGraph(default, Triples(*(column[later] for column in added[1:])))

    def graph(self, name: int) -> GraphReader:
        return self._default if name == DEFAULT_GRAPH else self._snapshot.graph(name)

    def names(self) -> Ids:
        return self._snapshot.names()


class SeenGraph:
    """A graph without some of its triples. Its counts are upper bounds."""

    def __init__(self, graph: GraphReader, without: Triples) -> None:
        self._graph = graph
        self._without = TripleIndex(without)

    def count(self, subject: int, predicate: int, object: int) -> int:
        return self._graph.count(subject, predicate, object)

    def distinct(self, predicate: int, place: int) -> int:
        return self._graph.distinct(predicate, place)

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        found = self._graph.match(subject, predicate, object)
        kept = self._rows_left(found)
        return Triples(*(column[kept] for column in found))

    def probe(self, subjects: Ids | int, predicates: Ids | int, objects: Ids | int) -> tuple[Ids, Triples]:
        rows, found = self._graph.probe(subjects, predicates, objects)
        kept = self._rows_left(found)
        return rows[kept], Triples(*(column[kept] for column in found))

    def _rows_left(self, triples: Triples) -> Ids:
        kept = np.ones(len(triples.subjects), np.bool_)
        if len(kept):
            kept[self._without.probe(*map(np.ascontiguousarray, triples))[0]] = False
        return np.flatnonzero(kept)


def is_in(dataset: Dataset, name: int, triple: tuple[int, int, int]) -> bool:
    """Whether a graph of a dataset has a triple."""
    return len(dataset.graph(name).match(*triple).subjects) > 0
