"""Streams, windows and joins at random, and what they come to by definition, at every instant from scratch."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from freshet.algebra.windows import AllWindow, CountWindow, NowWindow, RangeWindow, TriplesWindow, WindowOperator
from freshet.rdf.elements import Elements
from freshet.rdf.ids import XSD_INTEGER, inline_id
from freshet.rdf.terms import Iri, Literal

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


def instants_of(leaves, streams) -> list[int]:
    """The instants at which a query over these leaves is evaluated."""
    read = {window.stream.value for window, _, _ in leaves if window is not None}
    return sorted({t for stream in read for t, _ in streams[stream]})


def elements(arrivals: list[Arrival]) -> Elements:
    table = np.array([(t, *triple) for t, triple in arrivals], np.int64).reshape(len(arrivals), 4)
    return Elements(*(np.ascontiguousarray(column) for column in table.T))


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
NUMBERS = {inline_id(Literal(str(number), XSD_INTEGER)): number for number in (1, 2, 3)}
nodes = st.sampled_from([*NUMBERS])
triples = st.tuples(nodes, st.sampled_from(PREDICATES), nodes)
timed = st.lists(st.tuples(st.integers(0, 30), triples), max_size=25).map(lambda a: sorted(a, key=lambda e: e[0]))
variables = st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"))
leaf = st.tuples(st.one_of(some_windows, st.none()), st.sampled_from(PREDICATES), variables).filter(
    lambda leaf: leaf[2][0] != leaf[2][1]
)
window_leaf = st.tuples(some_windows, st.sampled_from(PREDICATES), variables).filter(
    lambda leaf: leaf[2][0] != leaf[2][1]
)
cases = st.tuples(window_leaf, st.lists(leaf, max_size=2)).map(
    lambda pair: sorted([pair[0], *pair[1]], key=lambda leaf: leaf[0] is None)
)
