"""When a query is evaluated, and which of these evaluations are reported: what registration says beside the plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from freshet.algebra.windows import AdaptiveWindow, CountWindow, EventTimeWindow, SlidingWindow, WindowOperator
from freshet.native.plan.plan import Plan
from freshet.native.plan.plan_reads import stored_predicates
from freshet.native.s2r.adaptive_window import Subwindow
from freshet.native.s2r.feed import Begin
from freshet.native.streams.timed_stream import base_name
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import Iri

# Of the windows that depend on all that came: which of a query's windows, a time, how many elements came before it, or
# the size of the subwindow that opened then, the stream, and what else there is to say of a subwindow.
Counted = Sequence[Sequence[int | str]]


class ReportCondition(StrEnum):
    """What must hold for a moment to count. A moment at which it does not is passed over as if it were none."""

    CLOSE = "close"
    CHANGE = "change"
    NON_EMPTY = "non-empty"


_LONGEST_PERIOD_MS = 2**60  # its multiples are moments

_NO_CONDITIONS: frozenset[ReportCondition] = frozenset()


@dataclass(frozen=True, slots=True)
class Timing:
    """The windows of a query, how often it is computed where that is not when they move, and its report conditions.

    `stored` are the predicates that it asks of the stored default graph, None for all: it waits for streams that leave
    triples with one of them there.
    `begins` says where windows go on that depend on what came before a restart.
    """

    windows: tuple[WindowOperator, ...]
    period_ms: int | None = None
    conditions: frozenset[ReportCondition] = frozenset()
    stored: frozenset[Iri] | None = frozenset()
    begins: tuple[tuple[WindowOperator, Begin | Subwindow], ...] = ()

    def going_on(self, counted: Counted) -> Timing:
        """The same with windows that go on counting; what was counted of other streams says nothing."""
        known = [(self.windows[int(at)], begin) for at, *begin in counted if int(at) < len(self.windows)]
        begins = tuple(
            (window, _begin_of(window, begin))
            for window, begin in known
            if depends_on_all(window) and begin[2:3] in ([], [source_of(window)])
        )
        return replace(self, begins=begins) if begins else self

    @property
    def adapts(self) -> bool:
        """Whether any of the windows adapts to what comes."""
        return any(isinstance(window, AdaptiveWindow) for window in self.windows)

    @property
    def is_plain(self) -> bool:
        """Whether every move of a window counts, and no other moment."""
        return self.period_ms is None and not self.conditions

    @property
    def absorbed(self) -> bool:
        """Whether it reads what streams leave in the stored graph."""
        return self.stored is None or bool(self.stored)

    @property
    def base_streams(self) -> set[str]:
        """The declared streams that the windows are over, by themselves or by way of derived ones."""
        return {base_name(window.stream.value) for window in self.windows if isinstance(window.stream, Iri)}

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that the windows are over, by the names that groups know them by."""
        return tuple(dict.fromkeys(source_of(window) for window in self.windows))


def timing_of(
    plan: Plan, period_ms: int | None = None, report: str | Collection[str] = (), file: str | None = None
) -> Timing:
    """The timing of a query by its plan, its period and its report conditions."""
    if period_ms is not None and period_ms <= 0:
        raise InputError("a query cannot be computed every 0 ms", file=file)
    if period_ms is not None and period_ms > _LONGEST_PERIOD_MS:
        raise InputError(f"a query cannot be computed every {period_ms} ms: that is too long", file=file)
    if not plan.windows:
        raise InputError("STREAM with a variable needs a stream that is declared", file=file)
    timing = Timing(plan.windows, period_ms, report_conditions(report, file), stored_predicates(plan))
    if timing.adapts and any(isinstance(window, CountWindow) and window.step > 1 for window in plan.windows):
        raise UnsupportedError("a window of elements with a step beside an adaptive window is not supported", file=file)
    return timing


def depends_on_all(window: WindowOperator) -> bool:
    """Whether what a window holds depends on all elements there ever were: on their number, or on their times."""
    return isinstance(window, AdaptiveWindow) or (isinstance(window, CountWindow) and window.step > 1)


def _begin_of(window: WindowOperator, begin: Sequence[int | str]) -> Begin | Subwindow:
    if isinstance(window, AdaptiveWindow):
        time_ms, size_ms, _, own_limit, other_limit = begin
        return Subwindow(int(time_ms), int(size_ms), float(own_limit), float(other_limit))
    return Begin(int(begin[0]), int(begin[1]))


def closes_regularly(window: WindowOperator) -> bool:
    """Whether a window moves at times of its own, whatever elements come."""
    return isinstance(window, SlidingWindow) or (isinstance(window, EventTimeWindow) and window.slide_ms is not None)


def source_of(window: WindowOperator) -> str:
    """The name of the stream that a window is over; that of a derived stream is no IRI."""
    assert isinstance(window.stream, Iri), "windows over any stream have been replaced"
    if isinstance(window, EventTimeWindow):
        return f"{window.stream.value} @{window.predicate.value} {window.since}"
    return window.stream.value


def report_conditions(words: str | Collection[str], file: str | None = None) -> frozenset[ReportCondition]:
    """Report conditions by their names; `close` always holds, so nothing is left of it."""
    if not words:
        return _NO_CONDITIONS
    words = [words] if isinstance(words, str) else words
    known = {condition.value: condition for condition in ReportCondition}
    for word in words:
        if word not in known:
            raise InputError(f"'{word}' is no report condition: write {', '.join(known)}", file=file)
    return frozenset(known[word] for word in words) - {ReportCondition.CLOSE}
