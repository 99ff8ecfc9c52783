"""The stored default graph and named graphs, and what a one-shot query sees of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.triples import DEFAULT_GRAPH, Ids, Triples
from freshet.store.graph import StoredGraph
from freshet.store.triple_index import TripleIndex

_NOTHING = np.empty(0, np.int64)
_EMPTY = TripleIndex(Triples(_NOTHING, _NOTHING, _NOTHING))
_NO_GRAPH = StoredGraph()


class DatasetSnapshot:
    """All graphs at one moment."""

    def __init__(self, graphs: Mapping[int, TripleIndex]) -> None:
        self._graphs = graphs
        self._names = np.array([name for name in graphs if name != DEFAULT_GRAPH], np.int64)

    def graph(self, name: int) -> TripleIndex:
        """A graph by the id of its name, or the default graph; an empty one where there is none of that name."""
        return self._graphs.get(name, _EMPTY)

    def names(self) -> Ids:
        """The ids of the named graphs."""
        return self._names


class StoredDataset:
    """The graphs that are stored. They only grow."""

    def __init__(self) -> None:
        self.default = StoredGraph()
        self.changing = threading.RLock()  # held while what belongs together is added to several graphs
        self._named: dict[int, StoredGraph] = {}

    def elements(self, graph: int = DEFAULT_GRAPH) -> Elements:
        """The timed triples of a graph, in order of time; none where there is no such graph."""
        stored = self.default if graph == DEFAULT_GRAPH else self._named.get(graph, _NO_GRAPH)
        return stored.elements()

    def base(self, graph: int = DEFAULT_GRAPH) -> TripleIndex:
        return (self.default if graph == DEFAULT_GRAPH else self._named.get(graph, _NO_GRAPH)).base()

    def added(self, graph: int = DEFAULT_GRAPH) -> Elements:
        return (self.default if graph == DEFAULT_GRAPH else self._named.get(graph, _NO_GRAPH)).added()

    def load(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int = DEFAULT_GRAPH) -> Elements:
        """Add triples to a graph, which is there then, if only empty."""
        return self._graph(graph).load(subjects, predicates, objects)

    def absorb(self, elements: Elements) -> None:
        """Add what a stream leaves behind to the default graph."""
        self.default.absorb(elements)

    def reader(self, triples: Triples) -> TripleIndex:
        """Triples made ready to be read."""
        return TripleIndex(triples)

    def named(self) -> DatasetSnapshot:
        """The named graphs as they are now."""
        with self.changing:
            return DatasetSnapshot({name: graph.index() for name, graph in list(self._named.items())})

    def snapshot(self) -> DatasetSnapshot:
        """All graphs as they are now."""
        with self.changing:
            named = {name: graph.index() for name, graph in list(self._named.items())}
            return DatasetSnapshot({DEFAULT_GRAPH: self.default.index(), **named})

    def _graph(self, name: int) -> StoredGraph:
        if name == DEFAULT_GRAPH:
            return self.default
        return self._named.setdefault(name, StoredGraph())


def rows_by_graph(graphs: Ids, *names: int) -> Iterator[tuple[int, Ids]]:
    """The rows of each graph that occurs in a column of graphs; of the names given, none if need be."""
    order = np.argsort(graphs, kind="stable")
    found, starts = np.unique(graphs[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, starts[1:]), strict=False)
    for name in names:
        if name not in found:
            yield name, order[:0]
