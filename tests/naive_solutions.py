"""Operators of the algebra in a few lines each, solutions as dicts, every pair looked at: the operators' twins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from random import Random

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Node, Values
from freshet.expressions.context import Context
from freshet.oneshot import operators as operators
from freshet.oneshot.dataset import DEFAULT_GRAPH
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.scope import Scope
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Iri, Literal, Term
from plain_dataset import PlainDataset, PlainGraph

Solution = Mapping[str, Term]
Solutions = list[Solution]

TERMS: tuple[Term, ...] = (Iri("http://example.org/a"), Iri("http://example.org/b"), Literal("c"))


def scope_of(dataset: PlainDataset | None = None, dictionary: Dictionary | None = None) -> Scope:
    """A scope that knows nothing of its surroundings."""
    dataset = dataset or PlainDataset(PlainGraph())
    context = Context(datetime(2026, 1, 1, tzinfo=UTC))
    return Scope(dataset, dataset.graph(DEFAULT_GRAPH), dictionary or Dictionary(), context)


def solve(node: Node, scope: Scope | None = None) -> Solutions:
    """What the engine makes of a node, in its order."""
    scope = scope or scope_of()
    table = evaluate(node, scope)
    terms = {name: scope.dictionary.decode_many(ids) for name, ids in table.columns.items()}
    assert all(len(column) == table.count for column in terms.values())
    return [
        {name: term for name, column in terms.items() if (term := column[row]) is not None}
        for row in range(table.count)
    ]


def bag(solutions: Iterable[Solution]) -> Counter[frozenset[tuple[str, Term]]]:
    return Counter(frozenset(solution.items()) for solution in solutions)


def random_solutions(random: Random, names: str, most: int = 6) -> Solutions:
    """Solutions that bind each variable or do not."""
    cells = (*TERMS, *TERMS, None)
    rows = [{name: random.choice(cells) for name in names} for _ in range(random.randint(0, most))]
    return [{name: term for name, term in row.items() if term is not None} for row in rows]


def inline(solutions: Solutions, names: str) -> Values:
    """The solutions as VALUES."""
    return Values(tuple(map(Variable, names)), tuple(tuple(row.get(name) for name in names) for row in solutions))


def compatible(left: Solution, right: Solution) -> bool:
    return all(right.get(name, term) == term for name, term in left.items())


def join(left: Solutions, right: Solutions) -> Solutions:
    return [{**one, **other} for one in left for other in right if compatible(one, other)]


def left_join(left: Solutions, right: Solutions, condition: Callable[[Solution], bool]) -> Solutions:
    result: Solutions = []
    for one in left:
        found = [solution for solution in join([one], right) if condition(solution)]
        result += found or [one]
    return result


def minus(left: Solutions, right: Solutions) -> Solutions:
    return [one for one in left if not any(compatible(one, other) and one.keys() & other.keys() for other in right)]
