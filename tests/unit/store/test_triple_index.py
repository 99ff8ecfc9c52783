"""The index beside a set of triples that is asked by looking at each of them."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.triples import ANY, Triples
from freshet.store import sorted_triples, sorting
from freshet.store.order_arrays import OrderArrays
from freshet.store.triple_index import OBJECT, SUBJECT, TripleIndex

Triple = tuple[int, int, int]

# terms of both kinds, near the ends of their ranges, and predicates that are terms as well
TERMS = st.sampled_from([1, 2, 3, 5, 2**62, 2**63 - 1, -1, -2, -(2**63), -(2**62)])
PREDICATES = st.sampled_from([1, 7, -1, 2**63 - 1])
TRIPLES = st.lists(st.tuples(TERMS, PREDICATES, TERMS), max_size=60)


def index_of(triples: list[Triple]) -> TripleIndex:
    columns = np.array(triples, np.int64).reshape(-1, 3).T
    return TripleIndex(Triples(*(np.ascontiguousarray(column) for column in columns)))


def naive_match(triples: list[Triple], pattern: Triple) -> list[Triple]:
    return sorted(
        triple
        for triple in set(triples)
        if all(wanted in (ANY, term) for wanted, term in zip(pattern, triple, strict=True))
    )


def rows(triples: Triples) -> list[Triple]:
    return sorted(zip(*(column.tolist() for column in triples), strict=True))


@settings(deadline=None)
@given(TRIPLES, st.tuples(st.just(ANY) | TERMS, st.just(ANY) | PREDICATES, st.just(ANY) | TERMS))
def test_match_and_count(triples: list[Triple], pattern: Triple) -> None:
    index = index_of(triples)
    assert rows(index.match(*pattern)) == naive_match(triples, pattern)
    assert index.count(*pattern) == len(naive_match(triples, pattern))


@settings(deadline=None)
@given(TRIPLES, st.just(ANY) | PREDICATES, st.sampled_from([0, 2]))
def test_distinct(triples: list[Triple], predicate: int, place: int) -> None:
    terms = {triple[place] for triple in naive_match(triples, (ANY, predicate, ANY))}
    assert index_of(triples).distinct(predicate, place) == len(terms)


@given(
    TRIPLES,
    st.lists(st.tuples(TERMS, PREDICATES, TERMS), min_size=1, max_size=90),
    st.tuples(*[st.sampled_from(["column", "constant", "any"])] * 3).filter(lambda kinds: "column" in kinds),
)
@settings(max_examples=300, deadline=None)
def test_probe(triples: list[Triple], patterns: list[Triple], kinds: tuple[str, str, str]) -> None:
    columns = np.array(patterns, np.int64).T
    places = [
        np.ascontiguousarray(column) if kind == "column" else int(column[0]) if kind == "constant" else ANY
        for column, kind in zip(columns, kinds, strict=True)
    ]
    numbers, found = index_of(triples).probe(*places)
    assert (np.diff(numbers) >= 0).all()
    expected = sorted(
        (number, *triple)
        for number in range(len(patterns))
        for triple in naive_match(
            triples, tuple(int(place[number]) if isinstance(place, np.ndarray) else place for place in places)
        )
    )
    assert sorted(zip(numbers.tolist(), *(column.tolist() for column in found), strict=True)) == expected


@pytest.mark.parametrize("seed", range(3))
def test_many_triples(seed: int) -> None:
    random = np.random.default_rng(seed)
    terms = random.integers(-(2**63), 2**63 - 1, 3_000)
    triples = Triples(
        terms[random.integers(0, 3_000, 40_000)],
        terms[random.zipf(1.5, 40_000) % 20],
        terms[random.zipf(1.2, 40_000) % 3_000],
    )
    index = TripleIndex(triples)
    everything = set(rows(triples))
    assert len(index) == len(everything)
    for predicate in terms[:20].tolist():
        numbers, found = index.probe(terms, predicate, ANY)
        assert set(rows(found)) == {triple for triple in everything if triple[1] == predicate}
        assert (found.subjects == terms[numbers]).all()
        numbers, found = index.probe(ANY, predicate, terms)
        assert len(numbers) == index.count(ANY, predicate, ANY)
        assert (found.objects == terms[numbers]).all()
    numbers, found = index.probe(*triples)
    assert (numbers == np.arange(40_000)).all()
    numbers, _ = index.probe(triples.subjects, triples.predicates, triples.objects + 1)
    asked = zip(*(column.tolist() for column in triples), strict=True)
    assert len(numbers) == sum((s, p, o + 1) in everything for s, p, o in asked)


@pytest.mark.parametrize("together", [1, 3, 7, 1 << 20])
def test_groups_sorted_apart_or_together(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    triples = [(s, p, o) for s in (1, 5, 5) for p in (2, -3, 9) for o in (9, 1, -8)]
    expected = index_of(triples).match(ANY, ANY, ANY)
    monkeypatch.setattr(sorting, "_ROWS_TOGETHER", together)
    index = index_of(triples)
    assert len(index) == 18
    for column, other in zip(index.match(ANY, ANY, ANY), expected, strict=True):
        assert (column == other).all()
    assert rows(index.match(ANY, -3, 9)) == [(1, -3, 9), (5, -3, 9)]


@pytest.mark.parametrize("groups", [0, 1 << 20])
def test_any_predicate_of_few_and_of_many(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many predicates are not all asked for each key; what is found is the same."""
    monkeypatch.setattr(sorted_triples, "_MANY_GROUPS", groups)
    random = np.random.default_rng(groups)
    triples = [tuple(row) for row in (random.integers(1, [40, 300, 40], (2_000, 3))).tolist()]
    index = index_of(triples)
    for term in (1, 7, 39, 40):
        assert rows(index.match(term, ANY, ANY)) == naive_match(triples, (term, ANY, ANY))
        assert rows(index.match(ANY, ANY, term)) == naive_match(triples, (ANY, ANY, term))
        assert index.count(ANY, ANY, term) == len(naive_match(triples, (ANY, ANY, term)))
        assert index.count(term, ANY, 3) == len(naive_match(triples, (term, ANY, 3)))
    asked = np.array([3, 41, 3, 12])
    numbers, found = index.probe(asked, ANY, ANY)
    assert numbers.tolist() == sorted(numbers.tolist())
    for number, term in enumerate(asked.tolist()):
        chosen = Triples(*(column[numbers == number] for column in found))
        assert rows(chosen) == naive_match(triples, (term, ANY, ANY))


