"""The stored default graph and named graphs, and what a one-shot query sees of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from freshet.rdf.reading import Quads
from freshet.rdf.triples import DEFAULT_GRAPH, Ids, Triples
from freshet.store.graph import StoredGraph
from freshet.store.triple_index import TripleIndex

_NOTHING = np.empty(0, np.int64)
_EMPTY = TripleIndex(Triples(_NOTHING, _NOTHING, _NOTHING))


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

    def load_named(self, quads: Quads, *names: int) -> None:
        """Add the statements that have a graph to it. The graphs of the names are there then, if only empty."""
        with self.changing:
            for name in names:
                self._graph(name)
            rows = np.flatnonzero(quads.graphs != DEFAULT_GRAPH)
            rows = rows[np.argsort(quads.graphs[rows], kind="stable")]
            graphs = quads.graphs[rows]
            starts = np.flatnonzero(np.diff(graphs, prepend=DEFAULT_GRAPH))
            for start, stop in pairwise([*starts, graphs.size]):
                self._graph(int(graphs[start])).load(*(column[rows[start:stop]] for column in quads[:3]))

    def snapshot(self) -> DatasetSnapshot:
        """All graphs as they are now."""
        with self.changing:
            named = {name: graph.index() for name, graph in self._named.items()}
            return DatasetSnapshot({DEFAULT_GRAPH: self.default.index(), **named})

    def held_ids(self) -> Iterator[Ids]:
        """The ids of the graphs' names and of all triples."""
        with self.changing:
            graphs = dict(self._named)
        yield np.fromiter(graphs, np.int64, len(graphs))
        for graph in (self.default, *graphs.values()):
            yield from graph.held_ids()

    def _graph(self, name: int) -> StoredGraph:
        if name == DEFAULT_GRAPH:
            return self.default
        return self._named.setdefault(name, StoredGraph())
