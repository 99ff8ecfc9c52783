"""The join over batches of arrivals against an evaluation from scratch at every instant."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arrival_streams import PREDICATES, STREAMS, cases, elements, instants_of, join_from_scratch, timed
from freshet.native.arrival_leaf import ArrivalLeaf, ArrivalLeaves
from freshet.native.arrival_source import ArrivalSource
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.operators.arrival_join import ArrivalJoinOp


def expected(leaves, streams, stored):
    before: set = set()
    for time in instants_of(leaves, streams):
        now = join_from_scratch(leaves, streams, stored, time)
        yield time, now - before, before - now
        before = now


def in_batches(leaves, streams, stored, cuts, *, deaths=True):
    """The same by the operator: per instant what was born and what died."""
    pattern = {p: LeafPattern((0, p, 0), ((0,), (2,))) for p in PREDICATES}
    arrival_leaves = [ArrivalLeaf(window, pattern[predicate], names) for window, predicate, names in leaves]
    source, buffers = ArrivalSource(arrival_leaves), ArrivalLeaves(arrival_leaves)
    join = ArrivalJoinOp(buffers, deaths=deaths)
    names = sorted({name for _, _, names in leaves for name in names})
    source.stored(elements(stored))
    changes = defaultdict(lambda: (set(), set()))
    last = -1
    for cut in [*sorted(cuts), 10**6]:
        for stream in source.streams:
            source.receive(stream, elements([a for a in streams[stream] if last < a[0] <= cut]))
        last = cut
        arrived = source.take(cut + 1)
        if arrived is None:
            continue
        buffers.step(arrived, source.first)
        for side, results in enumerate(join.step(source.first, len(source.instants))):
            assert (np.diff(results.moments) >= 0).all()
            columns = join.columns(results.pointers, names)
            rows = zip(*(columns[name].tolist() for name in names), strict=True)
            for time, row in zip(source.times(results.moments).tolist(), rows, strict=True):
                solution = tuple(zip(names, row, strict=True))
                assert solution not in changes[time][side], "once each"
                changes[time][side].add(solution)
        buffers.end_step()
    return changes


@settings(max_examples=400, deadline=None)
@given(cases, timed, timed, timed, st.lists(st.integers(0, 31), max_size=6), st.booleans())
def test_a_batch_gives_what_one_at_a_time_gives(leaves, first, second, stored, cuts, deaths):
    streams = dict(zip(STREAMS, (first, second), strict=True))
    found = in_batches(leaves, streams, stored, cuts, deaths=deaths)
    for time, born, died in expected(leaves, streams, stored):
        assert found[time] == (born, died if deaths else set()), time
