"""The difference of bags, of few rows and of many, against counters."""

from collections import Counter

import numpy as np
import pytest

from freshet.native.r2s.bags import bag_difference


@pytest.mark.parametrize("width", [0, 1, 3])
@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (6, 9), (12, 12), (40, 30)])
def test_difference_equals_that_of_counters(width, sizes):
    rng = np.random.default_rng(sum(sizes))
    rows, others = (rng.integers(0, 2, (size, width)) for size in sizes)
    left = bag_difference(rows, others)
    assert Counter(map(tuple, left.tolist())) == Counter(map(tuple, rows.tolist())) - Counter(
        map(tuple, others.tolist())
    )
