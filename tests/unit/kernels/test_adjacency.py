"""Tables of appended triples beside dictionaries of Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels import adjacency as kernels
from freshet.kernels.adjacency_reading import count_chain, merge_found

VERTICES = st.integers(-(2**63), 2**63 - 1).filter(bool) | st.integers(1, 4)
KEYS = st.lists(st.tuples(VERTICES, st.integers(0, 3)), max_size=100)


@settings(deadline=None)
@given(KEYS)
def test_chains_have_the_rows_of_their_keys(keyed: list[tuple[int, int]]) -> None:
    """Also in a larger table."""
    vertices, groups = np.array(keyed, np.int64).reshape(-1, 2).T.copy()
    rows = np.arange(len(keyed), dtype=np.int64)
    table, bits = np.zeros(256, np.int64), np.zeros(16, np.int64)
    entries, nodes = np.zeros((128, 3), np.int64), np.zeros((128, 2), np.int64)
    used, different = np.zeros(1, np.int64), np.zeros(4, np.int64)
    kernels.link_rows(table, bits, entries, nodes, used, different, vertices, groups, rows + 7, rows)
    larger = np.zeros(1024, np.int64)
    kernels.refill(table, larger)
    expected: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(keyed):
        expected.setdefault(key, []).append(row)
    assert used.sum() == different.sum() == len(expected)
    for key, found in expected.items():
        for each in (table, larger):
            assert count_chain(each, entries, len(keyed), *key) == len(found)
        bit = kernels.key_tag(*key) >> kernels.filter_shift(table)
        assert bits[bit >> 6] >> (bit & 63) & 1
    for first, *others in expected.values():
        row = first
        for following in others:
            row = (int(nodes[row, 1]) & 0xFFFFFFFF) - 1
            assert row == following
            assert nodes[row, 0] == row + 7
        assert nodes[row, 1] & 0xFFFFFFFF == 0


@settings(deadline=None)
@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_merge_keeps_the_order_of_numbers(numbers: list[int], more: list[int]) -> None:
    lists = [np.array(sorted(each), np.int64) for each in (numbers, more)]
    columns = [[each + 10 * place for place in range(3)] for each in lists]
    found, *merged = merge_found(lists[0], *columns[0], lists[1], *columns[1])
    assert found.tolist() == sorted([*numbers, *more])
    for place, column in enumerate(merged):
        assert (column == found + 10 * place).all()


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1).filter(bool), max_size=40, unique=True))
def test_groups(predicates: list[int]) -> None:
    known, slots = np.zeros(64, np.int64), np.zeros(128, np.int64)
    kernels.enter_groups(np.array(predicates, np.int64), slots, known, 0)
    asked = np.array([*reversed(predicates), *(p ^ 1 << 40 for p in predicates)], np.int64)
    expected = [predicates.index(p) if p in predicates else -1 for p in asked.tolist()]
    assert kernels.find_groups(asked, slots, known).tolist() == expected
