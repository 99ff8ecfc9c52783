"""Graphs that grow, and snapshots of them that do not."""

from __future__ import annotations

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.triples import ANY, DEFAULT_GRAPH
from freshet.store.dataset import StoredDataset, rows_by_graph


def load(stored: StoredDataset, *rows: tuple[int, int, int, int], names: tuple[int, ...] = ()) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    for name, chosen in rows_by_graph(columns[3], *names):
        stored.load(*(column[chosen] for column in columns[:3]), graph=name)


def test_graphs_stay_apart() -> None:
    stored = StoredDataset()
    load(stored, (1, 2, 3, 20), (1, 2, 4, DEFAULT_GRAPH), (5, 2, 3, 10), (6, 2, 3, 20), (6, 2, 3, 20))
    snapshot = stored.snapshot()
    assert sorted(snapshot.names().tolist()) == [10, 20]
    assert sorted(snapshot.graph(20).match(ANY, 2, 3).subjects.tolist()) == [1, 6]
    assert snapshot.graph(10).match(ANY, ANY, ANY).subjects.tolist() == [5]
    assert snapshot.graph(DEFAULT_GRAPH).match(ANY, ANY, ANY).objects.tolist() == [4]
    assert snapshot.graph(99).count(ANY, ANY, ANY) == 0


def test_named_but_empty() -> None:
    stored = StoredDataset()
    load(stored, names=(7,))
    load(stored, (1, 2, 3, DEFAULT_GRAPH), names=(DEFAULT_GRAPH,))
    assert stored.snapshot().names().tolist() == [7]


def test_a_snapshot_stays_as_it_was() -> None:
    stored = StoredDataset()
    stored.load(np.array([1]), np.array([2]), np.array([3]))
    before = stored.snapshot()
    stored.absorb(Elements(*(np.array([value]) for value in (1000, 4, 2, 3))))
    load(stored, (1, 2, 3, 20))
    assert before.graph(DEFAULT_GRAPH).match(ANY, 2, 3).subjects.tolist() == [1]
    assert before.names().size == 0
    after = stored.snapshot()
    assert sorted(after.graph(DEFAULT_GRAPH).match(ANY, 2, 3).subjects.tolist()) == [1, 4]
    assert after.names().tolist() == [20]
    assert stored.elements(20).subjects.tolist() == [1]
    assert stored.elements(21).subjects.tolist() == []


def test_an_index_is_made_once() -> None:
    stored = StoredDataset()
    stored.load(np.array([1, 1]), np.array([2, 2]), np.array([3, 3]))
    assert stored.elements().subjects.tolist() == [1, 1]
    index = stored.snapshot().graph(DEFAULT_GRAPH)
    assert len(index) == 1
    assert stored.snapshot().graph(DEFAULT_GRAPH) is index
    stored.load(np.array([1]), np.array([2]), np.array([3]))
    assert stored.snapshot().graph(DEFAULT_GRAPH) is index
    stored.load(np.array([1]), np.array([2]), np.array([4]))
    assert len(stored.snapshot().graph(DEFAULT_GRAPH)) == 2
    assert stored.elements().objects.tolist() == [3, 4]
