"""The directory of sorted rows beside a dictionary of Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels import sorted_triples as kernels
from freshet.store.directory import make_directory

KEYS = st.lists(st.integers(-(2**63), 2**63 - 1).filter(bool) | st.integers(1, 5), max_size=80)


@settings(deadline=None)
@given(st.lists(KEYS, min_size=1, max_size=4), KEYS)
def test_every_key_has_its_rows(groups: list[list[int]], others: list[int]) -> None:
    keys = np.array([key for group in groups for key in sorted(group)], np.int64)
    bounds = np.cumsum([0, *map(len, groups)])
    slots, firsts, shifts = make_directory(keys, bounds)
    assert kernels.count_keys(keys, bounds).tolist() == [len(set(group)) for group in groups]
    for number, group in enumerate(groups):
        asked = np.array([*group, *others], np.int64)
        ranges, total = kernels.find_ranges(slots, firsts[number], shifts[number], asked)
        rows = [np.flatnonzero(keys[bounds[number] : bounds[number + 1]] == key) + bounds[number] for key in asked]
        assert total == sum(map(len, rows))
        for found, expected in zip(ranges.tolist(), rows, strict=True):
            assert found & 0xFFFFFFFF == len(expected)
            assert not len(expected) or found >> 32 == expected[0]
        numbers = np.full(asked.size, number)
        grouped, grouped_total = kernels.find_grouped_ranges(slots, firsts, shifts, numbers, asked)
        assert (grouped == ranges).all()
        assert grouped_total == total


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), max_size=70), max_size=90), st.lists(st.integers(-4, 4), min_size=90))
def test_the_part_of_a_range_with_a_second_term(parts: list[list[int]], wanted: list[int]) -> None:
    seconds = np.array([term for part in parts for term in sorted(part)], np.int64)
    starts = np.cumsum([0, *map(len, parts)])
    ranges = np.array([start << 32 | len(part) if part else 0 for start, part in zip(starts, parts, strict=False)], "q")
    total = kernels.narrow_ranges(seconds, ranges, np.array(wanted[: len(parts)], np.int64))
    expected = [[number] * part.count(wanted[number]) for number, part in enumerate(parts)]
    numbers, rows = kernels.spread_rows(ranges, total)
    assert numbers.tolist() == [number for part in expected for number in part]
    assert seconds[rows].tolist() == [wanted[number] for number in numbers]
    same_numbers, keys, terms = kernels.spread(ranges, total, np.arange(len(parts)) * 10, seconds)
    assert same_numbers.tolist() == numbers.tolist()
    assert keys.tolist() == (numbers * 10).tolist()
    assert terms.tolist() == seconds[rows].tolist()
