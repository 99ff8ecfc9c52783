"""Streams that go on with the wall clock while they are silent.

A stream that is silent for longer than its `idle` time is at its own time plus what has passed since it was last heard.
So a lone element is answered, the last window closes, and a silent stream does not hold back those that it is joined
with. One that was never heard has no time of its own, and goes with the streams that it is joined with.

How far it goes depends on the wall clock, so that a session with a checkpoint journals it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager

from freshet.native.engine import Engine
from freshet.native.moments import FURTHEST_MS
from freshet.rdf.errors import FreshetError
from freshet.runtime.wall_clock import WallClock

_LOOKS = 4  # in the shortest idle time
_LEAST_SECONDS, _MOST_SECONDS = 0.01, 1.0  # between two looks


class IdleStreams:
    """When each stream with an `idle` time was heard last.

    `advance` moves a stream; `changing` is the lock under which pushes change the engine.
    """

    def __init__(
        self,
        engine: Engine,
        clock: WallClock,
        advance: Callable[[str, int], None],
        changing: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._advance = advance
        self._changing = changing
        self._heard: dict[str, float] = {}
        self._unheard: set[str] = set()  # streams without a time of their own
        self._silent_ms: dict[str, int] = {}  # the times from which silent streams go on
        self._seconds = _MOST_SECONDS + 1
        self._stop: Callable[[], None] | None = None
        self._reported = ""

    def add(self, stream: str) -> None:
        """Watch a stream from now on. Its silence begins now, also after a restart: no element could arrive before."""
        state = self._engine.streams[stream]
        self._heard[stream] = self._clock.now()
        if not state.elements:
            self._unheard.add(stream)
        seconds = min(max(state.idle_ms / 1000 / _LOOKS, _LEAST_SECONDS), _MOST_SECONDS)
        if seconds < self._seconds:
            self.close()
            self._seconds = seconds
            self._stop = self._clock.call_every(seconds, self.advance_silent)

    def close(self) -> None:
        """Look no more."""
        if self._stop is not None:
            self._stop()
            self._stop = None

    def hear(self, stream: str) -> None:
        """Something comes from a stream. Before that it is brought to where the wall clock has it."""
        if stream in self._heard:
            self._pass(stream)
            self._unheard.discard(stream)
            self._silent_ms.pop(stream, None)
            self._heard[stream] = self._clock.now()

    def advance_silent(self) -> None:
        """Bring all silent streams to where the wall clock has them."""
        try:
            for stream in list(self._heard):
                self._pass(stream)
        except FreshetError as error:  # such as a full disk: the next look may succeed, and a call raises it
            if str(error) != self._reported:
                self._reported = str(error)
                warnings.warn(f"silent streams do not go on: {error}", stacklevel=2)

    def _pass(self, stream: str) -> None:
        if self._silent_until_ms(stream) is None:
            return
        with self._changing():  # what is pushed meanwhile was counted, or comes after
            reached_ms = self._silent_until_ms(stream)
            if reached_ms is not None:
                self._advance(stream, reached_ms)

    def _silent_until_ms(self, stream: str) -> int | None:
        """How far a silent stream has come; None where it is not silent, or not further than it was."""
        state = self._engine.streams[stream]
        passed_ms = round((self._clock.now() - self._heard[stream]) * 1000)
        if not 0 < state.idle_ms <= passed_ms or state.watermark_ms >= FURTHEST_MS:
            return None
        if stream in self._unheard:
            reached_ms = self._engine.partner_watermark(stream)
        else:
            reached_ms = self._silent_ms.setdefault(stream, state.watermark_ms) + passed_ms
        return reached_ms if state.watermark_ms < reached_ms <= FURTHEST_MS else None
