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
@pytest.mark.parametrize("size", [1, 2, 7, 60])
def test_each_query_is_dealt_its_own_rows_in_their_order(width, size):
    rng = np.random.default_rng(size)
    rows, places = rng.integers(1, 9, (size, width)), np.sort(rng.integers(0, 5, size))
    expected: dict[int, dict[int, list[list[int]]]] = {}
    for place, (*values, number) in zip(places.tolist(), rows.tolist(), strict=True):
        expected.setdefault(number, {}).setdefault(place, []).append(values)
    dealt = dealt_out(places, rows)
    found = {
        number: {
            int(dealt.places[at]): dealt.rows[dealt.offsets[at] : dealt.offsets[at + 1]].tolist()
            for at in range(dealt.ends[place], dealt.ends[place + 1])
        }
        for place, number in enumerate(dealt.numbers.tolist())
    }
    assert found == expected
    assert dealt.numbers.tolist() == sorted(expected)
