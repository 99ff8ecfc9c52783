"""Rows of a stored pattern, read in the store, beside a twin that keeps every triple with the moment it begins at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.pointers import pointers_add
from freshet.native.buffers.leaf_buffer import LeafPattern
from freshet.native.buffers.result_buffer import ResultBuffer
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.rdf.elements import Elements
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.store.dataset import StoredDataset
from freshet.store.graph import BEFORE_ALL_TIME
from naive_triples import TRIPLES, Triple, columns_of

NAMED = 77
PREDICATE = 7
BEFORE = -(2**63)


class Batch(NamedTuple):
    number: int
    first: int
    last: int
    due: np.ndarray


class NaiveLeaf:
    """Which rows there are, and when each begins."""

    def __init__(self, pattern: LeafPattern) -> None:
        self.pattern = pattern
        self.births: dict[tuple[int, ...], int] = {}
        self.fresh: dict[tuple[int, ...], int] = {}
        self.is_new = True

    def row_of(self, triple: Triple) -> tuple[int, ...] | None:
        if any(constant not in (0, term) for constant, term in zip(self.pattern.constants, triple, strict=True)):
            return None
        if any(triple[places[0]] != triple[place] for places in self.pattern.columns for place in places):
            return None
        return tuple(triple[places[0]] for places in self.pattern.columns)

    def step(self, batch: Batch, stored: dict[Triple, int]) -> None:
        self.fresh = {}
        for triple, time in stored.items():
            row, birth = self.row_of(triple), 2 * time + 1
            if row is None or row in self.births or birth > batch.last:
                continue
            if self.is_new and birth < batch.first:
                self.births[row] = birth
            else:
                self.births[row] = self.fresh[row] = max(birth, batch.first)
        self.is_new = False

    def probe(self, columns: tuple[int, ...], keys: list, moments: list[int], ties: int) -> list:
        return sorted(
            (left, *row)
            for left, (key, moment) in enumerate(zip(keys, moments, strict=True))
            for row, birth in self.births.items()
            if birth < moment + ties and tuple(row[column] for column in columns) == tuple(key)
        )


def patterns() -> Iterator[LeafPattern]:
    """Every shape of a pattern."""
    for variables in ("abc", "aba", "abb", "aab", "aaa", "-bc", "-bb", "ab-", "aa-", "-b-"):
        yield pattern_of(variables)
    for variables in ("a.b", "a.a", "-.b", "a.-", "-.-"):
        yield pattern_of(variables)


def pattern_of(shape: str) -> LeafPattern:
    """`-` is a vertex, `.` a predicate, all others are variables."""
    constants = tuple({"-": 2, ".": PREDICATE}.get(each, 0) for each in shape)
    names = dict.fromkeys(each for each in shape if each not in "-.")
    return LeafPattern(constants, tuple(tuple(at for at, each in enumerate(shape) if each == name) for name in names))


def values_of(leaf: StoredLeaf, rows: np.ndarray) -> list[tuple[int, ...]]:
    assert rows.dtype == np.int32
    assert (rows < leaf.row_capacity).all()
    columns = [leaf.values[rows, column].tolist() for column in range(len(leaf.pattern.columns))]
    assert all(leaf.values.item(row, at) == column[0] for at, column in enumerate(columns) for row in rows[:1].tolist())
    return list(zip(*columns, strict=True)) if columns else [()] * len(rows)


def subsets(count: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(count + 1) for chosen in permutations(range(count), size)]


def check(leaf: StoredLeaf, naive: NaiveLeaf, batch: Batch, keys: list[Triple], moments: list[int]) -> None:
    assert leaf.live == len(naive.births)
    fresh = leaf.fresh(batch.number)
    births = leaf.births(fresh).tolist()
    assert births == sorted(births)
    assert sorted(zip(values_of(leaf, fresh), births, strict=True)) == sorted(naive.fresh.items())
    assert not len(leaf.fresh(batch.number + 1))
    assert not len(leaf.dead(batch.number))
    old = leaf.old_rows(batch.first)
    assert sorted(values_of(leaf, old)) == sorted(row for row in naive.births if row not in naive.fresh)
    asked_at = [min(max(batch.first + moment, batch.first), batch.last) for moment in moments]
    for columns in subsets(len(leaf.pattern.columns)):
        asked = [tuple(key[column] for column in columns) for key in keys]
        index = leaf.index_on(columns)
        array = np.array(asked, np.int64).reshape(len(keys), len(columns))
        for ties in (0, 1):
            lefts, rows = index.probe(array, np.array(asked_at, np.int64), ties)
            assert (np.diff(lefts) >= 0).all()
            found = [(left, *row) for left, row in zip(lefts.tolist(), values_of(leaf, rows), strict=True)]
            assert sorted(found) == naive.probe(columns, asked, asked_at, ties)
            assert (np.bincount(lefts, minlength=len(keys)) <= index.counts(array)).all()
        assert index.rows_per_key() >= 1


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["load", "absorb", "absorb", "absorb", "named", "compact", "step", "step"]),
        TRIPLES,
        st.integers(0, 40),
    ),
    min_size=2,
    max_size=10,
)
KEYS = st.lists(st.tuples(*[st.sampled_from([1, 2, 3, 7, 2**62])] * 3), min_size=1, max_size=5)


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(list(patterns())),
    st.sampled_from([DEFAULT_GRAPH, NAMED]),
    STEPS,
    KEYS,
    st.lists(st.integers(0, 30), min_size=5, max_size=5),
    st.integers(0, 8),
)
def test_beside_its_twin(pattern, graph, steps, keys, moments, registered) -> None:
    """A leaf that is made in the midst of loads and streams, of which some are ahead of others, and come again."""
    store = StoredDataset()
    stored: dict[int, dict[Triple, int]] = {DEFAULT_GRAPH: {}, NAMED: {}}
    leaf: StoredLeaf | None = None
    naive = NaiveLeaf(pattern)
    results, pointed_to = ResultBuffer(2, 1), list[tuple[int, ...]]()
    number, last = 0, 4
    for at, (kind, triples, time) in enumerate([*steps, ("step", [], 50)]):
        if at == min(registered, len(steps)):
            leaf = StoredLeaf(pattern, store, graph)
            leaf.point_from(results, 1)
        if kind == "step":
            number, first, last = number + 1, last + 1, last + 1 + time
            batch = Batch(number, first, last, np.empty(0, np.int64))
            if leaf is not None:
                naive.step(batch, stored[graph])
                assert leaf.step(batch) == bool(naive.fresh)
                assert leaf.step(batch) == bool(naive.fresh)
                check(leaf, naive, batch, keys, moments[: len(keys)])
                assert values_of(leaf, results.pointed_to(1)) == pointed_to
                held = np.concatenate((leaf.live_rows(), *(_probed(leaf, columns, keys) for columns in [(), (0,)])))
                point_to(results, held)
                pointed_to += values_of(leaf, held)
        elif kind == "compact":  # what has come before the last moment, and nothing that comes later is seen before
            store.compact(last // 2 + 1)
        elif kind == "absorb":  # time goes on within a batch, and a batch may be behind or ahead of the moments
            times = np.arange(time, time + len(triples))
            store.absorb(Elements(times, *columns_of(triples)), "stream")
            for triple, came in zip(triples, times.tolist(), strict=True):
                stored[DEFAULT_GRAPH][triple] = min(stored[DEFAULT_GRAPH].get(triple, came), came)
        else:
            name = NAMED if kind == "named" else DEFAULT_GRAPH
            store.load(*columns_of(triples), name)
            stored[name].update(dict.fromkeys(triples, BEFORE_ALL_TIME))


def point_to(results: ResultBuffer, rows: np.ndarray) -> None:
    """Add results whose second column points to rows."""
    results.make_room(len(rows), 1)
    pointers_add(results.arrays, np.stack((np.zeros(len(rows), np.int32), rows), axis=1))


def _probed(leaf: StoredLeaf, columns: tuple[int, ...], keys: list[Triple]) -> np.ndarray:
    """Rows that are found by keys: those of the base have other numbers in each order."""
    if len(leaf.pattern.columns) < len(columns):
        return np.empty(0, np.int32)
    array = np.array([key[: len(columns)] for key in keys], np.int64).reshape(len(keys), len(columns))
    return leaf.index_on(columns).probe(array, np.full(len(keys), leaf._last), 1)[1]


def batch(number: int, first: int, last: int) -> Batch:
    return Batch(number, first, last, np.empty(0, np.int64))


def absorbed(store: StoredDataset, first: int, count: int, first_ms: int = 0, subjects: int = 500) -> Elements:
    numbers = np.arange(first, first + count)
    elements = Elements(
        np.arange(first_ms, first_ms + count), 1 + numbers % subjects, np.full(count, PREDICATE), 10**6 + numbers
    )
    store.absorb(elements, "stream")
    return elements


def test_nothing_that_comes_during_a_batch_shows() -> None:
    store = StoredDataset()
    absorbed(store, 0, 100)
    leaf = StoredLeaf(pattern_of("a.b"), store)
    leaf.step(batch(1, 0, 1000))
    absorbed(store, 100, 2000)
    keys = np.arange(1, 101).reshape(-1, 1)
    lefts, rows = leaf.index_on((0,)).probe(keys, np.full(100, 1000), 1)
    assert lefts.tolist() == list(range(100))
    assert values_of(leaf, rows) == [(1 + at, 10**6 + at) for at in range(100)]
    leaf.step(batch(2, 1001, 10_000))
    assert leaf.live == 2100
    assert len(leaf.index_on((0,)).probe(keys, np.full(100, 10_000), 1)[1]) == 500


def test_many_rows_that_wait_for_their_time() -> None:
    store = StoredDataset()
    leaf = StoredLeaf(pattern_of("a.b"), store)
    leaf.step(batch(1, 0, 10))
    for at in range(5):
        absorbed(store, 1000 * at, 1000, 1000 * at)
        leaf.step(batch(2 + at, 11 + at, 11 + at))
    assert leaf.live == 8
    assert leaf.held_bytes < 20 * 5000
    leaf.step(batch(8, 20, 8000))
    assert leaf.live == 4000
    assert leaf.births(leaf.fresh(8)).tolist() == [20, 20, *range(21, 8001, 2)]
    leaf.step(batch(9, 8001, 20_000))
    assert leaf.live == 5000
    leaf.step(batch(10, 20_001, 20_002))
    assert leaf.held_bytes == 0
    assert len(leaf.old_rows(20_001)) == 5000


def test_a_large_load_leaves_the_numbers_of_rows_as_they_are() -> None:
    store = StoredDataset()
    numbers = np.arange(1, 100_001)
    store.load(numbers[:10], np.full(10, PREDICATE), numbers[:10])
    leaf = StoredLeaf(pattern_of("a.b"), store)
    leaf.step(batch(1, 0, 10))
    old = leaf.old_rows(0)
    before = values_of(leaf, old)
    store.load(numbers, np.full(100_000, PREDICATE), numbers)
    leaf.step(batch(2, 11, 20))
    assert values_of(leaf, old) == before
    assert leaf.live == 100_000
    assert leaf.births(leaf.fresh(2)).tolist() == [11] * 99_990


def test_a_large_load_into_an_empty_graph_is_a_base() -> None:
    store = StoredDataset()
    numbers = np.arange(1, 100_001)
    leaf = StoredLeaf(pattern_of("a.b"), store)
    leaf.step(batch(1, 0, 10))
    store.load(numbers, np.full(100_000, PREDICATE), numbers)
    assert len(store.base()) == 100_000
    assert leaf.step(batch(2, 11, 20))
    assert leaf.births(leaf.fresh(2)).tolist() == [11] * 100_000
    index, keys = leaf.index_on((1,)), np.array([[5]])
    assert not len(index.probe(keys, np.array([11]), 0)[1])
    assert values_of(leaf, index.probe(keys, np.array([11]), 1)[1]) == [(5, 5)]


def test_the_base_may_be_another_when_no_leaf_is_left() -> None:
    store = StoredDataset()
    numbers = np.arange(1, 100_001)
    store.load(numbers[:10], np.full(10, PREDICATE), numbers[:10])
    leaf = StoredLeaf(pattern_of("a.b"), store)
    del leaf
    store.load(numbers, np.full(100_000, PREDICATE), numbers)
    assert len(store.base()) == 100_000


def test_it_holds_nothing_of_what_is_absorbed() -> None:
    store = StoredDataset()
    leaves = [StoredLeaf(pattern_of(shape), store) for shape in ("a.b", "abc", "a.a")]
    for at in range(20):
        absorbed(store, 1000 * at, 1000, 1000 * at)
        for leaf in leaves:
            leaf.step(batch(at + 1, 2000 * at, 2000 * at + 1999))
    assert [leaf.live for leaf in leaves] == [20_000, 20_000, 0]
    assert sum(leaf.held_bytes for leaf in leaves) <= 3 * 4000  # the fresh rows of the last batch
    assert leaves[0].sizes() == (20_000, [500, 20_000])
    assert leaves[0].index_on((0,)).rows_per_key() == 40


def test_rows_that_come_after_a_compaction_are_fresh() -> None:
    """Results that point to compacted rows point to the same triples, and the rows after them begin once."""
    store = StoredDataset()
    leaf, results = StoredLeaf(pattern_of("a.b"), store), ResultBuffer(2, 1)
    leaf.point_from(results, 1)
    expected = []
    for at in range(10):
        absorbed(store, 100 * at, 100, 100 * at)
        assert leaf.step(batch(at + 1, 200 * at, 200 * at + 199))
        fresh = leaf.fresh(at + 1)
        assert leaf.values[fresh, 1].tolist() == list(range(10**6 + 100 * at, 10**6 + 100 * (at + 1)))
        assert leaf.live == 100 * (at + 1)
        point_to(results, fresh)
        expected += values_of(leaf, fresh)
        assert values_of(leaf, results.pointed_to(1)) == expected
        if at % 3 == 2:
            assert store.compact(10**6) == 300
    assert not leaf.step(batch(11, 2000, 2100))
    assert values_of(leaf, results.pointed_to(1)) == expected
    assert len(store.added().times) == 100


def test_what_was_loaded_into_an_empty_graph_is_fresh_whatever_is_compacted() -> None:
    store = StoredDataset()
    leaf = StoredLeaf(pattern_of("a.b"), store)
    leaf.step(batch(1, 0, 99))
    loaded = np.arange(1, (1 << 16) + 1)  # so many that they replace the base
    store.load(loaded, np.full(len(loaded), PREDICATE), loaded + 10**6)
    store.absorb(Elements(np.zeros(3, np.int64), np.arange(1, 4), np.full(3, PREDICATE + 1), np.arange(1, 4)))
    assert store.compact(10**6) == 0
    leaf.step(batch(2, 100, 199))
    assert np.array_equal(np.sort(leaf.values[leaf.fresh(2), 0]), loaded)
    assert store.compact(10**6) == 3
    leaf.step(batch(3, 200, 299))
    assert leaf.live == len(loaded)
    assert not len(leaf.fresh(3))


def test_what_no_batch_has_seen_is_not_compacted() -> None:
    store = StoredDataset()
    leaf = StoredLeaf(pattern_of("a.b"), store)
    absorbed(store, 0, 100, 0)
    leaf.step(batch(1, 0, 99))  # up to the time 49
    assert store.compact(10**6) == 50
    absorbed(store, 100, 100, 100)
    assert store.compact(10**6) == 0  # of the base that it reads it has seen nothing yet
    leaf.step(batch(2, 100, 399))
    assert store.compact(10**6) == 150
    leaf.step(batch(3, 400, 401))
    assert leaf.live == 200
    assert not len(leaf.fresh(3))


def test_it_is_read_while_another_thread_absorbs() -> None:
    """Each batch shows the rows that were there at its step, each of them once, whatever comes meanwhile."""
    store = StoredDataset()
    leaf = StoredLeaf(pattern_of("a.b"), store)
    writer = threading.Thread(target=lambda: [absorbed(store, 500 * at, 500, subjects=50) for at in range(200)])
    writer.start()
    keys, number, seen = np.arange(1, 51).reshape(-1, 1), 0, 0
    while seen < 100_000:
        number += 1
        leaf.step(batch(number, 1000 * number, 1000 * number + 999))
        fresh, found = leaf.fresh(number), leaf.index_on((0,)).probe(keys, np.full(50, 1000 * number + 999), 1)[1]
        old = leaf.old_rows(1000 * number)
        assert leaf.live == len(found) == len(np.unique(found)) == len(fresh) + len(old)
        assert leaf.live >= seen
        assert leaf.live % 500 == 0
        seen = leaf.live
    writer.join()


def test_the_graph_is_read_where_it_is_once_all_of_it_holds() -> None:
    store = StoredDataset()
    one, two, three = (np.array([number]) for number in (1, 2, 3))
    store.load(one, two, three)
    leaf = StoredLeaf(LeafPattern((0, 0, 0), ((0,), (1,), (2,))), store)
    none = np.empty(0, np.int64)
    leaf.step(Batch(1, 0, 10, none))
    assert leaf.graph_at(10) is store.named().graph(DEFAULT_GRAPH)
    store.absorb(Elements(np.array([7]), two, two, two))  # begins at the moment 15
    leaf.step(Batch(2, 11, 14, none))
    assert leaf.graph_at(14) is None
    leaf.step(Batch(3, 15, 20, none))
    assert leaf.graph_at(20) is leaf.graph_at(15) is store.named().graph(DEFAULT_GRAPH)
    store.absorb(Elements(np.array([11]), three, two, two))  # begins at 23
    leaf.step(Batch(4, 21, 30, none))
    assert leaf.graph_at(22) is None
    assert leaf.graph_at(23) is not None
