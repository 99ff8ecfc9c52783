"""What was learnt of the entries of local views. It outlives them, so that a query registered again can use it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from freshet.federation.candidates import Ids
from freshet.federation.change_rates import ChangeRates
from freshet.federation.expected_gain import ExpectedGain

_EACH = 100  # entries that a view counts for on top of its own, as its key takes room too

Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True, eq=False)
class Learnt:
    """How often entries change and are needed, with their keys. A term that is added again has the id that it had."""

    key_rows: Ids
    ranker: ExpectedGain


def nothing_learnt(keys: int, slide_ms: int, time_ms: int, usual_seconds: float | None) -> Learnt:
    """What is known of changes before anything is learnt: at most how many seconds apart they usually are."""
    rates = ChangeRates(usual=None if usual_seconds is None else slide_ms / 1000 / usual_seconds)
    return Learnt(np.empty((0, keys), np.int64), ExpectedGain(0, time_ms, slide_ms, rates))


class LearntBefore(Generic[Key]):
    """What was learnt in views, by their identity: of those that are gone the latest entries, up to a limit."""

    def __init__(self, most_entries: int) -> None:
        self._most_entries = most_entries
        self._kept: dict[Key, Learnt] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, key: Key) -> Learnt | None:
        """What is known of a view that is made now."""
        return self._kept.pop(key, None)

    def keep(self, key: Key, learnt: Learnt, is_alive: Callable[[Key], bool]) -> None:
        """Keep what a view learns from now on, and forget the oldest of those that are gone."""
        self._kept[key] = learnt
        room = self._most_entries
        for each in [each for each in reversed(self._kept) if not is_alive(each)]:
            room -= len(self._kept[each].key_rows) + _EACH
            if room < 0:
                del self._kept[each]
