"""Whole queries over batches of arrivals against every instant from scratch: filters, projection, R2S."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from arrival_streams import NUMBERS, PREDICATES, STREAMS, cases, elements, instants_of, join_from_scratch, timed
from freshet.algebra.expressions import Compare, Variable
from freshet.algebra.nodes import StreamOperator
from freshet.native.arrival_leaf import ArrivalLeaf
from freshet.native.arrival_plan import ArrivalPlan
from freshet.native.arrival_query import ArrivalQuery, by_time
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.plan import PlanCondition
from freshet.rdf.dictionary import Dictionary

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
)
def test_reports_of_batches_are_those_of_instants(query, arrivals, stored, cuts, distinct, output):
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
    for cut in [*sorted(cuts), 10**6]:
        for stream in asked.streams:
            asked.receive(stream, elements([arrival for arrival in streams[stream] if last < arrival[0] <= cut]))
        for time, rows in by_time(asked.advance(cut + 1)):
            assert time not in found
            found[time] = Counter(map(tuple, rows.tolist()))
        last = cut
    assert list(found) == sorted(found)
    assert found == expected(query, streams, stored, distinct, output)
