"""Random loads, absorbed batches, compactions and snapshots of them beside plain sets of triples."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.triples import ANY, DEFAULT_GRAPH, Triples
from freshet.store.dataset import DatasetSnapshot, StoredDataset
from freshet.store.graph import BEFORE_ALL_TIME
from naive_triples import (
    KINDS,
    PATTERNS,
    TRIPLES,
    Kinds,
    Pattern,
    Triple,
    columns_of,
    elements_of,
    naive_match,
    naive_probe,
    places_of,
    rows,
)

NAMED = 77
STEPS = st.lists(
    st.tuples(st.sampled_from(["load", "absorb", "absorb", "named", "read", "compact"]), TRIPLES, st.integers(0, 9)),
    max_size=8,
)


class Twin:
    """A store, what should be in it, and the snapshots that were taken on the way with what should be in those."""

    def __init__(self) -> None:
        self.stored = StoredDataset()
        self.expected: dict[int, set[Triple]] = {DEFAULT_GRAPH: set()}
        self.times: dict[Triple, int] = {}
        self.taken: list[tuple[DatasetSnapshot, dict[int, set[Triple]]]] = []

    def step(self, kind: str, triples: list[Triple], time: int) -> None:
        if kind == "absorb":
            self.stored.absorb(elements_of(triples, time), "stream")
        elif kind == "read":
            assert rows(self.stored.snapshot().graph(0).match(ANY, ANY, ANY)) == sorted(self.expected[DEFAULT_GRAPH])
        elif kind == "compact":
            self.compact(time)
        else:
            self.stored.load(*columns_of(triples), NAMED if kind == "named" else DEFAULT_GRAPH)
        if kind not in ("read", "compact"):
            self.expected.setdefault(NAMED if kind == "named" else DEFAULT_GRAPH, set()).update(triples)
        if kind in ("absorb", "load"):
            for triple in triples:
                self.times[triple] = min(self.times.get(triple, 10**6), time if kind == "absorb" else BEFORE_ALL_TIME)
        self.taken.append((self.stored.snapshot(), {name: set(graph) for name, graph in self.expected.items()}))

    def compact(self, settled_ms: int) -> None:
        """Rows before the first that came at a time or later are compacted, and have been there always."""
        before = self.stored.added()
        rows_before = len(self.stored.base())
        count = self.stored.compact(settled_ms)
        assert len(self.stored.base()) == rows_before + count
        assert len(self.stored.added().times) == len(before.times) - count
        assert count == len(before.times) or (before.times >= settled_ms).any()
        for triple in rows(self.stored.base().match(ANY, ANY, ANY)):
            assert self.times[triple] < settled_ms or self.times[triple] == BEFORE_ALL_TIME
            self.times[triple] = BEFORE_ALL_TIME


@settings(deadline=None, max_examples=150)
@given(steps=STEPS, patterns=st.lists(PATTERNS, min_size=1, max_size=6), kinds=KINDS)
def test_snapshots(steps: list[tuple[str, list[Triple], int]], patterns: list[Pattern], kinds: Kinds) -> None:
    twin = Twin()
    for step in steps:
        twin.step(*step)
    for snapshot, expected in twin.taken:
        assert snapshot.names().tolist() == [name for name in expected if name != DEFAULT_GRAPH]
        for name, triples in expected.items():
            check_reader(snapshot, name, triples, patterns, kinds)


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
    places = places_of(patterns, kinds)
    numbers, hits = reader.probe(*places)
    assert (np.diff(numbers) >= 0).all()
    wanted = naive_probe(triples, len(patterns), places)
    assert sorted(zip(numbers.tolist(), *(column.tolist() for column in hits), strict=True)) == wanted


@settings(deadline=None, max_examples=60)
@given(steps=STEPS)
def test_times(steps: list[tuple[str, list[Triple], int]]) -> None:
    """A triple has the earliest time it came with; base and added together have all."""
    twin = Twin()
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
