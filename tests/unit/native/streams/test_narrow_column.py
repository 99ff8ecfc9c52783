"""Columns in less memory come back as they were."""

from __future__ import annotations

import numpy as np
import pytest

from freshet.native.memory.term_collector import reachable_ids
from freshet.native.streams.narrow_column import narrow_ids, narrow_times

FIRST, LAST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("numbers", "size"),
    [
        ([7], 0),
        ([FIRST, FIRST], 0),
        ([5, 260, 5], 1),
        ([-10, 246], 2),
        ([2**40, 2**40 + 2**16], 4),
        ([0, 2**32], 8),
        ([FIRST, LAST, 0], 8),
    ],
)
def test_a_column_comes_back(numbers: list[int], size: int) -> None:
    column = np.array(numbers, np.int64)
    for given in (column, np.stack([column, column])[0], np.column_stack([column, column])[:, 1]):
        narrow = narrow_times(given)
        assert narrow.numbers().tolist() == numbers
        assert narrow.largest == max(numbers)
        assert (0 if narrow.above is None else narrow.above.itemsize) == size


def test_ids_of_the_dictionary_are_found_in_what_is_kept() -> None:
    for numbers in ([5], [5, 5], [5, 6], [-3, 9], [1 << 62, 1]):
        narrow = narrow_ids(np.array(numbers, np.int64))
        found = {int(each) for ids in reachable_ids(narrow) for each in ids}
        assert {number for number in numbers if number > 0} <= found
        assert narrow.numbers().tolist() == numbers
    inline = narrow_ids(np.array([-7, -3], np.int64))
    assert inline.above is not None
    assert inline.above.itemsize == 1


def test_a_part_of_a_larger_array_is_not_held() -> None:
    whole = np.arange(100, dtype=np.int64)
    above = narrow_ids(whole[:50]).above
    assert above is not None
    assert not np.shares_memory(above, whole)
    assert narrow_ids(whole).above is whole
