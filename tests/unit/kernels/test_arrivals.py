"""Elements of several streams as instants."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshet.kernels.arrivals import merge_instants

FIRST_MS = 1_700_000_000_000


def merged(streams: list[list[int]], stored: list[int]) -> tuple[list[int], list[int]]:
    times = np.array([*chain(*streams), *stored], np.int64)
    offsets = np.cumsum([0, *map(len, streams), len(stored)])
    instants, moments = merge_instants(times, offsets, len(streams))
    return instants.tolist(), moments.tolist()


@pytest.mark.parametrize("apart", [1, 1_000], ids=["dense", "far apart"])
@given(st.lists(st.lists(st.integers(0, 20)), min_size=1, max_size=4), st.lists(st.integers(-5, 20)))
def test_each_element_is_seen_at_the_first_instant_that_is_not_before_it(apart, streams, stored):
    ticks = [sorted(FIRST_MS + apart * time for time in stream) for stream in streams]
    instants = sorted({time for stream in ticks for time in stream})
    early = sorted(time for time in (FIRST_MS + apart * time for time in stored) if instants and time <= instants[-1])
    seen = [bisect_left(instants, time) for time in [*chain(*ticks), *early]]
    assert merged(ticks, early) == (instants, seen)


def test_stored_elements_long_before_the_first_instant_are_seen_at_it():
    assert merged([[FIRST_MS, FIRST_MS + 2]], [0, FIRST_MS + 1]) == ([FIRST_MS, FIRST_MS + 2], [0, 1, 0, 1])
