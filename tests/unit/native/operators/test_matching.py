"""OPTIONAL, MINUS and EXISTS over a join that is made by hand, against looking for matches at every moment."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.native.change import OPEN
from freshet.native.operators.left_join import LeftJoinOp
from freshet.native.operators.negation import NegationOp
from freshet.oneshot.table import Table
from timed_rows import batch_ends, batches_of, check_changes, lives_of

ROWS = lives_of(st.tuples(st.integers(1, 3), st.integers(1, 9)), most=20)


class Pairs(NamedTuple):
    came: np.ndarray
    came_at: np.ndarray
    went: np.ndarray
    went_at: np.ndarray


class Side:
    """Rows under their numbers, with births and deaths as far as the batches have come."""

    def __init__(self, lives, names):
        self.buffer, self.names = self, tuple(names)
        self.lives = lives
        self.values = np.array([row for _, _, row in lives], np.int64).reshape(len(lives), len(names))
        self.born = np.array([birth for birth, _, _ in lives], np.int64)
        self.died = np.full(len(lives), OPEN)
        self.row_capacity = 0

    def follow(self, batch):
        self.row_capacity = len(self.lives)
        self.sides = tuple(self._within(batch, at) for at in (0, 1))
        for row in self.sides[1]:
            self.died[row] = self.lives[row][1]

    def _within(self, batch, at):
        rows = [row for row, life in enumerate(self.lives) if batch.first <= life[at] <= batch.last]
        return np.array(sorted(rows, key=lambda row: self.lives[row][at]), np.int32)

    def fresh(self, number):
        return self.sides[0]

    def dead(self, number):
        return self.sides[1]

    def births(self, rows):
        return self.born[rows]

    def deaths(self, rows):
        return self.died[rows]

    def old_rows(self, first_moment):
        rows = [row for row, life in enumerate(self.lives) if life[0] < first_moment <= life[1]]
        return np.array(rows, np.int32)


class Join:
    """Pairs of rows whose first columns are equal, for the time that both are there."""

    def __init__(self, left, right):
        self.inputs = Side(left, "ab"), Side(right, "ac")
        lives = [
            (max(one[0], other[0]), min(one[1], other[1]), (row, place))
            for row, one in enumerate(left)
            for place, other in enumerate(right)
            if one[2][0] == other[2][0]
        ]
        self.lives = [life for life in lives if life[0] < life[1]]
        self.is_first = True

    def pointer_changes(self, batch):
        for side in self.inputs:
            side.follow(batch)
        came = [
            (max(birth, batch.first), pair)
            for birth, death, pair in self.lives
            if birth <= batch.last and (birth >= batch.first or (self.is_first and death >= batch.first))
        ]
        went = [(death, pair) for _, death, pair in self.lives if batch.first <= death <= batch.last]
        self.is_first = False
        return Pairs(*self._side(came), *self._side(went))

    @staticmethod
    def _side(events):
        events.sort(key=lambda event: event[0])
        pairs = np.array([pair for _, pair in events], np.int32).reshape(-1, 2)
        return pairs, np.array([moment for moment, _ in events], np.int64)

    def table(self, pointers):
        left, right = (side.values[pointers[:, at]] for at, side in enumerate(self.inputs))
        return Table({"a": left[:, 0], "b": left[:, 1], "c": right[:, 1]}, len(pointers))


def there(lives, moment):
    return [row for birth, death, row in lives if birth <= moment < death]


def left_joined(left, right, moment):
    for row in there(left, moment):
        matches = [other[1] for other in there(right, moment) if other[0] == row[0]]
        yield from ((*row, match) for match in matches or [0])


@settings(max_examples=100)
@given(ROWS, ROWS, batch_ends, st.integers(0, 2))
def test_left_join(left, right, ends, skipped):
    """Also where the operator is asked for the first time when much has come and gone already."""
    operator = LeftJoinOp(Join(left, right), frozenset("abc"))
    batches = list(batches_of(ends))[min(skipped, len(ends) - 1) :]
    check_changes(
        operator.changes, batches, "abc", lambda moment: Counter(left_joined(left, right, moment)), exact=False
    )


@pytest.mark.parametrize("negated", [True, False])
@settings(max_examples=100)
@given(left=ROWS, right=ROWS, ends=batch_ends, skipped=st.integers(0, 2))
def test_negation(negated, left, right, ends, skipped):
    operator = NegationOp(Join(left, right), frozenset("ab"), negated=negated)
    batches = list(batches_of(ends))[min(skipped, len(ends) - 1) :]

    def expected(moment):
        keys = {row[0] for row in there(right, moment)}
        return Counter(row for row in there(left, moment) if (row[0] in keys) is not negated)

    check_changes(operator.changes, batches, "ab", expected, exact=False)


def test_nothing_changes():
    operator = NegationOp(Join([], []), frozenset("ab"), negated=True)
    assert all(operator.changes(batch).is_empty for batch in batches_of([5, 10]))
    operator = LeftJoinOp(Join([], []), frozenset("ab"))
    assert all(operator.changes(batch).is_empty for batch in batches_of([5, 10]))
