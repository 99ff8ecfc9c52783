"""Results are taken back through their pointers: exactly those of the rows that left."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.pointers import IS_QUEUE, pointers_add, pointers_invalidate, results_add, results_end
from freshet.native.buffers.result_buffer import ResultBuffer

rows = st.tuples(st.integers(0, 90), st.integers(0, 5), st.integers(0, 3))
steps = st.lists(st.tuples(st.lists(rows, max_size=80), st.integers(0, 1), st.sets(st.integers(0, 95), max_size=20)))


@settings(max_examples=60, deadline=None)
@given(steps)
def test_invalidation_equals_a_search_through_everything(given_steps):
    buffer, model = ResultBuffer(3, 2), []
    for added, leaf, leaving in given_steps:
        buffer.make_room(len(added), 96)
        pointers_add(buffer.arrays, np.array(added, np.int32).reshape(-1, 3))
        model += added
        gone = pointers_invalidate(buffer.arrays, leaf, np.array(sorted(leaving), np.int32))
        # of each row in the order in which they came
        assert list(map(tuple, gone.tolist())) == [row for one in sorted(leaving) for row in model if row[leaf] == one]
        model = [row for row in model if row[leaf] not in leaving]
        assert sorted(map(tuple, buffer.live().tolist())) == sorted(model)
        assert len(buffer) == len(model)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.lists(rows, max_size=80), st.integers(0, 20), st.sets(st.integers(0, 95), max_size=2))))
def test_a_queue_gives_the_same_in_whatever_order_rows_leave(given_steps):
    buffer, model = ResultBuffer(3, 1, is_queue=True), []
    for added, oldest, others in given_steps:
        buffer.make_room(len(added), 96)
        results_add(buffer.arrays, np.array(added, np.int32).reshape(-1, 3))
        model += added
        leaving = list(dict.fromkeys([row[0] for row in model[:oldest]] + (list(others) if oldest % 4 == 0 else [])))
        gone = results_end(buffer.arrays, 0, np.array(leaving, np.int32))
        assert list(map(tuple, gone.tolist())) == [row for one in leaving for row in model if row[0] == one]
        model = [row for row in model if row[0] not in leaving]
        assert sorted(map(tuple, buffer.live().tolist())) == sorted(model)
        assert len(buffer) == len(model)


def test_results_that_go_as_they_came_stay_in_a_queue_without_more_room():
    buffer = ResultBuffer(2, 1, is_queue=True)
    for first in range(0, 100_000, 50):
        buffer.make_room(50, 4096)
        numbers = np.arange(first, first + 50, dtype=np.int32) % 4096
        results_add(buffer.arrays, np.column_stack((numbers, numbers)))
        if first >= 500:
            leaving = np.arange(first - 500, first - 450, dtype=np.int32) % 4096
            assert results_end(buffer.arrays, 0, leaving)[:, 0].tolist() == leaving.tolist()
    assert buffer.arrays.sizes[IS_QUEUE]
    assert len(buffer.arrays.alive) == 1024
