"""How far the time of a join has come, by the largest times of its two sides.

The join has reached the smaller of the two: with a backlog, the side with fewer records runs ahead, and what the other
has yet to bring is not late for that. A side that is silent does not hold the other back forever, so that what waits
stays bounded: it counts no more once the other is ahead, by more than a limit, of all that was known when it last came.
All of this is event time, so a stream that is read again gives the same.
"""

from __future__ import annotations

from typing import NamedTuple

from freshet.kernels import join_windows

NEVER = int(join_windows.NEVER)


class Times(NamedTuple):
    """A time for each side."""

    child: int = NEVER
    parent: int = NEVER


class JoinClock(NamedTuple):
    """The largest time of each side, and for each the largest time of both when it last brought something in time.

    `reached` is the time up to which both sides are known; it never goes back. It is NEVER while a side is waited for
    that has brought nothing yet.
    """

    newest: Times = Times()
    heard: Times = Times()
    reached: int = NEVER

    @property
    def front(self) -> int:
        """The largest time of all."""
        return max(self.newest)

    def watermark(self, lateness_ms: int) -> int:
        """The time behind which records are late."""
        return NEVER if self.reached == NEVER else self.reached - lateness_ms


def advance_clock(clock: JoinClock, batch: Times, lateness_ms: int, silent_ms: int) -> JoinClock:
    """The clock after a batch whose largest times are these.

    A side that brings late records only is as good as silent: else it would hold the other back without meeting it.
    """
    newest = Times(*map(max, clock.newest, batch))
    front = max(newest)
    if front == NEVER:
        return clock
    watermark = clock.watermark(lateness_ms)
    heard = Times(
        *(
            front if time == NEVER or came >= max(watermark, NEVER + 1) else time
            for time, came in zip(clock.heard, batch, strict=True)
        )
    )
    holding = [time for time, known in zip(newest, heard, strict=True) if front - known <= silent_ms]
    return JoinClock(newest, heard, max(clock.reached, min(holding)))
