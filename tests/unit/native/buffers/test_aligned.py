"""Arrays that begin where a cache line begins."""

import numpy as np
import pytest

from freshet.native.buffers.aligned import aligned
from freshet.native.buffers.one_way_index import OneWayIndex


@pytest.mark.parametrize("shape", [(1,), (7, 8), (1_000, 3)])
def test_an_array_begins_with_a_line_and_is_whole(shape: tuple[int, ...]) -> None:
    array = aligned(shape, np.int64)
    assert array.shape == shape
    assert array.dtype == np.int64
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.ctypes.data % 64 == 0


def test_an_index_stays_aligned_when_it_grows_and_when_it_is_swept() -> None:
    index = OneWayIndex(4)
    for number in range(8):
        keys = np.arange(400, dtype=np.int64).reshape(-1, 4) + 1_000 * number
        entries, _ = index.add(keys)
        if number % 2:
            index.release(entries)
        assert index.arrays.table.ctypes.data % 64 == 0
        assert index.keys.ctypes.data % 64 == 0
    assert index.live == 400
