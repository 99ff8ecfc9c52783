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
