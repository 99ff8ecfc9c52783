from __future__ import annotations

from random import Random

import naive_solutions as naive
from freshet.algebra.expressions import Call, Compare, Constant, Variable
from freshet.algebra.nodes import LeftJoin
from naive_solutions import TERMS, bag, inline, random_solutions, solve


def test_as_its_twin() -> None:
    for seed in range(60):
        random = Random(seed)
        left, right = random_solutions(random, "xy"), random_solutions(random, "yz")
        found = solve(LeftJoin(inline(left, "xy"), inline(right, "yz")))
        assert bag(found) == bag(naive.left_join(left, right, lambda solution: True))


def test_the_condition_sees_both_sides() -> None:
    condition = Compare("=", Variable("x"), Variable("z"))
    for seed in range(60):
        random = Random(seed)
        left, right = random_solutions(random, "xy"), random_solutions(random, "yz")
        found = solve(LeftJoin(inline(left, "xy"), inline(right, "yz"), condition))
        expected = naive.left_join(left, right, lambda each: "x" in each and each.get("z") == each["x"])
        assert bag(found) == bag(expected)


def test_a_condition_that_never_holds_keeps_left() -> None:
    left, right = [{"x": TERMS[0]}], [{"x": TERMS[0], "y": TERMS[1]}]
    never = Call("BOUND", (Variable("nowhere"),))
    assert solve(LeftJoin(inline(left, "x"), inline(right, "xy"), never)) == left
    always = Constant(TERMS[2])  # a string that is not empty is true
    assert solve(LeftJoin(inline(left, "x"), inline(right, "xy"), always)) == right
