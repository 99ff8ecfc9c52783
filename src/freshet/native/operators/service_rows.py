"""What operators of SERVICE have in common: their rows are what local views gave last, refreshed at each step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypedDict

from freshet.federation.client import Columns
from freshet.federation.evaluation import Evaluation
from freshet.federation.local_view import Refreshed, Resting
from freshet.native.change import NOTHING, Change, MomentBatch
from freshet.native.r2s.bags import replacement
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
    def _join(self, moment: int, allowed: Allowed) -> tuple[Refreshed, Columns]:
        """The solutions that are needed at a moment."""

    def changes(self, batch: MomentBatch) -> Change:
        if not len(batch.due):
            return NOTHING
        moment = batch.due.item(0)  # queries with remote data are evaluated once a batch
        before, self._now = self._now, self._current(moment)
        return replacement(before, self._now, self._names, moment)

    def _current(self, moment: int) -> Table:
        evaluation = self._evaluation
        allowed = Allowed(
            seconds=evaluation.seconds_left(),
            accuracy=evaluation.constraints.accuracy,
            silent=self._silent,
            resting=evaluation.resting,
        )
        done, found = self._join(moment, allowed)
        evaluation.spent(*done)
        return Table(found.ids, found.count)
