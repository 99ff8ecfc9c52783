"""The hash tables of joins against plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

import numpy as np
import pytest

from freshet.kernels.joins import BEGIN, build, equal_pairs, have_equals, number_rows, reach
from freshet.rdf.arrow import read_only


def random_keys(random: Random, width: int, most: int = 40) -> np.ndarray:
    rows = [[random.randint(-2, 2) << 40 for _ in range(width)] for _ in range(random.randint(0, most))]
    return read_only(np.array(rows, np.int64).reshape(-1, width))


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("room", [1, 5, 10_000])
def test_equal_pairs(width: int, room: int) -> None:
    for seed in range(20):
        random = Random(seed)
        keys, others = random_keys(random, width), random_keys(random, width)
        heads, following = build(keys)
        pairs: list[tuple[int, int]] = []
        row, place = 0, BEGIN
        while row < len(others):
            found, rows = np.empty(room, np.int64), np.empty(room, np.int64)
            filled, row, place = equal_pairs(keys, heads, following, others, row, place, found, rows)
            pairs += zip(found[:filled].tolist(), rows[:filled].tolist(), strict=True)
        expected = [(a, b) for a in range(len(keys)) for b in range(len(others)) if list(keys[a]) == list(others[b])]
        assert Counter(pairs) == Counter(expected)
        has = have_equals(keys, heads, following, others)
        assert has.tolist() == [b in {pair[1] for pair in expected} for b in range(len(others))]


@pytest.mark.parametrize("width", [1, 2])
def test_number_rows(width: int) -> None:
    for seed in range(20):
        keys = random_keys(Random(seed), width)
        rows = list(map(tuple, keys.tolist()))
        distinct = list(dict.fromkeys(rows))
        numbers, firsts = number_rows(keys)
        assert numbers.tolist() == [distinct.index(row) for row in rows]
        assert firsts.tolist() == [rows.index(row) for row in distinct]


@pytest.mark.parametrize("with_start", [True, False])
def test_reach(with_start: bool) -> None:
    for seed in range(20):
        random = Random(seed)
        size = random.randint(1, 8)
        edges = sorted((random.randrange(size), random.randrange(size)) for _ in range(random.randint(0, 12)))
        offsets = np.searchsorted([edge[0] for edge in edges], np.arange(size + 1)).astype(np.int64)
        targets = np.array([edge[1] for edge in edges], np.int64)
        starts = np.array(random.sample(range(size), random.randint(0, size)), np.int64)
        stamps, queue = np.zeros(size, np.int64), np.empty(size, np.int64)
        found: list[tuple[int, int]] = []
        first = 0
        while first < len(starts):
            numbers, nodes = np.empty(size + 2, np.int64), np.empty(size + 2, np.int64)
            filled, first = reach(offsets, targets, starts, first, with_start, stamps, queue, numbers, nodes)
            found += zip(numbers[:filled].tolist(), nodes[:filled].tolist(), strict=True)
        assert sorted(found) == sorted(closure(edges, starts.tolist(), with_start))


def closure(edges: list[tuple[int, int]], starts: list[int], with_start: bool) -> list[tuple[int, int]]:
    following: dict[int, set[int]] = defaultdict(set)
    for one, other in edges:
        following[one].add(other)
    pairs = []
    for number, start in enumerate(starts):
        reached = {start} if with_start else set(following[start])
        while more := {other for one in reached for other in following[one]} - reached:
            reached |= more
        pairs += [(number, node) for node in reached]
    return pairs
