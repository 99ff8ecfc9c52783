"""Appended triples beside a plain set of them, through many growths of the tables and the rows."""

from __future__ import annotations

import numpy as np
import pytest

from freshet.native.memory.term_collector import reachable_ids
from freshet.rdf.elements import Elements
from freshet.rdf.triples import ANY
from freshet.store import appended_arrays, tables_ahead
from freshet.store.dataset import DatasetSnapshot, StoredDataset
from freshet.store.mapped_files import is_mapped, reserve_array
from freshet.store.tables_ahead import GrowingTable, TableAhead
from naive_triples import Triple, naive_match, rows

LARGEST = 2**62


def random_batch(random: np.random.Generator, size: int, time: int) -> Elements:
    subjects = np.where(random.random(size) < 0.5, random.integers(1, 60, size), random.integers(1, LARGEST, size))
    objects = np.where(random.random(size) < 0.5, random.integers(1, 900, size), random.integers(1, LARGEST, size))
    return Elements(np.full(size, time), subjects, random.integers(1, 6, size), objects)


def triples_of(elements: Elements) -> list[Triple]:
    return list(zip(*(column.tolist() for column in elements[1:]), strict=True))


def check(snapshot: DatasetSnapshot, expected: set[Triple], random: np.random.Generator) -> None:
    graph = snapshot.graph(0)
    assert len(graph) == len(expected)
    assert rows(graph.match(ANY, ANY, ANY)) == sorted(expected)
    some = [tuple(each) for each in random.permutation(np.array(sorted(expected), object))[:40]]
    for subject, predicate, object_ in some[:8]:
        for pattern in ((subject, predicate, ANY), (ANY, predicate, object_), (subject, predicate, object_)):
            assert rows(graph.match(*pattern)) == naive_match(expected, pattern)
    columns = [np.array([each[place] for each in some], np.int64) for place in range(3)]
    numbers, _ = graph.probe(*columns)
    assert numbers.tolist() == list(range(len(some)))
    absent = graph.probe(columns[0], columns[1], columns[2] + 1)[0].tolist()
    assert absent == [at for at, (s, p, o) in enumerate(some) if (s, p, o + 1) in expected]


@pytest.mark.parametrize("sizes", [(1, 30), (200, 700), (1, 4000)])
@pytest.mark.parametrize("refused", [False, True])
def test_growing(monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, int], refused: bool) -> None:
    """Also where the system reserves nothing."""
    monkeypatch.setattr(tables_ahead, "_SMALL", 0)
    monkeypatch.setattr(appended_arrays, "_LONG", 1 << 11)
    monkeypatch.setattr(appended_arrays, "_RESERVED", 1 << 12)
    if refused:
        for module in (tables_ahead, appended_arrays):
            monkeypatch.setattr(module, "reserve_array", lambda count, kind: None)
    taken: list[TableAhead | None] = []
    real = GrowingTable.take
    monkeypatch.setattr(GrowingTable, "take", lambda *given: taken.append(real(*given)) or taken[-1])
    random = np.random.default_rng(sum(sizes) + 1)
    stored, expected = StoredDataset(), set()
    kept: list[tuple[DatasetSnapshot, set[Triple]]] = []
    time, next_look = 0, 1000
    while len(expected) < 12_000:
        elements = random_batch(random, int(random.integers(*sizes)), time)
        stored.absorb(elements, "stream")
        expected.update(triples_of(elements))
        time += 1
        if len(expected) > next_look:
            kept.append((stored.snapshot(), set(expected)))
            next_look += 4000
    for snapshot, then in kept:
        check(snapshot, then, random)
    check(stored.snapshot(), expected, random)
    if sizes == (1, 30):  # a batch that is large beside the tables leaves no time
        assert any(table is not None for table in taken)


def test_the_next_table_is_ready_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left to do when it is taken is no more than a few batches."""
    monkeypatch.setattr(tables_ahead, "_SMALL", 0)
    left: list[int] = []
    real = TableAhead.finish

    def finish(self: TableAhead, used: int, enter: tables_ahead.Enter) -> None:
        left.append(self._smaller.size - self._moved + used - self._entered)
        real(self, used, enter)

    monkeypatch.setattr(TableAhead, "finish", finish)
    random, stored = np.random.default_rng(3), StoredDataset()
    for time in range(1200):
        stored.absorb(random_batch(random, 50, time), "stream")
    assert len(left) >= 9  # three tables, from 2,048 slots on
    assert max(left) <= 4 * 50


def test_what_is_reserved_is_empty_and_takes_part_in_no_sweep() -> None:
    room = reserve_array(1 << 20, np.int64)
    assert room is not None
    assert not room.any()
    room[5] = 7
    assert room.sum() == 7
    assert is_mapped(room[3:])


def test_terms_of_appended_triples_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appended_arrays, "_LONG", 1 << 11)
    monkeypatch.setattr(appended_arrays, "_RESERVED", 1 << 22)
    random, stored = np.random.default_rng(4), StoredDataset()
    terms: set[int] = set()
    for time in range(20):
        elements = random_batch(random, 300, time)
        stored.absorb(elements, "stream")
        terms.update(*(column.tolist() for column in elements[1:]))
    held = list(reachable_ids(stored, stored.snapshot()))
    assert terms <= set(np.concatenate(held).tolist())
    assert sum(map(len, held)) < 100_000  # and not the room
