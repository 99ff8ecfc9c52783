"""Triples are deleted and inserted again while others read: every snapshot keeps what it had, as a naive set says."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from counts import count
from freshet.rdf.elements import Elements
from freshet.rdf.triples import ANY, DEFAULT_GRAPH, Triples
from freshet.store.dataset import DatasetSnapshot, StoredDataset
from freshet.store.graph import Reader

Triple = tuple[int, int, int]

TERMS = range(1, 7)
PREDICATES = range(11, 14)
NAMED = 99


def columns(triples: list[Triple]) -> Triples:
    return Triples(*np.array(triples, np.int64).reshape(-1, 3).T.copy())


def some_triples(random: Random, most: int = 12) -> list[Triple]:
    return [
        (random.choice(TERMS), random.choice(PREDICATES), random.choice(TERMS)) for _ in range(random.randint(1, most))
    ]


def as_list(triples: Triples) -> list[Triple]:
    return sorted(zip(*(column.tolist() for column in triples), strict=True))


def matches(triple: Triple, pattern: Triple) -> bool:
    return all(asked in (ANY, term) for term, asked in zip(triple, pattern, strict=True))


def check_graph(graph: Reader, expected: set[Triple], random: Random) -> None:
    assert len(graph) == len(expected)
    for pattern in product((ANY, 2, 5), (ANY, 11, 13, 50), (ANY, 2, 3)):
        found = sorted(triple for triple in expected if matches(triple, pattern))
        assert as_list(graph.match(*pattern)) == found
        assert graph.count(*pattern) >= len(found)
    keys = [random.choice(TERMS) for _ in range(5)]
    for asked in product("ack", "ack", "ack"):  # any, a constant, a column of keys
        if "k" not in asked:
            continue
        constants = 2, 12, 3
        values = [keys, [11, 13, 12, 12, 50], keys[::-1]]
        given = [
            ANY if kind == "a" else constant if kind == "c" else np.array(column, np.int64)
            for kind, constant, column in zip(asked, constants, values, strict=True)
        ]
        numbers, found = graph.probe(*given)
        assert (np.diff(numbers) >= 0).all()
        rows = sorted(zip(numbers.tolist(), *(column.tolist() for column in found), strict=True))
        patterns = [
            tuple(int(each[at]) if isinstance(each, np.ndarray) else each for each in given) for at in range(len(keys))
        ]
        assert rows == sorted(
            (at, *triple) for at, pattern in enumerate(patterns) for triple in expected if matches(triple, pattern)
        )


@pytest.mark.parametrize("seed", range(count(40)))
def test_snapshots_keep_what_they_had(seed: int) -> None:
    random = Random(seed)
    stored = StoredDataset()
    graphs: dict[int, set[Triple]] = {DEFAULT_GRAPH: set(), NAMED: set()}
    kept: list[tuple[DatasetSnapshot, dict[int, set[Triple]]]] = []
    for step in range(30):
        graph = random.choice((DEFAULT_GRAPH, DEFAULT_GRAPH, NAMED))
        triples = some_triples(random)
        action = random.choice(("load", "absorb", "delete", "delete", "compact", "drop"))
        if action == "load":
            stored.load(*columns(triples), graph)
            graphs[graph] |= set(triples)
        elif action == "absorb":
            times = np.array([random.randint(step, step + 3) for _ in triples], np.int64)
            stored.absorb(Elements(times, *columns(triples)))
            graphs[DEFAULT_GRAPH] |= set(triples)
        elif action == "delete":
            were_there = stored.delete(*columns(triples), graph)
            gone = {triple for triple, there in zip(triples, were_there.tolist(), strict=True) if there}
            assert gone == graphs[graph] & set(triples)
            assert were_there.sum() == len(gone)  # one that is named twice counts once
            graphs[graph] -= gone
        elif action == "compact":
            stored.compact(random.choice((step, 1 << 40)))
        elif action == "drop" and random.random() < 0.3:
            stored.drop(NAMED)
            graphs[NAMED] = set()
        if random.random() < 0.4 and len(kept) < 10:
            kept.append((stored.snapshot(), {name: set(each) for name, each in graphs.items()}))
        now = stored.snapshot()
        for name, expected in graphs.items():
            elements = stored.elements(name)
            assert set(as_list(Triples(*elements[1:]))) == expected
            if random.random() < 0.3:
                check_graph(now.graph(name), expected, random)
    for snapshot, expected_graphs in kept:
        for name, expected in expected_graphs.items():
            check_graph(snapshot.graph(name), expected, random)


def test_a_graph_that_is_replaced_again_and_again_is_swept() -> None:
    stored = StoredDataset()
    rows = np.arange(1, 1001, dtype=np.int64)
    seven, old = np.full(1000, 7, np.int64), np.full(1000, 1, np.int64)
    stored.load(rows, seven, old, NAMED)
    for value in range(2, 200):
        stored.delete(rows, seven, old, NAMED)
        old = np.full(1000, value, np.int64)
        stored.load(rows, seven, old, NAMED)
    bytes_used = stored.nbytes()
    assert len(stored.snapshot().graph(NAMED)) == 1000
    assert bytes_used.appended < 1000 * 44 * 4  # some deletions after each other, not two hundred


def test_what_is_deleted_is_left_out_when_rows_are_compacted() -> None:
    stored = StoredDataset()
    rows = np.arange(1, 1001, dtype=np.int64)
    seven = np.full(1000, 7, np.int64)
    stored.absorb(Elements(rows, rows, seven, rows))
    stored.delete(rows[:900], seven[:900], rows[:900])
    reader = stored.snapshot()
    assert stored.compact(2000) == 1000
    assert len(stored.base()) == 100
    assert stored.snapshot().graph(DEFAULT_GRAPH).match(ANY, 7, ANY).subjects.tolist() == rows[900:].tolist()
    assert len(reader.graph(DEFAULT_GRAPH)) == 100


def test_deletions_are_counted_only_where_something_points_to_rows() -> None:
    """Graphs that come and go leave nothing behind."""
    stored = StoredDataset()
    for graph in range(100, 150):
        stored.load(*columns([(1, 11, 2)]), graph)
        stored.delete(*columns([(1, 11, 2)]), graph)
        stored.drop(graph)
    assert not stored._deletions
