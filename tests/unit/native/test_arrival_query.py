"""Whole queries over batches of arrivals against every instant from scratch: filters, projection, R2S."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrival_streams import NUMBERS, PREDICATES, STREAMS, cases, elements, instants_of, join_from_scratch, timed
from freshet.algebra.expressions import Compare, Variable
from freshet.algebra.nodes import StreamOperator
from freshet.algebra.windows import RangeWindow, TriplesWindow
from freshet.native import arrival_query
from freshet.native.arrival_leaf import ArrivalLeaf
from freshet.native.arrival_plan import ArrivalPlan
from freshet.native.arrival_query import ArrivalQuery
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.plan import PlanCondition
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri

PATTERNS = {predicate: LeafPattern((0, predicate, 0), ((0,), (2,))) for predicate in PREDICATES}


@st.composite
def queries(draw):
    """Leaves, the variables put out, and pairs of variables of which the first is less than the second."""
    leaves = draw(cases)
    names = sorted({name for _, _, names in leaves for name in names})
    variables = tuple(draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=2))
    return leaves, variables, pairs


def answer_at(query, streams, stored, time, distinct):
    """The answer at an instant, as a bag."""
    leaves, variables, pairs = query
    bag: Counter = Counter()
    for solution in map(dict, join_from_scratch(leaves, streams, stored, time)):
        if all(NUMBERS[solution[left]] < NUMBERS[solution[right]] for left, right in pairs):
            bag[tuple(solution[name] for name in variables)] += 1
    return Counter(dict.fromkeys(bag, 1)) if distinct else bag


def expected(query, streams, stored, distinct, output):
    found, before = {}, Counter()
    for time in instants_of(query[0], streams):
        now = answer_at(query, streams, stored, time, distinct)
        put_out = now - before if output is StreamOperator.ISTREAM else before - now
        if put_out:
            found[time] = put_out
        before = now
    return found


@settings(max_examples=300, deadline=None)
@given(
    queries(),
    st.tuples(timed, timed),
    timed,
    st.lists(st.integers(0, 31), max_size=6),
    st.booleans(),
    st.sampled_from([StreamOperator.ISTREAM, StreamOperator.DSTREAM]),
    st.sampled_from([0, 1000]),
)
def test_reports_of_batches_are_those_of_instants(query, arrivals, stored, cuts, distinct, output, few):
    """Of up to `few` elements all are tested by conditions on a leaf alone, of more those that match its pattern."""
    leaves, variables, pairs = query
    streams = dict(zip(STREAMS, arrivals, strict=True))
    scope = frozenset(name for _, _, names in leaves for name in names)
    conditions = tuple(PlanCondition(Compare("<", Variable(left), Variable(right)), scope) for left, right in pairs)
    asked = ArrivalQuery(
        [ArrivalLeaf(window, PATTERNS[predicate], names) for window, predicate, names in leaves],
        ArrivalPlan(conditions, (), variables, distinct, output),
        Dictionary(),
    )
    asked.stored(elements(stored))
    found = {}
    last = -1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrival_query, "_FEW_ELEMENTS", few)
        for cut in [*sorted(cuts), 10**6]:
            for stream in asked.streams:
                asked.receive(stream, elements([arrival for arrival in streams[stream] if last < arrival[0] <= cut]))
            for time, rows in asked.advance(cut + 1):
                assert time not in found
                found[time] = Counter(map(tuple, rows.tolist()))
            last = cut
    assert list(found) == sorted(found)
    assert found == expected(query, streams, stored, distinct, output)


def join_query(leaves, put_out=None, *, distinct=False):
    """A query that puts out all variables of a join or some, and does nothing else."""
    variables = tuple(sorted({name for leaf in leaves for name in leaf.names})) if put_out is None else put_out
    return ArrivalQuery(leaves, ArrivalPlan((), (), variables, distinct, StreamOperator.ISTREAM), Dictionary())


def send(asked, batches):
    """Batches of (stream, elements) up to a time each."""
    for parts, until in batches:
        for stream, part in parts:
            asked.receive(stream, part)
        for time, rows in asked.advance(until):
            yield time, sorted(map(tuple, rows.tolist()))


@settings(max_examples=200, deadline=None)
@given(cases, st.tuples(timed, timed), timed, st.lists(st.integers(0, 31), max_size=10))
def test_joins_give_what_instants_from_scratch_give(leaves, arrivals, stored, cuts):
    streams = dict(zip(STREAMS, arrivals, strict=True))
    asked = join_query([ArrivalLeaf(window, PATTERNS[predicate], names) for window, predicate, names in leaves])
    asked.stored(elements(stored))
    bounds = [-1, *sorted(cuts), 10**6]
    batches = [
        ([(s, elements([a for a in streams[s] if last < a[0] <= cut])) for s in asked.streams], cut + 1)
        for last, cut in pairwise(bounds)
    ]
    variables = tuple(sorted({name for _, _, names in leaves for name in names}))
    found = {time: Counter(rows) for time, rows in send(asked, batches)}
    assert found == expected((leaves, variables, []), streams, stored, False, StreamOperator.ISTREAM)


@pytest.mark.parametrize("size", [7, 60, 700])
@pytest.mark.parametrize("window", [TriplesWindow(Iri(STREAMS[0]), 300), RangeWindow(Iri(STREAMS[0]), 500)])
@pytest.mark.parametrize(("put_out", "distinct"), [(None, False), (("a", "c"), False), (("a", "c"), True)])
def test_batches_of_any_size_give_the_same_while_arrays_grow_and_are_swept(window, size, put_out, distinct):
    """A join of three leaves over terms of which half never come again."""
    rng, total = np.random.default_rng(size), 6_000 if put_out is None else 2_000
    leaves = [
        ArrivalLeaf(window, PATTERNS[PREDICATES[0]], ("a", "b")),
        ArrivalLeaf(TriplesWindow(Iri(STREAMS[1]), 200), PATTERNS[PREDICATES[1]], ("b", "c")),
        ArrivalLeaf(window, PATTERNS[PREDICATES[1]], ("d", "b")),
    ]
    times = np.cumsum(rng.integers(0, 3, total))
    nodes = np.where(rng.random((2, total)) < 0.5, rng.integers(1_000, 1_040, (2, total)), np.arange(total) + 10_000)
    predicates = np.where(rng.random(total) < 0.5, *PREDICATES)
    of_second = rng.random(total) < 0.4

    def batches_of(size):
        for first in range(0, total, size):
            here = np.arange(total)[first : first + size]
            parts = [
                (stream, Elements(*(np.ascontiguousarray(c[rows]) for c in (times, nodes[0], predicates, nodes[1]))))
                for stream, rows in zip(STREAMS, (here[~of_second[here]], here[of_second[here]]), strict=True)
            ]
            yield parts, int(times[here[-1]])  # the last instant may go on in the next batch
        yield [], 10**9

    large, single = (list(send(join_query(leaves, put_out, distinct=distinct), batches_of(each))) for each in (size, 1))
    assert large == single
    assert len(large) > 100


@pytest.mark.parametrize("output", [StreamOperator.ISTREAM, StreamOperator.DSTREAM])
@pytest.mark.parametrize(("put_out", "distinct"), [(("a", "b", "c"), False), (("b",), False), (("a", "c"), True)])
def test_an_instant_may_have_more_results_than_any_before(output, put_out, distinct):
    """A row that meets 200 others, which come by themselves and go all at once."""
    width, others = 1_000, 200
    leaves = [
        ArrivalLeaf(RangeWindow(Iri(STREAMS[0]), width), PATTERNS[PREDICATES[0]], ("a", "b")),
        ArrivalLeaf(RangeWindow(Iri(STREAMS[1]), width), PATTERNS[PREDICATES[1]], ("b", "c")),
    ]
    asked = ArrivalQuery(leaves, ArrivalPlan((), (), put_out, distinct, output), Dictionary())
    streams = {
        STREAMS[0]: [(at, (1_000 + at, PREDICATES[0], 7)) for at in range(others)] + [(5_000, (1, PREDICATES[0], 2))],
        STREAMS[1]: [(others + 10, (7, PREDICATES[1], 9))],
    }
    found = {}
    for stream, arrival in sorted(((s, a) for s, all_of in streams.items() for a in all_of), key=lambda each: each[1]):
        asked.receive(stream, elements([arrival]))
        found |= {time: Counter(map(tuple, rows.tolist())) for time, rows in asked.advance(arrival[0] + 1)}
    query = [(leaf.window, leaf.pattern.constants[1], leaf.names) for leaf in leaves], put_out, []
    assert found == expected(query, streams, [], distinct, output)
    assert max(sum(bag.values()) for bag in found.values()) == others
