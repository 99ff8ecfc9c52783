"""Rows of a stored pattern that are not copied: they are found, valued and told of as those of a leaf buffer are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.stored_leaf import StoredLeaf
from freshet.rdf.elements import Elements
from freshet.rdf.triples import Triples
from freshet.store.triple_index import TripleIndex

BEFORE = -(2**62)
PREDICATE = 7
PATTERN = LeafPattern((0, PREDICATE, 0), ((0,), (2,)))

ids = st.integers(1, 6)
triples = st.lists(st.tuples(ids, st.sampled_from([5, PREDICATE, 9]), ids), max_size=25)


def columns(rows: list) -> list[np.ndarray]:
    return [np.array([row[at] for row in rows], np.int64) for at in range(len(rows[0]) if rows else 3)]


def elements(rows: list, first_ms: int) -> Elements:
    return Elements(np.arange(first_ms, first_ms + len(rows)), *columns(rows))


def rows_of(leaf: LeafBuffer | StoredLeaf, rows: np.ndarray) -> list[tuple[int, int]]:
    return sorted(zip(leaf.values[rows, 0].tolist(), leaf.values[rows, 1].tolist(), strict=True))


@settings(deadline=None)
@given(triples, triples, triples, st.lists(st.tuples(ids, ids), min_size=1, max_size=8))
def test_as_a_leaf_buffer(stored: list, first: list, second: list, keys: list) -> None:
    base = TripleIndex(Triples(*columns(stored)))
    large, copied = StoredLeaf(PATTERN, base), LeafBuffer(PATTERN, expires=False)
    copied.receive(Elements(np.full(len(stored), BEFORE), *columns(stored)))
    copied.step(BEFORE, 0, 1)
    for number, batch in enumerate((first, second), 2):
        for leaf in (large, copied):
            leaf.receive(elements(batch, number * 1000))
            if leaf.moves(BEFORE, (number + 1) * 1000):
                leaf.step(BEFORE, (number + 1) * 1000, number)
        assert rows_of(large, large.live_rows()) == rows_of(copied, copied.live_rows())
        assert rows_of(large, large.fresh(number - 1)) == rows_of(copied, copied.fresh(number - 1))
        assert large.live == copied.live
        assert not len(large.dead(number - 1))
    for on in ((0,), (1,), (0, 1), (1, 0), ()):
        asked = np.array([[key[column] for column in on] for key in keys], np.int64).reshape(len(keys), len(on))
        for before in (2, 3, 2**62):
            found = [
                sorted(
                    (left, *(leaf.values.item(row, column) for column in (0, 1)))
                    for left, row in zip(
                        *map(np.ndarray.tolist, leaf.index_on(on).probe(asked, leaf.born, before)), strict=True
                    )
                )
                for leaf in (large, copied)
            ]
            assert found[0] == found[1]


def test_pairs_have_each_row_beside_what_it_finds() -> None:
    base = TripleIndex(Triples(*columns([(1, PREDICATE, 2), (1, PREDICATE, 3), (4, PREDICATE, 2)])))
    leaf = StoredLeaf(PATTERN, base)
    others = np.array([[9, 1], [8, 4], [7, 5]], np.int64)
    pairs = leaf.index_on((0,)).pairs(np.arange(3, dtype=np.int32), others, np.array([1]), leaf.born, 2**62, 0)
    found = {(int(others[row, 0]), leaf.values.item(stored, 1)) for row, stored in pairs.tolist()}
    assert found == {(9, 2), (9, 3), (8, 2)}


def test_what_it_suits() -> None:
    assert StoredLeaf.suits(PATTERN)
    assert not StoredLeaf.suits(LeafPattern((0, 0, 0), ((0,), (1,), (2,))))
    assert not StoredLeaf.suits(LeafPattern((3, PREDICATE, 0), ((2,),)))
    assert not StoredLeaf.suits(LeafPattern((0, PREDICATE, 0), ((0, 2),)))
