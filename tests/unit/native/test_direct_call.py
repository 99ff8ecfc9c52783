"""Calls without a look at types give what the kernel gives; elements of any make are made plain before them."""

from __future__ import annotations

import numpy as np
import pytest

from arrival_streams import PREDICATES, STREAMS
from freshet.algebra.nodes import StreamOperator
from freshet.algebra.windows import TriplesWindow
from freshet.kernels.bags import bag_less
from freshet.native.arrival_leaf import ArrivalLeaf
from freshet.native.arrival_plan import ArrivalPlan
from freshet.native.arrival_query import ArrivalQuery
from freshet.native.direct_call import DirectCall
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.operators.arrival_distinct import ArrivalDistinctOp
from freshet.native.stream import plain
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri


def test_every_call_gives_what_the_kernel_gives():
    direct, random = DirectCall(bag_less), np.random.default_rng(1)
    for count in range(8):
        rows, others = random.integers(0, 3, (count, 2)), random.integers(0, 3, (5, 2))
        assert np.array_equal(direct.run(rows, others), bag_less(rows, others))
    assert direct.run is not direct._first_run


MAKES = {
    "every second": lambda column: np.repeat(column, 2)[::2],
    "backwards": lambda column: column[::-1].copy()[::-1],
    "32 bits": lambda column: column.astype(np.int32),
    "read only": lambda column: np.frombuffer(column.tobytes(), np.int64),
}


@pytest.mark.parametrize("make", MAKES)
def test_elements_of_any_make_are_read_as_they_are(make):
    count = 40
    times, keys, objects = np.arange(count), np.arange(count) % 7 + 1, np.arange(count) + 100

    def answered(make_column):
        leaves = [
            ArrivalLeaf(TriplesWindow(Iri(STREAMS[0]), 20), LeafPattern((0, predicate, 0), ((0,), (2,))), names)
            for predicate, names in zip(PREDICATES, (("a", "b"), ("a", "c")), strict=True)
        ]
        asked = ArrivalQuery(leaves, ArrivalPlan((), (), ("a", "b", "c"), False, StreamOperator.ISTREAM), Dictionary())
        found = []
        for first, last in ((0, 1), (1, 4), (4, count)):
            columns = times, keys, np.where(times % 2, *PREDICATES), objects
            asked.receive(STREAMS[0], Elements(*(make_column(column[first:last]) for column in columns)))
            found += [row for _, rows in asked.advance(last) for row in rows.tolist()]
        return found

    expected = answered(lambda column: column.copy())
    assert len(expected) > count // 2
    assert answered(MAKES[make]) == expected


def test_rows_that_stand_column_after_column_are_read_as_they_are():
    operator, nothing = ArrivalDistinctOp(2), np.empty((0, 3), np.int64)
    first, second = np.array([[1, 5, 6], [2, 7, 8]]), np.array([[3, 5, 7], [4, 7, 8]])
    assert operator.step_rows(first, nothing)[0].tolist() == first.tolist()
    assert operator.step_rows(np.asfortranarray(second), nothing)[0].tolist() == [[3, 5, 7]]


def test_numbers_that_are_not_whole_are_refused():
    column = np.arange(3)
    with pytest.raises(TypeError):
        plain(Elements(column, column, column, column + 0.5))
