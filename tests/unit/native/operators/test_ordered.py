"""ORDER BY, DISTINCT, OFFSET and LIMIT by increments, against sorting everything at every due moment."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.algebra.expressions import Arithmetic, Variable
from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import OrderCondition
from freshet.expressions.evaluate import evaluate
from freshet.expressions.order import order
from freshet.native.operators.ordered import OrderedOp
from freshet.native.plan.plan import PlanNode, PlanOrdered
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF_LANG_STRING, BlankNode, Iri, Literal
from oxigraph_expressions import typed
from timed_rows import LAST, TimedRows, batch_ends, batches_of, check_changes, lives_of, rows_of, table_of

LONG = "http://example.org/a/long/name/"
TERMS = [
    None,
    BlankNode("a"),
    BlankNode("b"),
    Iri("http://a"),
    Iri("http://a#"),
    Iri(LONG),
    Iri(LONG + "1"),
    Iri(LONG + "2"),
    typed("integer", "-5"),
    typed("decimal", "-5.0"),
    typed("decimal", "0.1"),
    typed("double", "0.1"),
    typed("double", "1.0E-1"),
    typed("float", "0.5"),
    typed("decimal", "0.5"),
    typed("integer", "9007199254740992"),
    typed("integer", "9007199254740993"),
    typed("double", "-INF"),
    typed("double", "NaN"),
    typed("float", "NaN"),
    typed("double", "0.30000000000000004"),
    typed("dateTime", "2020-01-01T00:00:00+01:00"),
    typed("dateTime", "2020-01-01T00:00:00Z"),
    typed("boolean", "false"),
    typed("boolean", "true"),
    typed("decimal", "0.0000000000000000001"),  # too many digits: by its text
    Literal(""),
    Literal("a"),
    Literal("a", RDF_LANG_STRING, "de"),
    Literal("a\x00"),
    Literal("a" * 24),
    Literal("a" * 24 + "b"),
    Literal("a" * 24 + "c"),
    Literal("a" * 24, Iri("urn:d")),
]
DICTIONARY = Dictionary()
IDS = [DICTIONARY.encode(term) if term else 0 for term in TERMS]
FEW = IDS[10:15]

CONDITIONS = [
    (),
    (OrderCondition(Variable("a")),),
    (OrderCondition(Variable("a"), descending=True), OrderCondition(Variable("b"))),
    (OrderCondition(Arithmetic("+", Variable("b"), Variable("b"))), OrderCondition(Variable("a"), descending=True)),
]

rows = st.tuples(st.sampled_from(IDS) | st.sampled_from(FEW), st.sampled_from(FEW))
plans = st.builds(
    lambda variables, conditions, distinct, offset, limit: PlanOrdered(
        frozenset(variables),
        frozenset(),
        PlanNode(frozenset("ab"), frozenset()),
        conditions,
        tuple(variables),
        distinct,
        offset,
        limit,
    ),
    st.sampled_from(["ab", "a", "b", ""]),
    st.sampled_from(CONDITIONS),
    st.booleans(),
    st.integers(0, 3),
    st.none() | st.integers(0, 4),
)
due_moments = st.none() | st.sets(st.integers(0, LAST))


def there_in_order_of_arrival(lives, moment):
    """The rows that are there: of equal rows the newest goes, and at one moment rows come before others go."""
    births = [(birth, 0, row) for birth, _, row in sorted(lives, key=lambda life: life[0])]
    deaths = [(death, 1, row) for _, death, row in sorted(lives, key=lambda life: life[1])]
    kept: list = []
    for at, goes, row in sorted(births + deaths, key=lambda event: event[:2]):
        if at > moment:
            break
        if goes:
            del kept[len(kept) - 1 - kept[::-1].index(row)]
        else:
            kept.append(row)
    return kept


def naive_slice(lives, moment, plan):
    needed = set(plan.variables) | variables_of(plan.conditions)  # what else a row has does not distinguish it
    lives = [
        (birth, death, tuple(each if name in needed else 0 for name, each in zip("ab", row, strict=True)))
        for birth, death, row in lives
    ]
    kept = there_in_order_of_arrival(lives, moment)
    if plan.conditions and kept:
        table = table_of(kept, "ab")
        keys = [
            (evaluate(each.expression, table.columns, table.count, DICTIONARY), each.descending)
            for each in plan.conditions
        ]
        kept = [kept[at] for at in order(keys, DICTIONARY)]
    shown = [tuple(row["ab".index(name)] for name in plan.variables) for row in kept]
    if plan.distinct:
        shown = list(dict.fromkeys(shown))
    return shown[plan.offset : None if plan.limit is None else plan.offset + plan.limit]


@settings(max_examples=300)
@given(lives_of(rows), batch_ends, due_moments, plans)
def test_changes(lives, ends, due, plan):
    operator = OrderedOp(TimedRows(lives, "ab"), plan, DICTIONARY)
    batches = list(batches_of(ends, due))
    asked = [moment for batch in batches for moment in batch.due.tolist()]

    def expected(moment):
        last = max((each for each in asked if each <= moment), default=-1)
        return Counter(naive_slice(lives, last, plan))

    check_changes(operator.changes, batches, plan.variables, expected, exact=False)


@settings(max_examples=300)
@given(lives_of(rows), batch_ends, due_moments, plans)
def test_slices(lives, ends, due, plan):
    operator = OrderedOp(TimedRows(lives, "ab"), plan, DICTIONARY)
    for batch in batches_of(ends, due):
        table, places = operator.slices(batch)
        assert table.count == len(places)
        assert (np.diff(places) >= 0).all()
        found = rows_of(table, plan.variables)
        for at, moment in enumerate(batch.due.tolist()):
            slice_there = [row for row, place in zip(found, places.tolist(), strict=True) if place == at]
            assert slice_there == naive_slice(lives, moment, plan)


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("limit", [None, 3])
def test_changes_are_in_order(distinct, limit):
    """Among those that come at one moment, and among those that go."""
    conditions = (OrderCondition(Variable("a"), descending=True),)
    plan = PlanOrdered(
        frozenset("a"), frozenset(), PlanNode(frozenset("a"), frozenset()), conditions, ("a",), distinct, 1, limit
    )
    numbers = [DICTIONARY.encode(typed("integer", str(number))) for number in (3, 1, 4, 5, 9, 2, 6)]
    lives = [(0, 30, (number,)) for number in numbers]
    operator = OrderedOp(TimedRows(lives, "a"), plan, DICTIONARY)
    expected = sorted(numbers, reverse=True)[1 : limit and 1 + limit]
    first, second = (operator.changes(batch) for batch in batches_of([10, LAST]))
    assert first.came.column("a").tolist() == expected
    assert second.went.column("a").tolist() == expected
    assert len(operator) == operator.held_bytes == 0


def random_lives(seed, count):
    dice = np.random.default_rng(seed)
    return [
        (birth, birth + dice.integers(0, 9).item(), (IDS[dice.integers(len(IDS))], FEW[dice.integers(len(FEW))]))
        for birth in dice.integers(0, 50, count).tolist()
    ]


@pytest.mark.parametrize("conditions", CONDITIONS)
@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("due_every", [1, 2, 6])
@pytest.mark.parametrize("limit", [None, 7])
def test_many_rows(conditions, distinct, due_every, limit):
    """Arrays grow, numbers of rows are used again, and trees are made anew where most rows change at once."""
    plan = PlanOrdered(
        frozenset("ab"), frozenset(), PlanNode(frozenset("ab"), frozenset()), conditions, ("a", "b"), distinct, 2, limit
    )
    lives = random_lives(7, 1000)
    child, due = TimedRows(lives, "ab"), range(0, LAST + 1, due_every)
    by_slices, by_changes = OrderedOp(child, plan, DICTIONARY), OrderedOp(child, plan, DICTIONARY)
    bag: Counter = Counter()
    for batch in batches_of([*range(4, LAST, 7), LAST], due):
        table, places = by_slices.slices(batch)
        found = rows_of(table, "ab")
        change = by_changes.changes(batch)
        bag.update(rows_of(change.came, "ab"))
        bag.subtract(rows_of(change.went, "ab"))
        if len(batch.due):
            expected = naive_slice(lives, batch.due[-1], plan)
            last = len(batch.due) - 1
            assert [row for row, place in zip(found, places.tolist(), strict=True) if place == last] == expected
            assert +bag == Counter(expected)
            assert min(bag.values(), default=0) >= 0
    assert len(by_slices) == len(by_changes) == 0


def test_texts_are_found_after_a_sweep():
    """The dictionary moves its records when it drops terms."""
    dictionary = Dictionary()
    dictionary.encode(Iri("http://example.org/to/be/dropped"))
    ids = [dictionary.encode(Iri(LONG + text)) for text in "dbca"]
    plan = PlanOrdered(
        frozenset("a"), frozenset(), PlanNode(frozenset("a"), frozenset()), CONDITIONS[1], ("a",), False, 0, None
    )
    lives = [(0, 50, (ids[0],)), (0, 50, (ids[1],)), (11, 50, (ids[2],)), (11, 50, (ids[3],))]
    operator = OrderedOp(TimedRows(lives, "a"), plan, dictionary)
    first, second = batches_of([10, 20], [10, 20])
    assert operator.slices(first)[0].column("a").tolist() == [ids[1], ids[0]]
    assert dictionary.sweep([np.array(ids, np.int64)]) == 1
    assert operator.slices(second)[0].column("a").tolist() == [ids[3], ids[1], ids[2], ids[0]]


def test_row_that_never_came():
    plan = PlanOrdered(frozenset("a"), frozenset(), PlanNode(frozenset("a"), frozenset()), (), ("a",), False, 0, None)
    operator = OrderedOp(TimedRows([(-1, 3, (IDS[1],))], "a"), plan, DICTIONARY)
    with pytest.raises(ValueError, match="not there"):
        operator.changes(next(batches_of([10])))
