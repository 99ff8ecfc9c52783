"""Service: a local view of remote data, joined like any other input (WSJ of seed 003).

    rows = solutions of the view's entries that the other side of the join needs now

| other side (?user, ?post) | view (?user, ?n)           | rows          |
| ------------------------- | -------------------------- | ------------- |
| (a, 1), (a, 2), (b, 3)    | a: (a, 10)   b: -   c: ... | (a, 10)       |

At each step the view is told which keys are needed, by how many rows and for how long, and refreshes what matters most
in the time that the evaluation has. Where nothing is joined, or no variable is shared, the view has one entry: all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from freshet.algebra.windows import SlidingWindow, WindowOperator
from freshet.federation.client import Columns
from freshet.federation.evaluation import Evaluation
from freshet.federation.local_view import Needed, Refreshed
from freshet.federation.service_query import ServiceQuery
from freshet.kernels.joins import number_rows
from freshet.native.change import Change
from freshet.native.inputs import Input
from freshet.native.plan import PlanService
from freshet.native.r2s.bags import table_difference
from freshet.oneshot.table import Table
from freshet.rdf.arrow import read_only


class View(Protocol):
    """A local view, as this operator needs it."""

    def join(
        self, needed: Needed, *, seconds: float | None, accuracy: float | None, silent: bool = False
    ) -> tuple[Refreshed, Columns]: ...
    def load(self) -> None: ...


class Views(Protocol):
    """Where local views come from."""

    def view(self, iri: str, query: ServiceQuery, keys: tuple[str, ...], slide_ms: int) -> View: ...


@dataclass(frozen=True, slots=True)
class Lives:
    """How long rows live: the slide of the query's windows, and how many slides they are wide."""

    slide_ms: int
    steps: int


def lives_in(windows: Iterable[WindowOperator]) -> Lives:
    """Of windows that do not slide only the present is certain."""
    sliding = [window for window in windows if isinstance(window, SlidingWindow)]
    if not sliding:
        return Lives(1000, 1)
    return Lives(
        min(window.slide_ms for window in sliding),
        max(-(-window.width_ms // window.slide_ms) for window in sliding),
    )


@dataclass(frozen=True, slots=True)
class Remote:
    """What the SERVICE patterns of one query share."""

    views: Views
    lives: Lives
    evaluation: Evaluation

    def operator(self, node: PlanService, other: Input | None) -> ServiceOp:
        """The operator of a pattern that is joined with another input, or with nothing."""
        query = ServiceQuery(node.pattern)
        keys = () if other is None else tuple(sorted(query.certain & other.certain & set(other.names)))
        view = self.views.view(node.endpoint.value, query, keys, self.lives.slide_ms)
        return ServiceOp(view, query, keys, other, self.lives, self.evaluation, silent=node.silent)


class ServiceOp:
    """The remote solutions that fit the rows of another input."""

    def __init__(
        self,
        view: View,
        query: ServiceQuery,
        keys: tuple[str, ...],
        other: Input | None,
        lives: Lives,
        evaluation: Evaluation,
        *,
        silent: bool,
    ) -> None:
        self._view = view
        self._names = tuple(sorted(query.variables))
        self._other = other
        self._columns: Sequence[int] = [] if other is None else [other.names.index(name) for name in keys]
        self._lives = lives
        self._evaluation = evaluation
        self._silent = silent
        self._now = Table({}, 0)
        view.load()

    def changes(self, number: int) -> Change:
        before, self._now = self._now, self._current(number)
        return Change(
            table_difference(self._now, before, self._names), table_difference(before, self._now, self._names)
        )

    def rows(self) -> Table:
        return self._now

    def _current(self, number: int) -> Table:
        evaluation = self._evaluation
        done, found = self._view.join(
            self._needed(number),
            seconds=evaluation.seconds_left(),
            accuracy=evaluation.constraints.accuracy,
            silent=self._silent,
        )
        evaluation.spent(*done)
        return Table(found.ids, found.count)

    def _needed(self, number: int) -> Needed:
        """The keys that the other side has, for how many evaluations each stays, and how many rows have it."""
        steps, slide_ms = self._lives.steps, self._lives.slide_ms
        if self._other is None or not self._columns:
            one = np.ones(1, np.int64)
            return Needed(np.empty((1, 0), np.int64), one * steps, one, slide_ms)
        buffer = self._other.buffer
        rows = buffer.live_rows()
        keys = np.ascontiguousarray(buffer.values[rows][:, self._columns])
        bound = (keys != 0).all(axis=1)
        keys, rows = keys[bound], rows[bound]
        numbers, firsts = number_rows(read_only(keys))
        lives = np.zeros(len(firsts), np.int64)
        np.maximum.at(lives, numbers, np.maximum(1, steps - (number - buffer.born[rows])))
        return Needed(keys[firsts], lives, np.bincount(numbers, minlength=len(firsts)), slide_ms)
