"""EXISTS for many rows at once against its definition: row by row, with the row's terms in place of variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from random import Random

import pytest

import naive_solutions as naive
from freshet.algebra.expressions import And, Compare, Constant, Exists, Not, Variable
from freshet.algebra.nodes import BGP, Filter, Group, Minus, Node, Slice, TriplePattern
from freshet.oneshot.scope import Scope
from freshet.rdf.dictionary import Dictionary
from naive_solutions import inline, scope_of, solve
from plain_dataset import PlainDataset, PlainGraph
from random_algebra import LITERALS, NODES, PREDICATES, Queries, random_quads
from substitution import substituted

NAMES = "abg"
EXAMPLES = 300


def random_scope(random: Random) -> Scope:
    dictionary = Dictionary()
    graphs: dict[int, list[tuple[int, int, int]]] = {0: []}
    for *triple, name in random_quads(random):
        subject, predicate, object_ = (dictionary.encode(term) for term in triple)
        graphs.setdefault(0 if name is None else dictionary.encode(name), []).append((subject, predicate, object_))
    default = PlainGraph(graphs.pop(0))
    return scope_of(PlainDataset(default, {name: PlainGraph(rows) for name, rows in graphs.items()}), dictionary)


def parts(part: object) -> Iterator[object]:
    yield part
    if isinstance(part, tuple):
        for each in part:
            yield from parts(each)
    elif is_dataclass(part):
        for place in fields(part):
            yield from parts(getattr(part, place.name))


def random_pattern(random: Random) -> Node:
    """A pattern with anything in it but groups by a variable from outside, of which the definition says nothing."""
    while True:
        queries = Queries(random)
        pattern = queries.pattern(random.choice((1, 2, 3)))
        if random.random() < 0.3:
            pattern = Slice(pattern, random.randint(0, 2), random.randint(0, 2))
        if random.random() < 0.3:
            inner = Exists(queries.pattern(1), random.random() < 0.5)
            condition = Compare("!=", Variable("a"), Variable("c")) if random.random() < 0.5 else inner
            pattern = Filter(condition, pattern)
        if not any(isinstance(part, Group) and part.keys for part in parts(pattern)):
            return pattern


def random_outer(random: Random) -> naive.Solutions:
    cells = (*NODES, *LITERALS, None)
    rows = [{name: random.choice(cells) for name in NAMES} for _ in range(random.randint(0, 8))]
    return [{name: term for name, term in row.items() if term is not None} for row in rows]


@pytest.mark.parametrize("block", range(5))
def test_as_row_by_row(block: int) -> None:
    for seed in range(block * EXAMPLES // 5, (block + 1) * EXAMPLES // 5):
        random = Random(seed)
        scope, pattern, rows = random_scope(random), random_pattern(random), random_outer(random)
        found = solve(Filter(Exists(pattern), inline(rows, NAMES)), scope)
        expected = [row for row in rows if solve(substituted(pattern, row), scope)]
        assert found == expected, f"seed {seed}\n{pattern}"


def test_a_filter_inside_sees_the_outer_solution() -> None:
    triple = TriplePattern(Variable("x"), PREDICATES[0], Variable("y"))
    scope = random_scope(Random(0))
    inside = Filter(Compare("=", Variable("a"), Constant(NODES[1])), BGP((triple,)))
    rows: naive.Solutions = [{"a": NODES[0]}, {"a": NODES[1]}]
    assert solve(BGP((triple,)), scope)
    assert solve(Filter(Exists(inside), inline(rows, "a")), scope) == [{"a": NODES[1]}]
    assert solve(Filter(Exists(inside, negated=True), inline(rows, "a")), scope) == [{"a": NODES[0]}]
    assert solve(Filter(And(Exists(inside), Not(Exists(inside))), inline(rows, "a")), scope) == []


def test_outer_variables_are_in_no_domain_of_minus() -> None:
    one = BGP((TriplePattern(Variable("a"), PREDICATES[0], Variable("y")),))
    other = BGP((TriplePattern(Variable("a"), PREDICATES[0], Variable("z")),))
    dictionary = Dictionary()
    ids = [dictionary.encode(term) for term in (NODES[0], PREDICATES[0], NODES[1])]
    scope = scope_of(PlainDataset(PlainGraph([(ids[0], ids[1], ids[2])])), dictionary)
    rows: naive.Solutions = [{"a": NODES[0]}]
    assert solve(Filter(Exists(Minus(one, other)), inline(rows, "a")), scope) == rows
