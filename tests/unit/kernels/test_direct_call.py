"""Calls without a look at types give what the kernel gives; elements of any make are made plain before them."""

from __future__ import annotations

import numpy as np
import pytest

import freshet
from freshet.kernels.bags import bag_less
from freshet.kernels.direct_call import DirectCall
from freshet.native.streams.stream import as_contiguous
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
    times, objects = np.arange(count), np.arange(count) + 100

    def answered(make_column):
        session = freshet.Session()
        session.stream("http://e/s")
        query = session.register(
            "SELECT ?a ?b ?c { STREAM <http://e/s> [TRIPLES 20] { ?a <http://e/p> ?b . ?a <http://e/q> ?c } }"
        )
        p, q, *keys = (session.dictionary.encode(Iri(f"http://e/{name}")) for name in "pqabcdefg")
        found = []
        for first, last in ((0, 1), (1, 4), (4, count)):
            part = slice(first, last)
            nodes, predicates = np.array(keys)[times % 7][part], np.where(times % 2, p, q)[part]
            elements = Elements(make_column(times[part]), nodes, predicates, make_column(objects[part]))
            session.engine.push("http://e/s", elements)
            session.engine.advance("http://e/s", last)
            found += [row for report in query.take() for row in report.rows.tolist()]
        return found

    expected = answered(lambda column: column.copy())
    assert len(expected) > count // 2
    assert answered(MAKES[make]) == expected


def test_numbers_that_are_not_whole_are_refused():
    column = np.arange(3)
    with pytest.raises(TypeError):
        as_contiguous(Elements(column, column, column, column + 0.5))
