"""DISTINCT and aggregates after every moment, against counting everything again at every moment."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.values import DECIMAL, DOUBLE, NOTHING
from freshet.native.operators.arrival_distinct import ArrivalDistinctOp, TimedRows
from freshet.native.operators.arrival_group import ArrivalEndOp, ArrivalSumsOp, TimedTerms
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.ids import XSD_DECIMAL, XSD_INTEGER
from freshet.rdf.terms import Iri, Literal

# A row is (birth, death, group, value), alive at birth <= moment < death.
lives = st.tuples(st.integers(0, 40), st.integers(1, 15), st.integers(1, 3), st.integers(-4, 4)).map(
    lambda life: (life[0], life[0] + life[1], life[2], life[3])
)
rows = st.lists(lives, max_size=60)
cuts = st.lists(st.integers(0, 60), max_size=5).map(lambda cuts: [*sorted(set(cuts)), 100])


def batches(lives, cuts):
    """The births and the deaths of each batch, each in order."""
    first = 0
    for cut in cuts:
        yield tuple(
            sorted((life for life in lives if first <= life[at] < cut), key=lambda life: life[at]) for at in (0, 1)
        )
        first = cut


def column(lives, at):
    return np.array([life[at] for life in lives], np.int64)


def alive(lives, moment):
    return [life for life in lives if life[0] <= moment < life[1]]


@settings(max_examples=100, deadline=None)
@given(rows, cuts)
def test_distinct(lives, cuts):
    operator = ArrivalDistinctOp(2)
    changes = defaultdict(lambda: (set(), set()))
    for born, died in batches(lives, cuts):
        sides = operator.step(
            *(
                TimedRows(np.array([life[2:] for life in part], np.int64).reshape(-1, 2), column(part, at))
                for at, part in enumerate((born, died))
            )
        )
        for side, timed in enumerate(sides):
            for row, moment in zip(timed.rows.tolist(), timed.moments.tolist(), strict=True):
                assert tuple(row) not in changes[moment][side]
                changes[moment][side].add(tuple(row))
    before: set = set()
    for moment in range(60):
        now = {life[2:] for life in alive(lives, moment)}
        assert changes[moment] == (now - before, before - now)
        before = now
    assert len(operator) == len(before)


def timed_terms(part, at, dictionary, datatype):
    terms = [dictionary.encode(Literal(str(life[3]), datatype)) for life in part]
    return TimedTerms(column(part, 2).reshape(-1, 1), np.array(terms, np.int64), column(part, at))


@settings(max_examples=100, deadline=None)
@given(rows, cuts, st.booleans())
def test_sums_and_means(lives, cuts, mean):
    dictionary = Dictionary()
    operator = ArrivalSumsOp(1, dictionary, mean=mean)
    state, seen = {}, 0
    changes = defaultdict(dict)
    for parts in batches(lives, cuts):
        found = operator.step(*(timed_terms(part, at, dictionary, XSD_INTEGER) for at, part in enumerate(parts)))
        for at, moment in enumerate(found.moments.tolist()):
            assert moment >= seen
            seen = moment
            group = int(found.keys[at, 0])
            assert group not in changes[moment]
            exact = (int(found.numbers.high[at]) << 64) + int(found.numbers.low[at])
            number = None if found.numbers.kinds[at] == NOTHING else Fraction(exact, 10**18)
            changes[moment][group] = (number, int(found.counts[at]))
    for moment in range(60):
        state.update(changes[moment])
        now = defaultdict(list)
        for life in alive(lives, moment):
            now[life[2]].append(life[3])
        assert {group: count for group, (_, count) in state.items() if count} == {g: len(v) for g, v in now.items()}
        for group, numbers in now.items():
            expected = Fraction(sum(numbers), len(numbers) if mean else 1)
            assert abs(state[group][0] - expected) < Fraction(1, 10**17)
        touched = {life[2] for life in lives if moment in life[:2]}
        assert changes[moment].keys() == touched


@settings(max_examples=150, deadline=None)
@given(rows, cuts, st.booleans(), st.lists(rows, max_size=2))
def test_least_and_greatest(lives, cuts, greatest, later):
    dictionary = Dictionary()
    operator = ArrivalEndOp(1, dictionary, greatest=greatest)
    for shift, more in enumerate(later, start=1):  # more of the same, so that members come and go and are swept
        lives = lives + [(b + 60 * shift, d + 60 * shift, group, value * shift) for b, d, group, value in more]
    state = {}
    changes = defaultdict(dict)
    for parts in batches(lives, [*cuts, 130, 200]):
        found = operator.step(*(timed_terms(part, at, dictionary, XSD_INTEGER) for at, part in enumerate(parts)))
        for key, term, moment in zip(found.keys[:, 0], found.terms, found.moments, strict=True):
            assert state.get((int(key), "last")) != int(term), "put out only where it changed"
            state[int(key), "last"] = int(term)
            changes[int(moment)][int(key)] = int(dictionary.decode(int(term)).lexical) if term else None
    now = {}
    for moment in range(200):
        now.update(changes[moment])
        groups = defaultdict(list)
        for life in alive(lives, moment):
            groups[life[2]].append(life[3])
        expected = {group: (max if greatest else min)(values) for group, values in groups.items()}
        assert {group: value for group, value in now.items() if value is not None} == expected


def test_many_members_come_and_go_in_one_group():
    """A window of a hundred over random numbers: entries are swept and heaps rebuilt, the least stays right."""
    random = np.random.default_rng(5)
    numbers = random.integers(-(10**6), 10**6, 5_000).tolist()
    dictionary = Dictionary()
    operator = ArrivalEndOp(1, dictionary, greatest=False)
    lives = [(at, at + 100, 1, number) for at, number in enumerate(numbers)]
    found = {}
    for parts in batches(lives, range(0, 5_200, 130)):
        step = operator.step(*(timed_terms(part, at, dictionary, XSD_INTEGER) for at, part in enumerate(parts)))
        found.update(zip(step.moments.tolist(), step.terms.tolist(), strict=True))
    best = None
    for moment in range(5_000):
        best = found.get(moment, best)
        assert int(dictionary.decode(best).lexical) == min(numbers[max(0, moment - 99) : moment + 1])


def test_numbers_of_equal_value_have_an_order_and_other_terms_are_refused():
    dictionary = Dictionary()
    operator = ArrivalEndOp(1, dictionary, greatest=False)
    terms = [Literal("2.0", XSD_DECIMAL), Literal("2", XSD_INTEGER)]
    keys = np.array([[7], [7]])
    none = TimedTerms(np.empty((0, 1), np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    entering = TimedTerms(keys, np.array([dictionary.encode(term) for term in terms]), np.array([0, 1]))
    found = operator.step(entering, none)
    assert [dictionary.decode(int(term)) for term in found.terms] == terms
    text = np.array([dictionary.encode(Iri("http://example.org/x"))])
    with pytest.raises(UnsupportedError):
        operator.step(TimedTerms(keys[:1], text, np.array([2])), none)


def test_kinds_of_sums():
    dictionary = Dictionary()
    operator = ArrivalSumsOp(0, dictionary, mean=True)
    terms = [Literal("1", XSD_INTEGER), Literal("2.5", Iri("http://www.w3.org/2001/XMLSchema#double"))]
    ids = np.array([dictionary.encode(term) for term in terms])
    none = TimedTerms(np.empty((0, 0), np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    found = operator.step(TimedTerms(np.empty((2, 0), np.int64), ids, np.array([0, 1])), none)
    assert found.numbers.kinds.tolist() == [DECIMAL, DOUBLE]
    assert found.numbers.reals[1] == 1.75
