"""The watermark of a stream of one or several sub-streams: that of the one furthest behind.

Sub-streams are read side by side, one ahead of the other. One that has sent nothing for a while does not hold the
others back, or a source that falls silent would stop every window. It is silent only while it waits for data: not while
it starts, works on a batch, or cannot reach its source, since what it brings then may be old.

Where all are silent, a stream may go on with the wall clock: it is at its own time plus how long they have been silent.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

_STEP_MS = 1_000  # the wall clock moves a stream in steps, since each is an entry of the journal


class SubStreamWatermarks:
    """The watermarks of a stream's sub-streams, in milliseconds. Several threads may use it at once.

    `idle_ms` is how long, by the wall clock, a sub-stream may be silent before it is ignored; None is forever, for
    input that is complete from the start. A sub-stream whose input has ended is always ignored. With `goes_on` the
    stream goes on with the wall clock where all are silent.
    """

    def __init__(
        self,
        ids: Iterable[str],
        idle_ms: int | None,
        *,
        goes_on: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._idle_ms = idle_ms
        self._goes_on = goes_on and idle_ms is not None
        self._clock = clock
        self._lock = threading.Lock()
        self._ids = frozenset(ids)
        self._marks: dict[str, int] = {}
        self._silent: dict[str, tuple[float, float]] = {}  # from when to when a sub-stream was seen to wait
        self._on_the_way: Counter[str] = Counter()
        self._ended: set[str] = set()

    def batch_enqueued(self, sub_stream_id: str) -> None:
        """A batch of a sub-stream, also an empty one, is on its way to the engine."""
        with self._lock:
            self._silent.pop(sub_stream_id, None)
            self._on_the_way[sub_stream_id] += 1

    def batch_done(self, sub_stream_id: str) -> None:
        """A batch that was on its way is with the engine."""
        with self._lock:
            self._silent.pop(sub_stream_id, None)
            self._on_the_way[sub_stream_id] -= 1

    def advance(self, sub_stream_id: str, watermark_ms: int) -> None:
        """Advance the watermark of a sub-stream; it never goes back."""
        with self._lock:
            self._marks[sub_stream_id] = max(watermark_ms, self._marks.get(sub_stream_id, watermark_ms))

    def mark(self, sub_stream_id: str) -> int | None:
        """The watermark of a sub-stream; None before its first record."""
        with self._lock:
            return self._marks.get(sub_stream_id)

    def note_waiting(self, sub_stream_id: str) -> None:
        """A sub-stream found nothing at its source. Only the time between two such looks counts as silence."""
        with self._lock:
            self._ended.discard(sub_stream_id)
            now = self._clock()
            began, _ = self._silent.get(sub_stream_id, (now, now))
            self._silent[sub_stream_id] = began, now

    def note_working(self, sub_stream_id: str) -> None:
        """A sub-stream starts, has a batch under way, or cannot reach its source."""
        with self._lock:
            self._ended.discard(sub_stream_id)
            self._silent.pop(sub_stream_id, None)

    def note_ended(self, sub_stream_id: str) -> None:
        """A sub-stream has ended; only what is on its way is still to come."""
        with self._lock:
            self._ended.add(sub_stream_id)

    def level(self) -> int | None:
        """The watermark of the stream; None while a sub-stream that counts has sent nothing yet."""
        with self._lock:
            awaited = self._awaited_ids()
            if not awaited:
                return max(self._marks.values()) + self._silence_ms() if self._marks else None
            if any(sub_stream_id not in self._marks for sub_stream_id in awaited):
                return None
            return min(self._marks[sub_stream_id] for sub_stream_id in awaited)

    def is_unheard(self) -> bool:
        """Whether a stream is to go on that has no time of its own, as nothing has ever come."""
        with self._lock:
            return not self._marks and not self._awaited_ids() and self._goes_on

    def _awaited_ids(self) -> list[str]:
        return [sub_stream_id for sub_stream_id in self._ids if self._is_awaited(sub_stream_id)]

    def _silence_ms(self) -> int:
        """By how much a stream has gone on whose sub-streams are all silent, or have ended."""
        silent = [last - began for each, (began, last) in self._silent.items() if each not in self._ended]
        if not self._goes_on or self._idle_ms is None or not silent:
            return 0
        step_ms = min(_STEP_MS, self._idle_ms)
        return round(min(silent) * 1000) // step_ms * step_ms

    def _is_awaited(self, sub_stream_id: str) -> bool:
        if self._on_the_way[sub_stream_id]:
            return True
        if sub_stream_id in self._ended:
            return False
        began, last = self._silent.get(sub_stream_id, (0.0, 0.0))
        return self._idle_ms is None or (last - began) * 1000 < self._idle_ms
