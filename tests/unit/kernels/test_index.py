"""The one-way index and the ring index against dictionaries of lists."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.native.buffers.one_way_index import OneWayIndex
from freshet.native.buffers.ring_index import Lives, RingIndex
from freshet.native.moments import OPEN

keys = st.tuples(st.integers(0, 6), st.integers(-2, 2))
STILL = Lives(np.empty(0, np.int64), np.empty(0, np.int64), True)


def as_keys(rows):
    return np.array(rows, np.int64).reshape(len(rows), 2)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(keys, max_size=40), st.randoms(use_true_random=False))))
def test_one_way_index_counts_like_a_counter(steps):
    index, counter, held = OneWayIndex(2), Counter(), []
    for added, random in steps:
        entries, fresh = index.add(as_keys(added))
        seen = Counter(counter)
        for key, entry, new in zip(added, entries, fresh, strict=True):
            assert new == (seen[key] == 0)
            assert tuple(index.keys[entry]) == key
            seen[key] += 1
            held.append((key, entry))
        counter.update(added)
        random.shuffle(held)
        leaving, held = held[: len(held) // 2], held[len(held) // 2 :]
        dead = index.release(np.array([entry for _, entry in leaving], np.int32))
        counter.subtract(key for key, _ in leaving)
        assert {tuple(index.keys[entry]) for entry in dead} == {key for key, _ in leaving if counter[key] == 0}
        assert index.live == sum(count > 0 for count in counter.values())
        assert {tuple(index.keys[e]) for e in index.live_entries()} == {k for k, n in counter.items() if n}


def test_one_way_index_grows_and_deletes_idle_keys_in_batches():
    index = OneWayIndex(2)
    for start in range(0, 20_000, 1_000):
        rows = as_keys([(start + n, n) for n in range(1_000)])
        entries, fresh = index.add(rows)
        assert fresh.all()
        assert len(index.release(entries)) == 1_000
    assert index.live == 0
    assert index.capacity <= 4_096


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(keys, max_size=150), st.randoms(use_true_random=False)), max_size=8))
def test_ring_index_gives_the_rows_of_a_key_newest_first(steps):
    ring, rings, live = RingIndex((2, 0)), defaultdict(list), []
    born = np.zeros(1_200, np.int64)
    values = np.full((1_200, 3), -1, np.int64)
    next_row = 0
    for step, (added, random) in enumerate(steps):
        rows = np.arange(next_row, next_row + len(added), dtype=np.int32)
        next_row += len(added)
        born[rows] = step
        values[rows[:, None], [2, 0]] = as_keys(added)
        ring.link(rows, values)
        for row, key in zip(rows, added, strict=True):
            rings[key].insert(0, row)
            live.append((row, key))
        random.shuffle(live)
        leaving, live = live[: len(live) // 3], live[len(live) // 3 :]
        ring.unlink(np.array([row for row, _ in leaving], np.int32))
        for row, key in leaving:
            rings[key].remove(row)
        asked = [*sorted(rings), (99, 99)]
        lives = Lives(born, np.where(np.arange(1_200) % 5, OPEN, step), False)
        for moment, ties in ((step, 1), (step, 0), (step - 1, 1)):
            lefts, found = ring.probe(as_keys(asked), np.full(len(asked), moment), ties, lives)
            expected = [
                (at, row)
                for at, key in enumerate(asked)
                for row in rings[key]
                if born[row] < moment + ties and lives.died[row] > moment
            ]
            assert list(zip(lefts, found, strict=True)) == expected
        assert ring.counts(as_keys(asked)).tolist() == [len(rings[key]) for key in asked]


def test_an_index_without_columns_holds_one_key():
    ring = RingIndex(())
    ring.link(np.arange(3, dtype=np.int32), np.empty((8, 2), np.int64))
    lefts, rows = ring.probe(np.empty((2, 0), np.int64), np.zeros(2, np.int64), 1, STILL)
    assert lefts.tolist() == [0, 0, 0, 1, 1, 1]
    assert rows.tolist() == [2, 1, 0, 2, 1, 0]


@pytest.mark.parametrize("repeats", [1, 3])
def test_ring_index_deletes_idle_keys_in_batches(repeats):
    """Keys that never come again, in a window of 5,000 rows that slides over 60,000 of them."""
    ring, window, batch = RingIndex((0,)), 5_000, 500
    capacity = window + batch
    values = np.zeros((capacity, 1), np.int64)
    for first in range(0, 60_000, batch):
        numbers = np.arange(first, first + batch)
        rows = (numbers % capacity).astype(np.int32)
        values[rows, 0] = numbers // repeats * 7919
        ring.link(rows, values)
        if first >= window:
            ring.unlink(((numbers - window) % capacity).astype(np.int32))
        alive = np.arange(max(0, first + batch - window), first + batch)
        asked = np.unique(alive // repeats)[:: max(1, batch // 50)]
        gone = np.arange(0, max(0, alive[0] // repeats - 1), 97)
        keys_asked = np.concatenate((asked, gone)).reshape(-1, 1) * 7919
        lefts, found = ring.probe(keys_asked, np.zeros(len(keys_asked), np.int64), 1, STILL)
        expected = [
            (at, number % capacity)
            for at, key in enumerate(asked)
            for number in range((key + 1) * repeats - 1, key * repeats - 1, -1)
            if alive[0] <= number <= alive[-1]
        ]
        assert list(zip(lefts.tolist(), found.tolist(), strict=True)) == expected
    assert ring._index.capacity <= 16_384


def test_equal_keys_of_a_block_have_one_entry_and_keys_of_equal_hash_have_two():
    """Among these keys some twenty pairs have the same hash of 31 bits."""
    index = OneWayIndex(1)
    keys = np.random.default_rng(3).permutation(np.repeat(np.arange(300_000), 2)).reshape(-1, 1)
    entries, fresh = index.add(keys)
    assert np.count_nonzero(fresh) == len(np.unique(entries)) == index.live == 300_000
    assert (index.keys[entries] == keys).all()
    assert (index.find(keys) == entries).all()
    assert (index.find(keys + 300_000) == -1).all()
