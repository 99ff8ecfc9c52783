from __future__ import annotations

from random import Random

import pytest

import naive_solutions as naive
from freshet.algebra.nodes import Minus
from naive_solutions import bag, inline, random_solutions, solve


@pytest.mark.parametrize(("left_names", "right_names"), [("xy", "yz"), ("xy", "xy"), ("x", "y"), ("xyz", "xyw")])
def test_as_its_twin(left_names: str, right_names: str) -> None:
    for seed in range(40):
        random = Random(seed)
        left, right = random_solutions(random, left_names), random_solutions(random, right_names)
        found = solve(Minus(inline(left, left_names), inline(right, right_names)))
        assert bag(found) == bag(naive.minus(left, right))
