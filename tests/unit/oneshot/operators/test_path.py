"""Property paths against the definitions of SPARQL 1.1, 18.4, over pairs of nodes."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import (
    Alternative,
    Inverse,
    Join,
    Link,
    NegatedPropertySet,
    Path,
    PathPattern,
    PatternTerm,
    Repeat,
    Sequence,
    Values,
)
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Iri, Term
from naive_solutions import bag, scope_of, solve
from plain_dataset import PlainDataset, PlainGraph
from random_algebra import LITERALS, NODES, PREDICATES

Triple = tuple[Term, Iri, Term]
Pairs = Counter[tuple[Term, Term]]

X, Y = Variable("x"), Variable("y")
STRANGER = Iri("http://example.org/stranger")


def random_triples(random: Random) -> list[Triple]:
    ends = (*NODES, LITERALS[0])
    count = random.randint(0, 14)
    return list({(random.choice(NODES), random.choice(PREDICATES), random.choice(ends)) for _ in range(count)})


def random_path(random: Random, depth: int) -> Path:
    def inner() -> Path:
        return random_path(random, depth - 1)

    def some() -> tuple[Iri, ...]:
        return tuple(random.sample(PREDICATES, random.randint(0, 2)))

    makers = [lambda: Link(random.choice(PREDICATES)), lambda: NegatedPropertySet(some(), some())]
    if depth:
        makers += [lambda: Inverse(inner()), lambda: Sequence(inner(), inner()), lambda: Alternative(inner(), inner())]
        makers += [lambda: Repeat(inner(), 0), lambda: Repeat(inner(), 1), lambda: Repeat(inner(), 0, once=True)]
    return random.choice(makers)()


def pairs_of(path: Path, triples: list[Triple], terms: set[Term]) -> Pairs:
    """The pairs that a path joins, where `terms` are those that a way of no steps joins with themselves."""
    match path:
        case Link(predicate):
            return Counter((s, o) for s, p, o in triples if p == predicate)
        case NegatedPropertySet(forward, backward):
            pairs = Counter((s, o) for s, p, o in triples if p not in forward and (forward or not backward))
            return pairs + Counter((o, s) for s, p, o in triples if backward and p not in backward)
        case Inverse(inner):
            return Counter({(o, s): n for (s, o), n in pairs_of(inner, triples, terms).items()})
        case Alternative(left, right):
            return pairs_of(left, triples, terms) + pairs_of(right, triples, terms)
        case Sequence(left, right):
            joined: Pairs = Counter()
            for (s, middle), n in pairs_of(left, triples, terms).items():
                for (start, o), m in pairs_of(right, triples, terms).items():
                    joined[s, o] += n * m * (start == middle)
            return +joined
        case Repeat(inner, least, once):
            steps = set(pairs_of(inner, triples, terms))
            reached = set(steps)
            while not once and (more := {(s, o) for s, m in reached for n, o in steps if m == n} - reached):
                reached |= more
            return Counter(reached | ({(term, term) for term in terms} if least == 0 else set()))
    raise TypeError(path)


@pytest.mark.parametrize("block", range(4))
def test_as_defined(block: int) -> None:
    for seed in range(block * 60, (block + 1) * 60):
        random = Random(seed)
        triples, path = random_triples(random), random_path(random, 2)
        subject: PatternTerm = random.choice((X, X, random.choice(NODES), STRANGER))
        object_: PatternTerm = random.choice((X, Y, Y, random.choice(NODES), LITERALS[0]))
        dictionary = Dictionary()
        rows = [tuple(dictionary.encode(term) for term in triple) for triple in triples]
        scope = scope_of(PlainDataset(PlainGraph(rows)), dictionary)
        named = {end for end in (subject, object_) if not isinstance(end, Variable)}
        nodes = {end for s, _, o in triples for end in (s, o)}
        expected: Counter[frozenset[tuple[str, Term]]] = Counter()
        for pair, count in pairs_of(path, triples, nodes | named).items():
            solution: dict[str, Term] = {}
            fits = True
            for end, term in zip((subject, object_), pair, strict=True):
                if isinstance(end, Variable):
                    fits &= solution.setdefault(end.name, term) == term
                else:
                    fits &= end == term
            # a term that only the query names is no node: a variable is never bound to it but by a way from it
            strange = any(
                isinstance(end, Variable) and term not in nodes and not named
                for end, term in zip((subject, object_), pair, strict=True)
            )
            if fits and not strange:
                expected[frozenset(solution.items())] += count
        assert bag(solve(PathPattern(subject, path, object_), scope)) == expected, f"seed {seed}"


def test_a_way_of_no_steps_joins_only_nodes_with_what_stands_beside() -> None:
    dictionary = Dictionary()
    rows = [tuple(dictionary.encode(term) for term in (NODES[0], PREDICATES[0], NODES[1]))]
    scope = scope_of(PlainDataset(PlainGraph(rows)), dictionary)
    path = PathPattern(X, Repeat(Link(PREDICATES[0]), 0), Y)
    values = Values((X,), ((NODES[0],), (STRANGER,)))
    expected = [{"x": NODES[0], "y": NODES[0]}, {"x": NODES[0], "y": NODES[1]}]
    assert bag(solve(Join(values, path), scope)) == bag(expected)
    assert solve(PathPattern(STRANGER, Repeat(Link(PREDICATES[0]), 0), Y), scope) == [{"y": STRANGER}]
