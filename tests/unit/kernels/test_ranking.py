"""The number of a ranking of ring indexes."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from freshet.kernels.alive import ranking_of


def ranking(*expected: int) -> int:
    """Of ring indexes with ten keys each and so many rows a key."""
    return int(ranking_of(np.array([(10 * each, 10) for each in expected], np.int64)))


def test_every_order_has_a_number_of_its_own():
    numbers = [ranking(*range(count)) for count in range(1, 6)] + [ranking(*order) for order in permutations(range(6))]
    assert len(set(numbers)) == len(numbers)


def test_only_the_order_counts():
    assert ranking(1, 5, 3) == ranking(2, 90, 40) != ranking(5, 1, 3)


def test_the_first_of_equal_ones_comes_first():
    assert ranking(2, 2, 1) == ranking(2, 3, 1) != ranking(3, 2, 1)


def test_an_index_without_keys_comes_before_all_others():
    assert ranking_of(np.array([(10, 10), (0, 0)], np.int64)) == ranking(1, 0)
