"""An element that comes alone is due as the kernel says, which takes any number of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

from freshet.native.schedule import EvaluationSchedule

NONE = np.empty(0, np.int64)


@dataclass
class Window:
    """What a schedule needs of a window that moves with its elements."""

    held: int = 0
    closes: None = None
    entering: np.ndarray = field(default_factory=lambda: NONE)
    leaving: np.ndarray = field(default_factory=lambda: NONE)

    @property
    def content(self) -> Window:
        return self


@pytest.mark.parametrize("seed", range(20))
def test_single_elements_are_due_as_several_are(seed):
    random = Random(seed)
    windows = [Window(random.randrange(2)) for _ in range(random.randint(1, 3))]
    alone, by_kernel = EvaluationSchedule(windows, None, -1), EvaluationSchedule(windows, None, -1)
    by_kernel._arrives = False
    held = [window.held for window in windows]
    for time_ms in range(60):
        moment = 2 * time_ms + 1
        for at, window in enumerate(windows):
            window.entering = window.leaving = NONE
            if random.random() < 0.5 / len(windows):
                window.entering = np.array([moment])
                if (held[at] and random.random() < 0.8) or random.random() < 0.1:
                    window.leaving = np.array([moment] * random.randint(1, max(1, held[at])))
                held[at] += 1 - len(window.leaving)
        found, expected = alone.due(2 * time_ms + 2), by_kernel.due(2 * time_ms + 2)
        assert [column.tolist() for column in found] == [column.tolist() for column in expected]
        assert alone.has_moved == by_kernel.has_moved
        assert alone.rests == by_kernel.rests
        assert alone.before_last_ms == by_kernel.before_last_ms
