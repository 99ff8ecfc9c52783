"""Union, Distinct, Slice, Project, Extend, Group and OrderBy, each in a line or two."""

from __future__ import annotations

from collections import Counter
from random import Random

from freshet.algebra.expressions import Aggregate, Variable
from freshet.algebra.nodes import (
    Distinct,
    Extend,
    Group,
    OrderBy,
    OrderCondition,
    Project,
    Reduced,
    Slice,
    Union,
)
from freshet.rdf.ids import XSD_INTEGER
from freshet.rdf.terms import Literal
from naive_solutions import TERMS, Solutions, bag, inline, random_solutions, solve

X, Y, N = Variable("x"), Variable("y"), Variable("n")


def integer(number: int) -> Literal:
    return Literal(str(number), XSD_INTEGER)


def random_rows(seed: int) -> Solutions:
    return random_solutions(Random(seed), "xy", 12)


def test_union_keeps_both_as_they_are() -> None:
    for seed in range(30):
        left, right = random_rows(seed), random_solutions(Random(-seed), "yz")
        assert bag(solve(Union(inline(left, "xy"), inline(right, "yz")))) == bag(left) + bag(right)


def test_distinct_keeps_the_first_of_each() -> None:
    for seed in range(30):
        rows = random_rows(seed)
        expected = [row for at, row in enumerate(rows) if row not in rows[:at]]
        assert solve(Distinct(inline(rows, "xy"))) == expected
        assert solve(Reduced(inline(rows, "xy"))) == expected


def test_distinct_of_no_variables() -> None:
    assert solve(Distinct(Project(inline(random_rows(1), "xy"), ()))) == [{}]


def test_slice() -> None:
    rows = [{"x": integer(number)} for number in range(5)]
    assert solve(Slice(inline(rows, "x"), 1, 2)) == rows[1:3]
    assert solve(Slice(inline(rows, "x"), 3)) == rows[3:]
    assert solve(Slice(inline(rows, "x"), 9, 2)) == []
    assert solve(Slice(inline(rows, "x"), 0, 0)) == []


def test_project_gives_what_is_not_bound_a_column() -> None:
    rows = random_rows(3)
    expected = [{name: term for name, term in row.items() if name == "x"} for row in rows]
    assert solve(Project(inline(rows, "xy"), (X, Variable("nowhere")))) == expected


def test_extend() -> None:
    rows: Solutions = [{"x": TERMS[0]}, {}]
    assert solve(Extend(inline(rows, "x"), Y, X)) == [{"x": TERMS[0], "y": TERMS[0]}, {}]


def test_group_counts_by_key_and_an_unbound_key_is_one() -> None:
    for seed in range(30):
        rows = random_rows(seed)
        counted = Counter(row.get("x") for row in rows)
        expected = [{**({} if key is None else {"x": key}), "n": integer(count)} for key, count in counted.items()]
        assert bag(solve(Group(inline(rows, "xy"), (X,), ((N, Aggregate("COUNT", None)),)))) == bag(expected)


def test_group_without_keys_is_one_even_of_nothing() -> None:
    for function, expected in ((Aggregate("COUNT", None), 0), (Aggregate("COUNT", None, distinct=True), 0)):
        assert solve(Group(inline([], "x"), (), ((N, function),))) == [{"n": integer(expected)}]
    assert solve(Group(inline([], "x"), (X,), ((N, Aggregate("COUNT", None)),))) == []


def test_count_distinct_rows() -> None:
    for seed in range(30):
        rows = random_rows(seed)
        counted = solve(Group(inline(rows, "xy"), (), ((N, Aggregate("COUNT", None, distinct=True)),)))
        assert counted == [{"n": integer(len(bag(rows)))}]


def test_order_by() -> None:
    rows = [{"x": integer(number % 3), "y": integer(number)} for number in range(9)]
    ordered = solve(OrderBy(inline(rows, "xy"), (OrderCondition(X, descending=True), OrderCondition(Y))))
    assert ordered == sorted(rows, key=lambda row: (-int(row["x"].lexical), int(row["y"].lexical)))
