"""The subwindows of `[ADAPTIVE a TO b]` by the book, one element at a time: the twin of the kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

OWN, OTHER = 0, 1
FIRST_MS, IDLE_MS = 1_000, 10_000  # the first length, where the limits allow it, and when it begins anew


def subwindows(own: Sequence[int], other: Iterable[int], lower_ms: int, upper_ms: int) -> list[tuple[int, int]]:
    """When each subwindow opened, and its length: the times are those of the window's stream, and of the others."""
    first_ms = min(max(FIRST_MS, lower_ms), upper_ms)
    idle_ms = max(IDLE_MS, upper_ms)
    found: list[tuple[int, int]] = []
    length_ms, limits, newest = first_ms, [2.0, 2.0], None
    counts = [0, 0]
    for time_ms, side in sorted([*((at, OWN) for at in own), *((at, OTHER) for at in other)]):
        if not found or time_ms >= found[-1][0] + length_ms:
            if found:
                costs = [count / limit for count, limit in zip(counts, limits, strict=True)]
                changed = sum(costs) > 1.2 or sum(costs) < 0.8
                if sum(costs) > 1.2:
                    length_ms = max(lower_ms, length_ms // 2)
                elif sum(costs) < 0.8:
                    length_ms = min(upper_ms, length_ms * 2)
                if changed:
                    limits = [max(1.0, limit * (cost + 0.5)) for limit, cost in zip(limits, costs, strict=True)]
            if newest is not None and time_ms >= newest + idle_ms:
                length_ms, limits = first_ms, [2.0, 2.0]
            found.append((time_ms, length_ms))
            counts = [0, 0]
        counts[side] += 1
        newest = time_ms
    return found
