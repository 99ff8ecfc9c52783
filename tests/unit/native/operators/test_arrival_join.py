"""The join over batches of arrivals against an evaluation from scratch at every instant."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.algebra.windows import AllWindow, CountWindow, NowWindow, RangeWindow, TriplesWindow, WindowOperator
from freshet.native.arrival_leaf import ArrivalLeaf, ArrivalLeaves
from freshet.native.arrival_source import ArrivalSource
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.operators.arrival_join import ArrivalJoinOp
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri

STREAMS = ("http://example.org/s", "http://example.org/t")
PREDICATES = (101, 102)
Row = tuple[int, ...]
Arrival = tuple[int, tuple[int, int, int]]  # time, triple


def window_content(window: WindowOperator, arrivals: list[Arrival], time: int) -> set[tuple[int, int, int]]:
    """The definition (docs: windows), word by word."""
    came = [(t, triple) for t, triple in arrivals if t <= time]
    match window:
        case RangeWindow(_, width, None):
            return {triple for t, triple in came if t >= time - width}
        case RangeWindow(_, width, slide):
            start = next(s for s in range(time - width + 1, time + slide + 2) if s % slide == 0)
            return {triple for t, triple in came if t >= start}
        case NowWindow():
            return {triple for t, triple in came if t == time}
        case TriplesWindow(_, count) | CountWindow(_, count, 1):
            return {triple for _, triple in came[-count:]}
        case AllWindow():
            return {triple for _, triple in came}
    raise AssertionError(window)


def join_from_scratch(leaves, streams, stored, time) -> set[tuple[tuple[str, int], ...]]:
    """All solutions at an instant, by nested loops."""
    contents = []
    for window, predicate, names in leaves:
        if window is None:
            triples = {triple for t, triple in stored if t <= time}
        else:
            triples = window_content(window, streams[window.stream.value], time)
        contents.append([dict(zip(names, (s, o), strict=True)) for s, p, o in triples if p == predicate])
    found = set()
    for rows in product(*contents):
        merged: dict[str, int] = {}
        if all(merged.setdefault(name, value) == value for row in rows for name, value in row.items()):
            found.add(tuple(sorted(merged.items())))
    return found


def expected(leaves, streams, stored):
    windows = {window.stream.value for window, _, _ in leaves if window is not None}
    instants = sorted({t for stream in windows for t, _ in streams[stream]})
    before: set = set()
    for time in instants:
        now = join_from_scratch(leaves, streams, stored, time)
        yield time, now - before, before - now
        before = now


def elements(arrivals: list[Arrival]) -> Elements:
    table = np.array([(t, *triple) for t, triple in arrivals], np.int64).reshape(len(arrivals), 4)
    return Elements(*(np.ascontiguousarray(column) for column in table.T))


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
        for side, timed in enumerate(join.step(source.first, len(source.instants))):
            assert (np.diff(timed.moments) >= 0).all()
            columns = join.columns(timed.pointers, names)
            rows = zip(*(columns[name].tolist() for name in names), strict=True)
            for time, row in zip(source.times(timed.moments).tolist(), rows, strict=True):
                solution = tuple(zip(names, row, strict=True))
                assert solution not in changes[time][side], "once each"
                changes[time][side].add(solution)
        buffers.end_step()
    return changes


def windows(stream: str) -> st.SearchStrategy[WindowOperator]:
    iri = Iri(stream)
    return st.one_of(
        st.integers(0, 9).map(lambda width: RangeWindow(iri, width)),
        st.tuples(st.integers(1, 9), st.integers(1, 4)).map(lambda pair: RangeWindow(iri, *pair)),
        st.just(NowWindow(iri)),
        st.integers(1, 6).map(lambda count: TriplesWindow(iri, count)),
        st.integers(1, 6).map(lambda count: CountWindow(iri, count)),
        st.just(AllWindow(iri)),
    )


some_windows = st.one_of(windows(STREAMS[0]), windows(STREAMS[1]))
nodes = st.integers(1, 3)
triples = st.tuples(nodes, st.sampled_from(PREDICATES), nodes)
timed = st.lists(st.tuples(st.integers(0, 30), triples), max_size=25).map(lambda a: sorted(a, key=lambda e: e[0]))
variables = st.tuples(st.sampled_from("abc"), st.sampled_from("cdef"))
leaf = st.tuples(st.one_of(some_windows, st.none()), st.sampled_from(PREDICATES), variables).filter(
    lambda leaf: leaf[2][0] != leaf[2][1]
)
window_leaf = st.tuples(some_windows, st.sampled_from(PREDICATES), variables).filter(
    lambda leaf: leaf[2][0] != leaf[2][1]
)
cases = st.tuples(window_leaf, st.lists(leaf, max_size=2)).map(
    lambda pair: sorted([pair[0], *pair[1]], key=lambda leaf: leaf[0] is None)
)


@settings(max_examples=400, deadline=None)
@given(cases, timed, timed, timed, st.lists(st.integers(0, 31), max_size=6), st.booleans())
def test_a_batch_gives_what_one_at_a_time_gives(leaves, first, second, stored, cuts, deaths):
    streams = dict(zip(STREAMS, (first, second), strict=True))
    found = in_batches(leaves, streams, stored, cuts, deaths=deaths)
    for time, born, died in expected(leaves, streams, stored):
        assert found[time] == (born, died if deaths else set()), time