def test_distinct_of_many_is_about_right() -> None:
    random = np.random.default_rng(5)
    subjects = random.integers(1, 400_000, 1_000_000)
    triples = Triples(subjects, random.integers(1, 4, 1_000_000), random.integers(1, 1_000, 1_000_000))
    index = TripleIndex(triples)
    for predicate in (ANY, 2):
        chosen = subjects if predicate == ANY else subjects[triples.predicates == predicate]
        assert index.distinct(predicate, SUBJECT) == pytest.approx(np.unique(chosen).size, rel=0.03)
        assert index.distinct(predicate, OBJECT) == 999


@pytest.mark.parametrize("mode", ["r", "c"])
def test_orders_mapped_from_files(mode: str, tmp_path: Path) -> None:
    triples = [(s, p, o) for s in range(1, 40) for p in (2, -3) for o in (s % 7 + 1, 1)]
    made = index_of(triples)
    mapped = []
    for key in (SUBJECT, OBJECT):
        for name, array in made.order(key).arrays._asdict().items():
            np.save(tmp_path / f"{key}-{name}.npy", array)
        mapped.append(OrderArrays(*(np.load(tmp_path / f"{key}-{n}.npy", mmap_mode=mode) for n in OrderArrays._fields)))
    index = TripleIndex.of_orders(*mapped)
    assert len(index) == len(set(triples))
    for pattern in ((ANY, ANY, ANY), (3, ANY, ANY), (ANY, -3, ANY), (ANY, ANY, 4), (3, 2, 1), (ANY, 2, 5)):
        assert rows(index.match(*pattern)) == naive_match(triples, pattern)
    numbers, _ = index.probe(np.arange(30, 50), 2, ANY)
    assert len(numbers) == len([triple for triple in set(triples) if triple[0] >= 30 and triple[1] == 2])


def test_what_was_given_is_not_kept() -> None:
    index = index_of([(s, 1, s % 7 + 1) for s in range(1, 100)])
    assert len(index) == 99
    assert index._given is None
    assert [order.key for order in index.orders()] == [SUBJECT]
    assert index.count(ANY, 1, 3) == 14
    assert index.order(OBJECT).arrays.column_bytes == 99 * 16


def test_a_column_of_any_shape() -> None:
    index = index_of([(1, 2, 3), (4, 2, 6)])
    numbers, found = index.probe(np.array([[4, 0], [1, 0]])[:, 0], np.int64(2), ANY)
    assert numbers.tolist() == [0, 1]
    assert found.objects.tolist() == [6, 3]


def test_threads_share_an_order() -> None:
    index = index_of([(s, 1, s % 7) for s in range(1, 5_000)])
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(index.count(ANY, 1, 3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [714] * 8
