"""The difference of bags, of few rows and of many, against counters."""

from collections import Counter

import numpy as np
import pytest

from freshet.native.r2s.bags import bag_difference, dealt_out


@pytest.mark.parametrize("width", [0, 1, 3])
@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (6, 9), (12, 12), (40, 30)])
def test_difference_equals_that_of_counters(width, sizes):
    rng = np.random.default_rng(sum(sizes))
    rows, others = (rng.integers(0, 2, (size, width)) for size in sizes)
    left = bag_difference(rows, others)
    assert Counter(map(tuple, left.tolist())) == Counter(map(tuple, rows.tolist())) - Counter(
        map(tuple, others.tolist())
    )


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 60])
def test_each_query_is_dealt_its_own_rows_in_their_order(width, size):
    rng = np.random.default_rng(size)
    rows = rng.integers(1, 9, (size, width))
    expected: dict[int, list[list[int]]] = {}
    for *values, number in rows.tolist():
        expected.setdefault(number, []).append(values)
    ordered, parts = dealt_out(rows)
    dealt = [(number, own.tolist()) for number, own in parts]
    assert dealt == sorted(expected.items())
    assert ordered[:, :-1].tolist() == [values for _, own in dealt for values in own]
