"""How long records of live streams wait for each other, as mappings say it (`rmls:`)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WindowKind(StrEnum):
    """How pairs of records are found. All but the first are triggered by every arrival."""

    TUMBLING = "Tumbling"  # both in the same [k * size, (k + 1) * size)
    SLIDING = "Sliding"  # times differ by at most the size
    DYNAMIC = "DynamicWindow"  # a window a key, whose size adapts between two limits (seed 002, algorithm 1)
    DYNAMIC_COUNT = "DynamicCountWindow"  # the same, measured in records instead of time
    LOSSLESS = "LosslessWindow"  # adapts, but finds every pair that a sliding window of the upper limit finds


@dataclass(frozen=True, slots=True)
class JoinWindow:
    """A window and its parameters. Sizes are milliseconds, or records where the window adapts by count."""

    kind: WindowKind = WindowKind.DYNAMIC
    size: int = 2_000  # of tumbling and sliding windows; the first size of those that adapt
    lower: int = 50
    upper: int = 5_000
    shrink_above: float = 1.5  # the cost of the lists above which a window is halved ...
    grow_below: float = 0.5  # ... and below which it is doubled
    list_size: int = 16  # what the length of a key's list is first measured against
    policy: str | None = None  # MODULE:NAME of a sizing policy that the user supplies
