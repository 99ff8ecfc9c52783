"""How far a stream of several parts has come: as far as the part that is least far.

Parts of one stream are read side by side, one ahead of the other. A part that has sent nothing for a while does not
hold the others back, or a source that falls silent would stop every window. A part is silent only while it waits for
data: not while it starts, works on a batch, or cannot reach its source, since what it brings then may be old.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable


class PartWatermarks:
    """The watermarks of a stream's parts, in milliseconds. Several threads may speak of parts at once.

    `idle_ms` is how long, by the clock on the wall, a part may be silent before it counts no more; None is for ever, as
    it should be where all input is there from the start. A part whose input has ended counts no more in any case.
    """

    def __init__(
        self, parts: Iterable[str], idle_ms: int | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._idle_ms = idle_ms
        self._clock = clock
        self._lock = threading.Lock()
        self._parts = frozenset(parts)
        self._marks: dict[str, int] = {}
        self._silent: dict[str, tuple[float, float]] = {}  # from when to when a part was seen to wait
        self._on_the_way: Counter[str] = Counter()
        self._ended: set[str] = set()

    def comes(self, part: str) -> None:
        """A batch of a part, also an empty one, is on its way to the engine."""
        with self._lock:
            self._silent.pop(part, None)
            self._on_the_way[part] += 1

    def came(self, part: str) -> None:
        """A batch that was on its way is with the engine."""
        with self._lock:
            self._silent.pop(part, None)
            self._on_the_way[part] -= 1

    def moved(self, part: str, watermark_ms: int) -> None:
        """The records of a part have come so far."""
        with self._lock:
            self._marks[part] = max(watermark_ms, self._marks.get(part, watermark_ms))

    def mark(self, part: str) -> int | None:
        """How far the records of a part have come; None before the first."""
        with self._lock:
            return self._marks.get(part)

    def waits(self, part: str) -> None:
        """A part has looked at its source, and there is nothing. Only time between two such looks counts as silence."""
        with self._lock:
            self._ended.discard(part)
            now = self._clock()
            began, _ = self._silent.get(part, (now, now))
            self._silent[part] = began, now

    def works(self, part: str) -> None:
        """A part starts, has a batch under way, or cannot reach its source."""
        with self._lock:
            self._ended.discard(part)
            self._silent.pop(part, None)

    def ended(self, part: str) -> None:
        """Nothing more comes of a part than what is on its way."""
        with self._lock:
            self._ended.add(part)

    def level(self) -> int | None:
        """How far the stream has come; None while a part that is awaited has sent nothing yet."""
        with self._lock:
            awaited = [part for part in self._parts if self._is_awaited(part)]
            if not awaited:
                return max(self._marks.values(), default=None)
            if any(part not in self._marks for part in awaited):
                return None
            return min(self._marks[part] for part in awaited)

    def _is_awaited(self, part: str) -> bool:
        if self._on_the_way[part]:
            return True
        if part in self._ended:
            return False
        began, last = self._silent.get(part, (0.0, 0.0))
        return self._idle_ms is None or (last - began) * 1000 < self._idle_ms
