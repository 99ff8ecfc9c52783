"""Results are taken back through their pointers: exactly those of the rows that left."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.pointers import pointers_add, pointers_invalidate
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
