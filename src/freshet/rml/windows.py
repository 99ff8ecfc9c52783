"""How long records of live streams wait for each other, as mappings say it (`rmls:`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from freshet.rdf.errors import InputError


class WindowKind(StrEnum):
    """How pairs of records are found. All are triggered by every arrival."""

    TUMBLING = "Tumbling"  # both in the same [k * size, (k + 1) * size)
    SLIDING = "Sliding"  # times differ by at most the size
    DYNAMIC = "DynamicWindow"  # a window a key, whose size adapts between two limits (Dynamic Windows, algorithm 1)
    DYNAMIC_COUNT = "DynamicCountWindow"  # the same, measured in records instead of time
    LOSSLESS = "LosslessWindow"  # adapts, but finds every pair that a sliding window of the upper limit finds


FIXED = frozenset({WindowKind.TUMBLING, WindowKind.SLIDING})


@dataclass(frozen=True, slots=True)
class JoinWindow:
    """A window and its parameters. Sizes are milliseconds, or records where the window adapts by count."""

    kind: WindowKind = WindowKind.DYNAMIC
    size: int = 1_000  # of tumbling and sliding windows; the first size of those that adapt
    lower: int = 50
    upper: int = 5_000
    shrink_above: float = 1.2  # the cost of the lists above which a window is halved ...
    grow_below: float = 0.8  # ... and below which it is doubled
    list_size: float = 2  # what the length of a key's list is first measured against
    # A key without records for this long is forgotten; the longest that a window by count waits.
    idle_ms: int = 10_000
    policy: str | None = None  # MODULE:NAME of a sizing policy in place of algorithm 1
    # How far a side may get ahead of one that brings nothing until it stops waiting for it; None: `silent_limit_ms`.
    silent_ms: int | None = None
    # How many records may wait in all; of more the oldest are given up, and counted.
    most_waiting: int = 1_000_000

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError(f"the size of a {self.kind} is at least 1, not {self.size}")
        if self.silent_ms is not None and self.silent_ms < 1:
            raise InputError(f"the time after which a side counts as silent is at least 1 ms, not {self.silent_ms}")
        if self.most_waiting < 1:
            raise InputError(f"the most records that wait are at least 1, not {self.most_waiting}")
        if self.kind in FIXED:
            if self.policy:
                raise InputError(f"a {self.kind} window has one size, so it takes no sizing policy")
            return
        if not 1 <= self.lower <= self.size <= self.upper:
            limits = f"lower {self.lower}, size {self.size}, upper {self.upper}"
            raise InputError(f"the sizes of a {self.kind} do not ascend from at least 1: {limits}")
        if not 0 <= self.grow_below <= self.shrink_above:
            limits = f"{self.grow_below} and {self.shrink_above}"
            raise InputError(f"the cost below which a {self.kind} grows is above the one where it shrinks: {limits}")
        if self.list_size < 1 or self.idle_ms < 1:
            raise InputError(f"list size and idle time of a {self.kind} are at least 1")

    @property
    def silent_limit_ms(self) -> int:
        """How far a side may get ahead of one that brings nothing: unless given, as long as a key may be idle, and no
        less than records can be apart and meet."""
        if self.silent_ms is not None:
            return self.silent_ms
        if self.kind is WindowKind.DYNAMIC_COUNT:
            return self.idle_ms
        return max(self.idle_ms, self.size if self.kind in FIXED else self.upper)


def default_window(kind: WindowKind) -> JoinWindow:
    """A window of this kind with sizes that suit it; what a mapping says replaces them."""
    if kind is WindowKind.DYNAMIC_COUNT:
        return JoinWindow(kind, size=2, lower=2, upper=1_024, idle_ms=5_000)
    return JoinWindow(kind, size=2_000) if kind in FIXED else JoinWindow(kind)


def window_with(window: JoinWindow, given: Mapping[str, Any]) -> JoinWindow:
    """A window with other parameters. Limits without a first size give one between them."""
    if "size" not in given and window.kind not in FIXED:
        lower, upper = given.get("lower", window.lower), given.get("upper", window.upper)
        given = {**given, "size": min(max(window.size, lower), upper)}
    return replace(window, **given)
