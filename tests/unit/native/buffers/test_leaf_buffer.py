"""Leaf buffers, with no ring index, one or several, against sets of what is between two positions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.native.buffers.leaf_buffer import LeafBuffer, LeafPattern, Moves
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.rdf.elements import Elements

PREDICATE = 7
EVERY = 2**62
INDEXES = ([], [(0,)], [(1, 0)], [(0,), (1,)], [()])
triples = st.tuples(st.integers(1, 9), st.sampled_from([PREDICATE, 8]), st.integers(1, 3))
moves = st.lists(st.tuples(st.lists(triples, max_size=12), st.integers(0, 14), st.integers(0, 12)), max_size=12)
changes = st.tuples(st.integers(1, 4), st.sampled_from([PREDICATE, PREDICATE, -PREDICATE, 8, -8]), st.integers(1, 2))
retractions = st.lists(st.tuples(st.lists(changes, max_size=12), st.integers(0, 14), st.integers(0, 12)), max_size=12)


def receive(leaf, first, arrivals):
    """One by one or as a batch, as streams do."""
    if len(arrivals) == 1:
        leaf.receive_one(first, arrivals[0])
    elif arrivals:
        columns = np.array(arrivals, np.int64).T
        leaf.receive(Elements(np.arange(first, first + len(arrivals)), *(np.ascontiguousarray(c) for c in columns)))


def check_index(leaf, columns, born, number):
    """Every key of an index has the rows that have it, newest first by step."""
    expected: dict[tuple[int, ...], list[tuple[int, int]]] = {(9_999_999,) * len(columns): []}
    for values in born:
        expected.setdefault(tuple(values[column] for column in columns), []).append(values)
    keys = list(expected)
    asked = np.array(keys, np.int64).reshape(len(keys), len(columns))
    now = np.full(len(keys), 2 * number)
    lefts, rows = leaf.index_on(columns).probe(asked, now, 1, leaf.lives(number))
    found: dict[tuple[int, ...], list[tuple[int, int]]] = {key: [] for key in keys}
    for left, values in zip(lefts.tolist(), map(tuple, leaf.values[rows].tolist()), strict=True):
        found[keys[left]].append(values)
    assert {key: sorted(held) for key, held in found.items()} == {key: sorted(held) for key, held in expected.items()}
    for held in found.values():
        steps = [born[values] for values in held]
        assert steps == sorted(steps, reverse=True)
    assert leaf.born[rows].tolist() == [born[values] for values in map(tuple, leaf.values[rows].tolist())]


def standing(elements):
    """The rows of the predicate of which the last element does not delete: its predicate is negative."""
    last = {(s, o): p for s, p, o in elements if abs(p) == PREDICATE}
    return {row for row, predicate in last.items() if predicate > 0}


def run(leaf, indexes, steps):
    """Steps are arrivals, and by how much the end and the beginning of what is held move on."""
    elements: list[tuple[int, int, int]] = []
    first = last = entered = left = 0
    born: dict[tuple[int, int], int] = {}
    for columns in indexes:
        leaf.index_on(columns)
    for number, (arrivals, further, behind) in enumerate(steps, 1):
        receive(leaf, len(elements), arrivals)
        elements += arrivals
        last = min(len(elements), last + further)
        first = max(first, min(last, last - behind))
        entering, leaving = np.full(last - entered, 2 * number), np.full(first - left, 2 * number)
        leaf.step(number, 2 * number, Moves(last, entered, entering, first, left, leaving))
        entered, left = last, first
        held = standing(elements[first:last])
        fresh, dead = held - set(born), set(born) - held
        came, went = leaf.fresh(number), leaf.dead(number)
        assert sorted(map(tuple, leaf.values[came].tolist())) == sorted(fresh)
        assert sorted(map(tuple, leaf.values[went].tolist())) == sorted(dead)
        born = {values: born.get(values, 2 * number) for values in held}
        assert sorted(map(tuple, leaf.values[leaf.live_rows()].tolist())) == sorted(held)
        for columns in indexes:
            check_index(leaf, columns, born, number)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(INDEXES), moves)
def test_a_leaf_holds_what_is_between_two_positions(indexes, steps):
    run(LeafBuffer(LeafPattern((0, PREDICATE, 0), ((0,), (2,)))), indexes, steps)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(INDEXES), retractions)
def test_deletions_end_the_lives_of_rows(indexes, steps):
    run(LeafBuffer(LeafPattern((0, PREDICATE, 0), ((0,), (2,)))), indexes, steps)


@pytest.mark.parametrize("size", [1, 90])
def test_deleted_rows_are_used_again(size):
    rng = np.random.default_rng(size)
    total, held = (1_500, 200) if size == 1 else (12_000, 1_200)
    subjects = np.where(rng.random(total) < 0.7, rng.integers(1, 50, total), np.arange(total) + 100).tolist()
    signs = np.where(rng.random(total) < 0.4, -1, 1).tolist()
    changed = [(subject, sign * PREDICATE, subject % 3) for subject, sign in zip(subjects, signs, strict=True)]
    steps = [(changed[at : at + size], size, held) for at in range(0, total, size)]
    leaf = LeafBuffer(LeafPattern((0, PREDICATE, 0), ((0,), (2,))))
    run(leaf, [(0,)], steps)
    assert leaf.row_capacity < 4 * held


@pytest.mark.parametrize("indexes", INDEXES, ids=str)
@pytest.mark.parametrize("size", [1, 90])
def test_arrays_of_a_leaf_grow_and_are_swept(indexes, size):
    rng = np.random.default_rng(size)
    total, held = (900, 200) if size == 1 else (9_000, 1_200)
    subjects = np.where(rng.random(total) < 0.5, rng.integers(1, 50, total), np.arange(total) + 100).tolist()
    arrivals = [(subject, PREDICATE, subject % 5) for subject in subjects]
    steps = [(arrivals[at : at + size], size, held) for at in range(0, total, size)]
    run(LeafBuffer(LeafPattern((0, PREDICATE, 0), ((0,), (2,)))), indexes, steps)


class Growing:
    """An index; while it is asked for its size, another thread asks for one more."""

    def __init__(self, index, buffer):
        self._index, self._buffer = index, buffer

    def _grow(self):
        self._buffer._indexes[len(self._buffer._indexes) + 5, 0] = self._index

    @property
    def row_bytes(self):
        self._grow()
        return self._index.row_bytes

    @property
    def held_bytes(self):
        self._grow()
        return self._index.held_bytes


def test_sizes_are_told_while_indexes_are_added():
    leaf, rows = LeafBuffer(LeafPattern((0, PREDICATE, 0), ((0,), (2,)))), RowBuffer(None, ("a", "b"))
    leaf.index_on((0,))
    for buffer in (leaf, rows):
        empty = buffer.held_bytes
        for columns, index in list(buffer._indexes.items()):
            buffer._indexes[columns] = Growing(index, buffer)
        assert buffer.held_bytes == empty
    assert leaf.row_bytes > 0
