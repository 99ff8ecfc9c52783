"""Random triples and patterns, and a set of triples that is asked by looking at each of them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from freshet.rdf.elements import Elements
from freshet.rdf.triples import ANY, Triples

Triple = tuple[int, int, int]
Pattern = tuple[int, int, int]
Kinds = tuple[str, str, str]

TERMS = st.sampled_from([1, 2, 3, 5, 2**62, 2**63 - 1, -1, -(2**63)])
PREDICATES = st.sampled_from([1, 7, 2**62, 2**63 - 1])  # IRIs, whose ids are positive
TRIPLES = st.lists(st.tuples(TERMS, PREDICATES, TERMS), max_size=12)
PATTERNS = st.tuples(st.just(ANY) | TERMS, st.just(ANY) | PREDICATES, st.just(ANY) | TERMS)
KINDS = st.tuples(*[st.sampled_from(["column", "constant", "any"])] * 3).filter(lambda kinds: "column" in kinds)


def columns_of(triples: list[Triple]) -> Triples:
    return Triples(*(np.ascontiguousarray(column) for column in np.array(triples, np.int64).reshape(-1, 3).T))


def elements_of(triples: list[Triple], time: int) -> Elements:
    return Elements(np.full(len(triples), time, np.int64), *columns_of(triples))


def naive_match(triples: set[Triple], pattern: Pattern) -> list[Triple]:
    return sorted(
        triple for triple in triples if all(wanted in (ANY, term) for wanted, term in zip(pattern, triple, strict=True))
    )


def rows(triples: Triples) -> list[Triple]:
    return sorted(zip(*(column.tolist() for column in triples), strict=True))


def places_of(patterns: list[Pattern], kinds: Kinds) -> list[np.ndarray | int]:
    """What a probe of patterns is asked: a column, one term for all, or ANY at each place."""
    columns = np.array(patterns, np.int64).T
    columns[columns == ANY] = 4  # columns hold no ANY
    return [
        np.ascontiguousarray(column) if kind == "column" else int(column[0]) if kind == "constant" else ANY
        for column, kind in zip(columns, kinds, strict=True)
    ]


def naive_probe(triples: set[Triple], count: int, places: list[np.ndarray | int]) -> list[tuple[int, ...]]:
    """The number of each pattern with each triple that matches it."""
    return sorted(
        (number, *triple)
        for number in range(count)
        for triple in naive_match(
            triples, tuple(int(place[number]) if isinstance(place, np.ndarray) else place for place in places)
        )
    )
