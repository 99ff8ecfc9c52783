"""What an evaluation of a continuous query may spend on remote data, and what it found out about its answer.

The owner's constraints are an accuracy and a latency. The latency is kept by waiting no longer than it allows: what
the rest of an evaluation takes after the waiting is measured, and left over. The accuracy is estimated, as only the
endpoint could say what it is. Where one of them is missed the report says so (requirement R4 of the
approximate-answers paper).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter

from freshet.rdf.errors import InputError
from freshet.results.report import Freshness

_log = logging.getLogger(__name__)
_SELDOM = 0.003  # how often what comes after the waiting may take longer than was left for it
_LEAST_STEP = 0.005
_LEAST_MARGIN = 0.05  # the share of the latency that is always left for what comes after the waiting


@dataclass(frozen=True, slots=True)
class Constraints:
    """What the owner of a query asks for: the least share of right answers, and the longest time from when windows
    close to the report."""

    accuracy: float | None = None
    latency_ms: float | None = None

    def __post_init__(self) -> None:
        if self.accuracy is not None and not 0 < self.accuracy <= 1:
            raise InputError(f"an accuracy is more than 0 and at most 1, not {self.accuracy}")
        if self.latency_ms is not None and not 0 < self.latency_ms < float("inf"):
            raise InputError(f"a latency is more than 0 milliseconds, not {self.latency_ms}")


@dataclass(slots=True)
class Evaluation:
    """The evaluations of one query, one after another: `begin`, `spent` for each view that it reads, `freshness`.

    `released_at` says when the windows closed that are evaluated now, which may have waited for others before them.
    Remote data are waited for within `resting`, where others may go through what the query holds.
    `on_silent_evaluation` is called for evaluations that have nothing to report.
    """

    query: str
    constraints: Constraints
    released_at: Callable[[], float | None] = lambda: None
    resting: Callable[[], AbstractContextManager[None]] = nullcontext
    on_silent_evaluation: Callable[[str, Freshness], None] = lambda query, freshness: None
    released: float = 0.0
    began: float = 0.0
    waited_until: float = 0.0
    planned: float = 0.0  # when the waiting was to end
    margin: float = 0.02  # seconds that are enough for what comes after the waiting, all but seldom
    right: float = 0.0
    used: int = 0
    refreshes: int = 0
    oldest_ms: int = 0
    failing: str | None = None
    is_failing: bool = False  # as the log has it
    running: bool = False
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("evaluations", "accuracy", "latency", "failing"), 0)
    )

    def begin(self) -> None:
        """An evaluation begins. What others before it have asked for without a report is in its own report."""
        self._begin_now()
        self.running = True
        self.right, self.used, self.oldest_ms, self.failing = 0.0, 0, 0, None

    def _begin_now(self) -> None:
        self.began = self.waited_until = self.planned = perf_counter()
        released = self.released_at()
        self.released = self.began if released is None else min(released, self.began)

    def seconds_left(self) -> float | None:
        """How long this evaluation may still wait; None where it may as long as it takes."""
        if self.constraints.latency_ms is None:
            return None
        latency = self.constraints.latency_ms / 1000
        self.planned = self.released + latency - max(_LEAST_MARGIN * latency, self.margin)
        return self.planned - perf_counter()

    def spent(self, right: float, used: int, refreshes: int, oldest_ms: int, failing: str | None) -> None:
        """Count a view that was read: how many uses its entries have, and how many are expected to be right."""
        self.waited_until = perf_counter()
        self.right += right
        self.used += used
        self.refreshes += refreshes
        self.oldest_ms = max(self.oldest_ms, oldest_ms)
        self.failing = self.failing or failing

    @property
    def accuracy(self) -> float:
        """The share of right answers that is expected."""
        return self.right / self.used if self.used else 1.0

    def freshness(self) -> Freshness:
        """What the report of this evaluation carries. Called when the answer is made."""
        now = perf_counter()
        if not self.running:  # nothing had to be looked at again
            self._begin_now()
        self.running = False
        late = self.planned <= self.began  # there was no time to wait
        self._learn(now - (self.waited_until if late else min(self.waited_until, self.planned)))
        latency_ms = max(0.0, now - self.released) * 1000
        asked = self.constraints
        missed = []
        if asked.accuracy is not None and self.accuracy < asked.accuracy:
            missed.append("accuracy")
        if asked.latency_ms is not None and latency_ms > asked.latency_ms:
            missed.append("latency")
        self._count(missed)
        self._report_failing()
        refreshes, self.refreshes = self.refreshes, 0
        return Freshness(self.accuracy, refreshes, round(latency_ms, 3), self.oldest_ms, tuple(missed), self.failing)

    def silent_evaluation(self, freshness: Freshness) -> None:
        """There was nothing to report after all: its refreshes are part of the next report."""
        self.refreshes += freshness.refreshes
        self.on_silent_evaluation(self.query, freshness)

    def _learn(self, after: float) -> None:
        """Follow the quantile of what comes after the waiting that all but SELDOM evaluations stay below."""
        step = max(_LEAST_STEP, self.margin / 2)
        self.margin += step * (1 - _SELDOM) if after > self.margin else -step * _SELDOM

    def _count(self, missed: list[str]) -> None:
        self.counts["evaluations"] += 1
        for what in missed:
            self.counts[what] += 1
            if self._is_logged(what):
                times = self.counts[what]
                _log.warning("the query %s has missed its %s %d times; %s", self.query, what, times, self._shown())

    def _is_logged(self, what: str) -> bool:
        """Whether to log: the first, second, fourth ... time."""
        return self.counts[what] & (self.counts[what] - 1) == 0

    def _report_failing(self) -> None:
        """Log that endpoints begin to fail, as there may be no report that says so, and that they answer again."""
        if self.failing is not None and not self.is_failing:
            self.is_failing = True
            self.counts["failing"] += 1
            if self._is_logged("failing"):
                _log.warning("the query %s goes on with the remote data that it has: %s", self.query, self.failing)
        elif self.failing is None and self.used and self.is_failing:
            self.is_failing = False
            if self._is_logged("failing"):
                _log.warning("the query %s is answered by all its endpoints again", self.query)

    def _shown(self) -> str:
        return f"accuracy about {self.accuracy:.2f} with {self.refreshes} refresh{'' if self.refreshes == 1 else 'es'}"
