"""What operators of SERVICE have in common: their rows are what local views gave last, refreshed at each step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypedDict

from freshet.federation.client import Columns
from freshet.federation.evaluation import Evaluation
from freshet.federation.local_view import Refreshed, Resting
from freshet.native.change import Change
from freshet.native.r2s.bags import table_difference
from freshet.oneshot.table import Table


class Allowed(TypedDict):
    """What a join with local views may spend, and asks for."""

    seconds: float | None
    accuracy: float | None
    silent: bool
    resting: Resting


class ServiceRows(ABC):
    """Says after each step which solutions came and went."""

    def __init__(self, names: Iterable[str], evaluation: Evaluation, *, silent: bool) -> None:
        self._names = tuple(sorted(names))
        self._evaluation = evaluation
        self._silent = silent
        self._now = Table({}, 0)

    @abstractmethod
    def _join(self, number: int, allowed: Allowed) -> tuple[Refreshed, Columns]:
        """The solutions that are needed at a step."""

    def changes(self, number: int) -> Change:
        before, self._now = self._now, self._current(number)
        return Change(
            table_difference(self._now, before, self._names), table_difference(before, self._now, self._names)
        )

    def rows(self) -> Table:
        return self._now

    def _current(self, number: int) -> Table:
        evaluation = self._evaluation
        allowed = Allowed(
            seconds=evaluation.seconds_left(),
            accuracy=evaluation.constraints.accuracy,
            silent=self._silent,
            resting=evaluation.resting,
        )
        done, found = self._join(number, allowed)
        evaluation.spent(*done)
        return Table(found.ids, found.count)
