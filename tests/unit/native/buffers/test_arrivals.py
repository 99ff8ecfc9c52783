"""The queue of rows with their positions, as Python sees it."""

from __future__ import annotations

from collections import deque
from random import Random

import numpy as np
import pytest

from freshet.kernels import records
from freshet.native.buffers.arrivals import Arrivals


@pytest.mark.parametrize("seed", range(5))
def test_it_equals_a_deque(seed: int) -> None:
    dice, queue, known = Random(seed), Arrivals(np.int64, (2,)), deque[tuple[int, list[int]]]()
    for position in range(2_000):
        if dice.random() < (0.7 if position < 1_000 else 0.3) or not known:
            queue.append_one(position, (position, -position))
            known.append((position, [position, -position]))
        else:
            queue.record.fields[records.FIRST] += 1
            known.popleft()
        assert len(queue) == len(known)
    assert queue.positions.tolist() == [position for position, _ in known]
    assert queue.values.tolist() == [values for _, values in known]


def test_the_room_of_a_large_batch_is_given_back_soon() -> None:
    queue = Arrivals(np.int64)
    queue.make_room(100_000)
    fields = queue.record.fields
    assert fields[records.QUEUE_ROOM] < 102_000
    fields[records.FIRST] = fields[records.END] = 100_000
    for _ in range(12):
        queue.make_room(125)
        fields[records.END] += 125
        fields[records.FIRST] = fields[records.END]
    assert fields[records.QUEUE_ROOM] < 1_000
