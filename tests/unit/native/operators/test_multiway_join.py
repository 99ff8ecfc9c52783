"""Joins of leaf buffers that move, against nested loops over what they hold."""

from __future__ import annotations

import numpy as np
import pytest

from freshet.native.buffers.inputs import Input
from freshet.native.buffers.leaf_buffer import LeafBuffer, LeafPattern, Moves
from freshet.native.change import MomentBatch
from freshet.native.operators.multiway_join import MultiwayJoinOp
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements

CHAIN = (("a", "b"), ("b", "c"), ("c", "d"))
STAR = (("a", "b"), ("a", "c"), ("a", "d"))
CIRCLE = (("a", "b"), ("b", "c"), ("c", "a"))
APART = (("a", "b"), ("c", "d"), ("d", "e"))


class Moving:
    """A leaf buffer over random pairs, of which some enter and leave in each batch at random moments."""

    def __init__(self, seed, values):
        self.leaf = LeafBuffer(LeafPattern((0, 7, 0), ((0,), (2,))))
        self._random, self._values = np.random.default_rng(seed), values
        self._entered = self._left = 0
        self._pairs, self._lives = [], []

    def step(self, number, moments):
        count = int(self._random.integers(0, 9))
        pairs = self._random.integers(1, self._values, (count, 2))
        births = np.sort(self._random.choice(moments, count))
        columns = np.full(count, 7), np.ascontiguousarray(pairs[:, 1])
        positions = np.arange(self._entered, self._entered + count)
        self.leaf.receive(Elements(positions, np.ascontiguousarray(pairs[:, 0]), *columns))
        leaving = int(self._random.integers(0, min(8, self._entered - self._left) + 1))
        deaths = np.sort(self._random.choice(moments, leaving))
        self._pairs += map(tuple, pairs.tolist())
        self._lives += [[birth, None] for birth in births.tolist()]
        for at, death in enumerate(deaths.tolist()):
            self._lives[self._left + at][1] = death
        entered, left = self._entered + count, self._left + leaving
        self.leaf.step(number, moments[0], Moves(entered, self._entered, births, left, self._left, deaths))
        self._entered, self._left = entered, left

    def at(self, moment):
        return {
            pair
            for pair, (birth, death) in zip(self._pairs, self._lives, strict=True)
            if birth <= moment and (death is None or death > moment)
        }


def joined(names, held):
    """All solutions, as sets of bindings."""
    found = [{}]
    for (left, right), pairs in zip(names, held, strict=True):
        found = [
            {**solution, left: pair[0], right: pair[1]}
            for solution in found
            for pair in pairs
            if solution.get(left, pair[0]) == pair[0] and {**solution, left: pair[0]}.get(right, pair[1]) == pair[1]
        ]
    return {tuple(sorted(solution.items())) for solution in found}


def rows(table, at):
    names = sorted(table.columns)
    found = zip(*(table.columns[name].tolist() for name in names), strict=True)
    return [(moment, tuple(zip(names, row, strict=True))) for moment, row in zip(at.tolist(), found, strict=True)]


@pytest.mark.parametrize("values", [3, 12])
@pytest.mark.parametrize("names", [CHAIN, STAR, CIRCLE, APART], ids=["chain", "star", "circle", "apart"])
@pytest.mark.parametrize("seed", range(4))
def test_what_comes_and_goes_is_what_nested_loops_say(names, values, seed):
    moving = [Moving(100 * seed + at, values) for at in range(3)]
    inputs = [Input(each.leaf, some, frozenset(some), True) for each, some in zip(moving, names, strict=True)]
    join = MultiwayJoinOp(inputs, (), {name for some in names for name in some}, Dictionary())
    held: set[tuple[tuple[str, int], ...]] = set()
    for number in range(1, 40):
        first = 20 * number
        moments = list(range(first, first + (1 if number % 3 else 6)))
        for each in moving:
            each.step(number, moments)
        change = join.changes(MomentBatch(number, first, moments[-1], np.array(moments)))
        assert (np.diff(change.came_at) >= 0).all()
        assert (np.diff(change.went_at) >= 0).all()
        came, went = rows(change.came, change.came_at), rows(change.went, change.went_at)
        for moment in moments:
            expected = joined(names, [each.at(moment) for each in moving])
            for at, row in came:
                if at == moment:
                    assert row not in held
                    held.add(row)
            for at, row in went:
                if at == moment:
                    held.remove(row)
            assert held == expected


class Filled:
    """A leaf buffer over pairs that enter together and stay."""

    def __init__(self):
        self.leaf = LeafBuffer(LeafPattern((0, 7, 0), ((0,), (2,))))
        self._entered = 0

    def step(self, number, moment, pairs):
        lefts, rights = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
        entered = self._entered + len(pairs)
        self.leaf.receive(Elements(np.arange(self._entered, entered), lefts, np.full(len(pairs), 7), rights))
        births = np.full(len(pairs), moment)
        nothing = np.empty(0, np.int64)
        self.leaf.step(number, moment, Moves(entered, self._entered, births, 0, 0, nothing))
        self._entered = entered


@pytest.mark.parametrize("partners", [100, 600])
def test_keys_with_many_rows_in_one_input_are_looked_up_in_another(partners):
    """Each key of the first input has many rows in one of the others and few in the other, by turns."""
    many = [(1, row) for row in range(10, 10 + partners)]
    few = [(2, 3), (2, 4), *((key, key) for key in range(1000, 1200))]
    held = [[(0, 0)], many + few, [(3 - left if left < 3 else left, right) for left, right in many + few]]
    leaves = [Filled() for _ in held]
    inputs = [Input(each.leaf, some, frozenset(some), True) for each, some in zip(leaves, STAR, strict=True)]
    join = MultiwayJoinOp(inputs, (), {"a", "b", "c", "d"}, Dictionary())
    for leaf, pairs in zip(leaves, held, strict=True):
        leaf.step(1, 20, pairs)
    assert join.changes(MomentBatch(1, 20, 20, np.array([20]))).is_empty
    fresh = [(1, 5), (2, 6), (1100, 7), (9, 9)]
    leaves[0].step(2, 30, fresh)
    change = join.changes(MomentBatch(2, 30, 30, np.array([30])))
    found = {row for _, row in rows(change.came, change.came_at)}
    assert found == joined(STAR, [fresh, *held[1:]])
    assert change.came.count == len(found) == 4 * partners + 1
