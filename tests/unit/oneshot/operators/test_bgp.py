from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

import naive_solutions as naive
from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, Join, Slice, TriplePattern
from freshet.oneshot.operators import bgp
from freshet.oneshot.scope import Scope
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Iri, Term
from naive_solutions import bag, inline, scope_of, solve
from plain_dataset import PlainDataset, PlainGraph
from random_algebra import NODES, PREDICATES

Triple = tuple[Term, Term, Term]
NAMES = "xyz"


def random_triples(random: Random) -> list[Triple]:
    count = random.randint(0, 25)
    return list({(random.choice(NODES), random.choice(PREDICATES), random.choice(NODES)) for _ in range(count)})


def random_pattern(random: Random) -> TriplePattern:
    def place(terms: Sequence[Iri], share: float) -> Iri | Variable:
        return Variable(random.choice(NAMES)) if random.random() < share else random.choice(terms)

    stranger = Iri("http://example.org/stranger")
    return TriplePattern(place(NODES, 0.8), place(PREDICATES, 0.2), place((*NODES, stranger), 0.8))


def scope_over(triples: list[Triple]) -> Scope:
    dictionary = Dictionary()
    rows = [tuple(dictionary.encode(term) for term in triple) for triple in triples]
    return scope_of(PlainDataset(PlainGraph(rows)), dictionary)


def matches(pattern: TriplePattern, triples: list[Triple]) -> naive.Solutions:
    found: naive.Solutions = []
    for triple in triples:
        solution: dict[str, Term] = {}
        places = zip((pattern.subject, pattern.predicate, pattern.object), triple, strict=True)
        if all(
            solution.setdefault(place.name, term) == term if isinstance(place, Variable) else place == term
            for place, term in places
        ):
            found.append(solution)
    return found


def expected(patterns: tuple[TriplePattern, ...], triples: list[Triple]) -> naive.Solutions:
    result: naive.Solutions = [{}]
    for pattern in patterns:
        result = naive.join(result, matches(pattern, triples))
    return result


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_as_its_twin(count: int) -> None:
    for seed in range(40):
        random = Random(seed)
        triples, patterns = random_triples(random), tuple(random_pattern(random) for _ in range(count))
        assert bag(solve(BGP(patterns), scope_over(triples))) == bag(expected(patterns, triples))


def test_what_is_known_beside_it_changes_nothing() -> None:
    for seed in range(60):
        random = Random(seed)
        triples, patterns = random_triples(random), tuple(random_pattern(random) for _ in range(2))
        rows: naive.Solutions = [{name: random.choice(NODES) for name in "xw"} for _ in range(random.randint(0, 8))]
        found = solve(Join(inline(rows, "xw"), BGP(patterns)), scope_over(triples))
        assert bag(found) == bag(naive.join(rows, expected(patterns, triples)))


def test_a_limit_gives_some_of_the_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bgp, "_SLICE", 2)
    for seed in range(60):
        random = Random(seed)
        triples, patterns = random_triples(random), tuple(random_pattern(random) for _ in range(3))
        limit = random.randint(0, 5)
        found, whole = bag(solve(Slice(BGP(patterns), 0, limit), scope_over(triples))), bag(expected(patterns, triples))
        assert found <= whole
        assert found.total() == min(limit, whole.total())
