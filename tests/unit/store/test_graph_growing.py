"""Random loads, absorbed batches and snapshots of them beside plain sets of triples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.elements import Elements
from freshet.rdf.triples import ANY, DEFAULT_GRAPH, Triples
from freshet.store.dataset import DatasetSnapshot, StoredDataset
from freshet.store.graph import BEFORE_ALL_TIME

Triple = tuple[int, int, int]
Pattern = tuple[int, int, int]
Kinds = tuple[str, str, str]

NAMED = 77
TERMS = st.sampled_from([1, 2, 3, 5, 2**62, 2**63 - 1, -1, -(2**63)])
PREDICATES = st.sampled_from([1, 7, -1, 2**63 - 1])
TRIPLES = st.lists(st.tuples(TERMS, PREDICATES, TERMS), max_size=12)
STEPS = st.lists(
    st.tuples(st.sampled_from(["load", "absorb", "absorb", "named", "read"]), TRIPLES, st.integers(0, 9)), max_size=8
)
PATTERNS = st.tuples(st.just(ANY) | TERMS, st.just(ANY) | PREDICATES, st.just(ANY) | TERMS)
KINDS = st.tuples(*[st.sampled_from(["column", "constant", "any"])] * 3).filter(lambda kinds: "column" in kinds)


def columns_of(triples: list[Triple]) -> Triples:
    return Triples(*(np.ascontiguousarray(column) for column in np.array(triples, np.int64).reshape(-1, 3).T))


def elements_of(triples: list[Triple], time: int) -> Elements:
    return Elements(np.full(len(triples), time, np.int64), *columns_of(triples))


def naive_match(triples: set[Triple], pattern: Pattern) -> list[Triple]:
    return sorted(
        triple for triple in triples if all(wanted in (ANY, term) for wanted, term in zip(pattern, triple, strict=True))
    )


def rows(triples: Triples) -> list[Triple]:
    return sorted(zip(*(column.tolist() for column in triples), strict=True))


class Twin:
    """A store, what should be in it, and the snapshots that were taken on the way with what should be in those."""

    def __init__(self, shards: int) -> None:
        self.stored = StoredDataset(shards=shards)
        self.expected: dict[int, set[Triple]] = {DEFAULT_GRAPH: set()}
        self.times: dict[Triple, int] = {}
        self.taken: list[tuple[DatasetSnapshot, dict[int, set[Triple]]]] = []

    def step(self, kind: str, triples: list[Triple], time: int) -> None:
        if kind == "absorb":
            self.stored.absorb(elements_of(triples, time), "stream")
        elif kind == "read":
            assert rows(self.stored.snapshot().graph(0).match(ANY, ANY, ANY)) == sorted(self.expected[DEFAULT_GRAPH])
        else:
            self.stored.load(*columns_of(triples), NAMED if kind == "named" else DEFAULT_GRAPH)
        if kind != "read":
            self.expected.setdefault(NAMED if kind == "named" else DEFAULT_GRAPH, set()).update(triples)
        if kind in ("absorb", "load"):
            for triple in triples:
                self.times[triple] = min(self.times.get(triple, 10**6), time if kind == "absorb" else BEFORE_ALL_TIME)
        self.taken.append((self.stored.snapshot(), {name: set(graph) for name, graph in self.expected.items()}))


@pytest.mark.parametrize("shards", [1, 4])
@settings(deadline=None, max_examples=150)
@given(steps=STEPS, patterns=st.lists(PATTERNS, min_size=1, max_size=6), kinds=KINDS)
def test_snapshots(
    shards: int, steps: list[tuple[str, list[Triple], int]], patterns: list[Pattern], kinds: Kinds
) -> None:
    twin = Twin(shards)
    for step in steps:
        twin.step(*step)
    for snapshot, expected in twin.taken:
        assert snapshot.names().tolist() == [name for name in expected if name != DEFAULT_GRAPH]
        for name, triples in expected.items():
            check_reader(snapshot, name, triples, patterns, kinds)
    twin.stored.stop()


def check_reader(
    snapshot: DatasetSnapshot, name: int, triples: set[Triple], patterns: list[Pattern], kinds: Kinds
) -> None:
    reader = snapshot.graph(name)
    assert len(reader) == len(triples)
    for pattern in patterns:
        found = naive_match(triples, pattern)
        assert rows(reader.match(*pattern)) == found
        assert reader.count(*pattern) >= len(found)
        for place in (0, 2):
            assert reader.distinct(pattern[1], place) >= len(
                {triple[place] for triple in naive_match(triples, (ANY, pattern[1], ANY))}
            )
    columns = np.array(patterns, np.int64).T
    columns[columns == ANY] = 4
    places = [
        np.ascontiguousarray(column) if kind == "column" else int(column[0]) if kind == "constant" else ANY
        for column, kind in zip(columns, kinds, strict=True)
    ]
    numbers, hits = reader.probe(*places)
    assert (np.diff(numbers) >= 0).all()
    wanted = sorted(
        (number, *triple)
        for number in range(len(patterns))
        for triple in naive_match(
            triples, tuple(int(place[number]) if isinstance(place, np.ndarray) else place for place in places)
        )
    )
    assert sorted(zip(numbers.tolist(), *(column.tolist() for column in hits), strict=True)) == wanted


@settings(deadline=None, max_examples=60)
@given(steps=STEPS)
def test_times(steps: list[tuple[str, list[Triple], int]]) -> None:
    """A triple has the earliest time it came with; base and added together have all."""
    twin = Twin(1)
    for step in steps:
        twin.step(*step)
    elements = twin.stored.elements()
    assert (np.diff(elements.times) >= 0).all()
    found: dict[Triple, int] = {}
    for time, *triple in zip(*(column.tolist() for column in elements), strict=True):
        found[tuple(triple)] = min(found.get(tuple(triple), 10**6), time)
    assert found == twin.times
    added = twin.stored.added()
    in_both = {*rows(twin.stored.base().match(ANY, ANY, ANY)), *rows(Triples(*added[1:]))}
    assert in_both == twin.expected[DEFAULT_GRAPH]
    assert (np.diff(added.times) >= 0).all()
