"""The dataset that FROM and FROM NAMED describe (SPARQL 1.1, 13.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from freshet.kernels.joins import number_rows
from freshet.oneshot.dataset import DEFAULT_GRAPH, Dataset, GraphReader, Ids, Triples
from freshet.rdf.arrow import read_only


class DatasetView:
    """Some graphs of a dataset: those merged into the default graph, and those that keep their names."""

    def __init__(self, dataset: Dataset, default_graphs: Ids, named_graphs: Ids) -> None:
        self._dataset = dataset
        self._names = np.intersect1d(named_graphs, dataset.names())
        present = np.intersect1d(default_graphs, dataset.names())
        readers = [dataset.graph(name) for name in present.tolist()]
        self._default: GraphReader = readers[0] if len(readers) == 1 else MergedGraph(readers)

    def graph(self, name: int) -> GraphReader:
        if name == DEFAULT_GRAPH:
            return self._default
        return self._dataset.graph(name) if (self._names == name).any() else MergedGraph([])

    def names(self) -> Ids:
        return self._names


class WindowedDataset:
    """A dataset with the contents of windows under their names; where they are `merged`, in the default graph too."""

    def __init__(
        self, dataset: Dataset, windows: Mapping[int, GraphReader], outside: GraphReader, *, merged: bool
    ) -> None:
        self._dataset = dataset
        self._windows = windows
        self._outside = MergedGraph([*windows.values(), outside]) if merged else outside

    def graph(self, name: int) -> GraphReader:
        if name == DEFAULT_GRAPH:
            return self._outside
        return self._windows[name] if name in self._windows else self._dataset.graph(name)

    def names(self) -> Ids:
        return self._dataset.names()


class MergedGraph:
    """The triples of several graphs, each once. Its counts are upper bounds."""

    def __init__(self, readers: Sequence[GraphReader]) -> None:
        self._readers = tuple(readers)

    def count(self, subject: int, predicate: int, object: int) -> int:
        return sum(reader.count(subject, predicate, object) for reader in self._readers)

    def distinct(self, predicate: int, place: int) -> int:
        return sum(reader.distinct(predicate, place) for reader in self._readers)

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        found = [reader.match(subject, predicate, object) for reader in self._readers]
        triples = _concatenated(found)
        return Triples(*(column[_firsts(*triples)] for column in triples))

    def probe(self, subjects: Ids | int, predicates: Ids | int, objects: Ids | int) -> tuple[Ids, Triples]:
        found = [reader.probe(subjects, predicates, objects) for reader in self._readers]
        rows = np.concatenate([np.empty(0, np.int64), *(each for each, _ in found)])
        triples = _concatenated([each for _, each in found])
        kept = _firsts(rows, *triples)
        kept = kept[np.argsort(rows[kept], kind="stable")]
        return rows[kept], Triples(*(column[kept] for column in triples))


def _concatenated(parts: Sequence[Triples]) -> Triples:
    nothing = np.empty(0, np.int64)
    return Triples(*(np.concatenate([nothing, *(part[at] for part in parts)]) for at in range(3)))


def _firsts(*columns: Ids) -> Ids:
    """The rows that no earlier row is equal to."""
    _, firsts = number_rows(read_only(np.stack(columns, axis=1)))
    result: Ids = firsts
    return result
