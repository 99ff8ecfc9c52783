"""How far a stream of several parts has come: as far as the part that is least far.

Parts of one stream are read side by side, one ahead of the other. A part that has sent nothing for a while does not
hold the others back, or a source that falls silent would stop every window.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable


class PartWatermarks:
    """The watermarks of a stream's parts, in milliseconds.

    `idle_ms` is how long, by the clock on the wall, a part may be silent before it counts no more; None is for ever, as
    it should be where all input is there from the start.
    """

    def __init__(
        self, parts: Iterable[str], idle_ms: int | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._idle_ms = idle_ms
        self._clock = clock
        self._heard = dict.fromkeys(parts, clock())
        self._marks: dict[str, int] = {}

    def moved(self, part: str, watermark_ms: int) -> None:
        """A batch of a part has come."""
        self._heard[part] = self._clock()
        self._marks[part] = max(watermark_ms, self._marks.get(part, watermark_ms))

    def level(self) -> int | None:
        """How far the stream has come; None while a part that is awaited has sent nothing yet."""
        now = self._clock()
        awaited = [part for part, heard in self._heard.items() if not self._is_idle(now - heard)]
        if not awaited:
            return max(self._marks.values(), default=None)
        if any(part not in self._marks for part in awaited):
            return None
        return min(self._marks[part] for part in awaited)

    def _is_idle(self, seconds: float) -> bool:
        return self._idle_ms is not None and seconds * 1000 >= self._idle_ms
