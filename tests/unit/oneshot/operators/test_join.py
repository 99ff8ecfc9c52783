from __future__ import annotations

from random import Random

import pytest

import naive_solutions as naive
from freshet.algebra.nodes import Join
from freshet.oneshot import joining
from naive_solutions import bag, inline, random_solutions, solve


@pytest.mark.parametrize(("left_names", "right_names"), [("xy", "yz"), ("xy", "xy"), ("x", "y"), ("xyz", "xyzw")])
def test_as_its_twin(left_names: str, right_names: str) -> None:
    for seed in range(40):
        random = Random(seed)
        left, right = random_solutions(random, left_names), random_solutions(random, right_names)
        found = solve(Join(inline(left, left_names), inline(right, right_names)))
        assert bag(found) == bag(naive.join(left, right))


def test_any_number_of_operands() -> None:
    for seed in range(40):
        random = Random(seed)
        one, two, three = (random_solutions(random, names, most=4) for names in ("xy", "yz", "zx"))
        found = solve(Join(Join(inline(one, "xy"), inline(two, "yz")), inline(three, "zx")))
        assert bag(found) == bag(naive.join(naive.join(one, two), three))


def test_equal_operands_count_twice() -> None:
    solutions = [{"x": naive.TERMS[0]}] * 2
    assert len(solve(Join(inline(solutions, "x"), inline(solutions, "x")))) == 4


def test_many_pairs_come_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(joining, "_FIRST_ROOM", 3)
    for seed in range(40):
        random = Random(seed)
        left, right = random_solutions(random, "xy", 20), random_solutions(random, "yz", 20)
        assert bag(solve(Join(inline(left, "xy"), inline(right, "yz")))) == bag(naive.join(left, right))
