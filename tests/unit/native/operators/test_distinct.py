"""DISTINCT after every moment, against the set of what is there."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.native.operators.distinct import DistinctOp
from timed_rows import TimedRows, batch_ends, batches_of, check_changes, lives_of


@pytest.mark.parametrize("names", ["ab", "a", ""])
@settings(max_examples=100)
@given(lives=lives_of(st.tuples(st.integers(1, 3), st.integers(0, 2))), ends=batch_ends)
def test_equals_the_set(names, lives, ends):
    operator = DistinctOp(TimedRows(lives, "ab"), frozenset(names))

    def expected(moment):
        return Counter({row[: len(names)] for birth, death, row in lives if birth <= moment < death})

    check_changes(operator.changes, batches_of(ends), names, expected)
    assert len(operator) == 0


def test_entries_are_used_again():
    """More rows than the index begins with come and go, all different."""
    lives = [(at // 20, at // 20 + 2, (at + 1,)) for at in range(1000)]
    operator = DistinctOp(TimedRows(lives, "a"), frozenset("a"))

    def expected(moment):
        return Counter(row for birth, death, row in lives if birth <= moment < death)

    check_changes(operator.changes, batches_of(range(5, 61, 5)), "a", expected)
    assert operator.held_bytes == 0
