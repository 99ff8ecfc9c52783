"""When a query is evaluated: at the moments at which its windows move, or at regular times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from freshet.kernels.direct_call import DirectCall
from freshet.kernels.schedule import CHANGED, EMPTY, ENDED, LAST, LATEST, NEVER, RESTS, due_moments
from freshet.native.buffers.one_way_index import Ids, Mask
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME, close_after, time_of
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.window_view import WindowView

_NONE = np.empty(0, np.int64)
_CHANGED, _SAME = np.array([1]), np.array([0])


class Due(NamedTuple):
    """The moments of a batch at which a query is evaluated, how many elements its windows hold at each, and whether any
    entered or left since the one before (1 or 0).
    """

    moments: Ids
    held: Ids
    changed: Ids

    def where(self, mask: Mask) -> Due:
        return Due(self.moments[mask], self.held[mask], self.changed[mask])


NOT_DUE = Due(_NONE, _NONE, _NONE)


class EvaluationSchedule:
    """The moments of some windows, or, with a period, the closes that are multiples of it.

    Windows that close are evaluated at every close as long as one of the windows holds anything: what they hold
    together is then an answer, also where nothing has changed; and once more when they are empty. Other windows are
    evaluated when an element makes them move.
    """

    def __init__(self, windows: Sequence[WindowContent | WindowView], period_ms: int | None, passed: int) -> None:
        """It begins after the moment `passed`, with what the windows then hold."""
        self.windows = tuple(windows)
        self.period_ms = period_ms
        self._period_ms = period_ms or 0
        self._slides = np.array([window.closes or (0, 0) for window in windows], np.int64)
        self.arriving = tuple(window for window in windows if window.closes is None)
        self._last_ms = self.before_last_ms = AFTER_ALL_TIME  # of the last two evaluations
        self._held = np.array([window.held for window in windows], np.int64)
        self._state = np.zeros(6, np.int64)
        self._state[[LAST, RESTS, ENDED, CHANGED]] = passed, 1, NEVER, 0
        self._state[[LATEST, EMPTY]] = BEFORE_ALL_TIME
        self._single_held, self._single_state = self._held.data, self._state.data  # single numbers in half the time
        self._arrives = period_ms is None and len(self.arriving) == len(self.windows)
        self._due = DirectCall(due_moments)
        self.has_moved = False  # whether elements enter or leave in the present batch
        self._entering_ends, self._leaving_ends = np.zeros((2, len(windows) + 1), np.int64)
        # Single numbers are written through these in half the time.
        self._single_entering_ends, self._single_leaving_ends = self._entering_ends.data, self._leaving_ends.data
        self.contents = tuple(window.content for window in windows)
        self.has_ungrounded = False  # whether some query has rows of no window, which end where all windows are empty
        self.can_sleep = period_ms is None  # and none of its queries must be evaluated where no row comes or goes
        self.is_asleep = False  # whether batches are left out that make no difference

    @property
    def is_filled(self) -> bool:
        """Whether any row is in a leaf buffer of its windows, or waits to enter."""
        if len(self.contents) == 1:
            return bool(self.contents[0].filled)
        return any(content.filled for content in self.contents)

    def skip_to(self, moment: int) -> None:
        """Come to a moment, as if it had been evaluated at all before."""
        for content in self.contents:
            content.skip_to(moment)
        for at, window in enumerate(self.windows):
            self._held[at] = window.held
        self._state[LAST], self._state[RESTS] = moment, not self._held.any()

    @property
    def rests(self) -> bool:
        """Whether everything was empty at the last evaluation, so that nothing before it counts."""
        return self.is_asleep or bool(self._state[RESTS])

    def end_at(self, watermark_ms: int) -> None:
        """The streams have ended, having come so far."""
        self._state[ENDED] = watermark_ms

    def due(self, last: int) -> Due:
        """The evaluations of the present batch, up to its last moment."""
        if self._arrives and (arrived := self._arrival()) is not None:
            return arrived
        due = self._next(last, self._held, self._state)
        if not due.size:
            return NOT_DUE
        moments = due[0]
        if len(moments) > 1:
            self._last_ms = time_of(moments.item(-2))
        last_ms = time_of(moments.item(-1))
        self.before_last_ms = min(self._last_ms, last_ms)
        self._last_ms = last_ms
        return Due(moments, due[1], due[2])

    def _arrival(self) -> Due | None:
        """The same without a kernel where at most one element has come, as it mostly is where windows move with each.

        None where more enter or leave.
        """
        place, moved = -1, None
        for at, window in enumerate(self.windows):
            if len(window.entering) or len(window.leaving):
                if moved is not None:
                    return None
                place, moved = at, window
        self.has_moved = moved is not None
        if moved is None:
            return NOT_DUE
        entering, leaving = moved.entering, moved.leaving
        less = len(leaving)
        if len(entering) != 1 or less > 1 or (less and leaving.item() != entering.item()):
            return None
        held, state, moment = self._single_held, self._single_state, entering.item()
        before = held[place]
        held[place] = before + 1 - less
        total = sum(held)
        is_changed = state[CHANGED] or less == 0 or before > 0
        state[LAST], rested, state[RESTS] = moment, state[RESTS], total == 0
        if rested and total == 0:
            state[CHANGED] = is_changed
            return NOT_DUE
        state[CHANGED] = False
        self.before_last_ms, self._last_ms = min(self._last_ms, moment >> 1), moment >> 1
        return Due(entering, np.array([total]), _CHANGED if is_changed else _SAME)

    def foresee(self, last: int) -> Ids:
        """The moments of the evaluations of the present batch, which is not begun."""
        moments: Ids = self._next(last, self._held.copy(), self._state.copy())[0]
        return moments

    def _next(self, last: int, held: Ids, state: Ids) -> Ids:
        if state.item(ENDED) != NEVER:
            state[LATEST] = max(window.feed.last_ms for window in self.windows)
        if len(self.windows) == 1:
            [window] = self.windows
            entering, leaving = window.entering, window.leaving
            self._single_entering_ends[1], self._single_leaving_ends[1] = len(entering), len(leaving)
        else:
            entering = _concatenate([window.entering for window in self.windows], self._single_entering_ends)
            leaving = _concatenate([window.leaving for window in self.windows], self._single_leaving_ends)
        self.has_moved = len(entering) > 0 or len(leaving) > 0
        due: Ids = self._due.run(
            self._slides, entering, self._entering_ends, leaving, self._leaving_ends, held, state, self._period_ms, last
        )
        return due

    def next_due(self, passed_ms: int) -> int:
        """The first watermark after one that has been passed at which anything can close."""
        return min((close_after(passed_ms, *close) for close in self.closes), default=AFTER_ALL_TIME)

    @property
    def closes(self) -> list[tuple[int, int]]:
        """Slides and starts of what closes at regular times."""
        closes = [window.closes for window in self.windows if window.closes is not None]
        return closes if self.period_ms is None else [*closes, (self.period_ms, 0)]

    def held_since(self, time_ms: int) -> int:
        """The earliest time at which a window took on what it holds at a time. One that closes moves soon enough."""
        if self.period_ms is None:
            return time_ms  # windows that move at instants have moved at the last one
        moved = (window.feed.last_before(time_ms) for window in self.arriving)
        return min([time_ms, *(moved_ms for moved_ms in moved if moved_ms > BEFORE_ALL_TIME)])


def _concatenate(parts: Sequence[Ids], ends: memoryview) -> Ids:
    """The parts as one array; sets where each ends in it, behind a 0. Mostly one window has moved, or none has."""
    end, whole = 0, _NONE
    for at, part in enumerate(parts, start=1):
        if count := len(part):
            whole = np.concatenate(parts) if end else part
            end += count
        ends[at] = end
    return whole
