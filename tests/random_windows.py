"""Random windows in the words of each dialect."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from random_streams import EVENT_TIME

WIDTHS_MS = (1000, 2000, 3000, 4000, 5000, 5000, 7000, 7000, 10000, 10000)
SLIDES_MS = (1000, 1500, 2000, 2000, 3000, 4000, 5000)

GRID_MS = 250  # between elements that do not come at one time, or more


@dataclass(frozen=True)
class RandomWindow:
    """A window that a query declares; `reach_ms` is how far back it may look."""

    stream: str
    span: str
    reach_ms: int
    by_event_time: bool = False


def moving_window(dice: Random, dialect: str, stream: str, *, dated: bool = False) -> RandomWindow:
    """A window that moves with every element, or (RSP-QL) closes as often as elements can come."""
    width_ms, count = dice.choice(WIDTHS_MS[:5]), dice.randint(1, 6)
    if dialect == "csparql":
        return RandomWindow(stream, f"RANGE TRIPLES {count}", 10_000)
    if dialect == "cqels":
        span = dice.choice([f"RANGE {units(width_ms)}", f"RANGE {units(width_ms)}", f"TRIPLES {count}", "NOW"])
        return RandomWindow(stream, span, width_ms if span.startswith("RANGE") else 10_000)
    if dated and dice.random() < 0.5:
        return RandomWindow(stream, f"RANGE {iso(width_ms)} @{EVENT_TIME}", width_ms, by_event_time=True)
    if dice.random() < 0.15:
        return RandomWindow(stream, f"RANGE {iso(width_ms)} STEP {iso(GRID_MS)}", width_ms)
    return RandomWindow(stream, f"COUNT {count}", 10_000)


def rspql_window(dice: Random, stream: str, *, dated: bool) -> RandomWindow:
    """`[RANGE PT5S STEP PT1S]` and the like."""
    width_ms, slide_ms = dice.choice(WIDTHS_MS), dice.choice(SLIDES_MS)
    width, step = iso(width_ms), f" STEP {iso(slide_ms)}"
    if dated and dice.random() < 0.6:
        predicate = f" @{EVENT_TIME}"
        return RandomWindow(stream, f"RANGE {width}{predicate}{dice.choice(['', step])}", width_ms, by_event_time=True)
    if dice.random() < 0.25:
        step = dice.choice(["", "", f" STEP {dice.randint(2, 4)}"])
        return RandomWindow(stream, f"COUNT {dice.randint(1, 6)}{step}", 10_000)
    return RandomWindow(stream, f"RANGE {width}{dice.choice([step, step, step, ''])}", width_ms)


def csparql_window(dice: Random, stream: str) -> RandomWindow:
    """`[RANGE 5s STEP 1s]` and the like."""
    width_ms, slide_ms = dice.choice(WIDTHS_MS), dice.choice(SLIDES_MS)
    if dice.random() < 0.3:
        step = dice.choice(["", " TUMBLING", f" STEP {dice.randint(1, 4)}"])
        return RandomWindow(stream, f"RANGE TRIPLES {dice.randint(1, 6)}{step}", 10_000)
    step = dice.choice([f" STEP {units(slide_ms)}"] * 3 + [" TUMBLING", ""])
    return RandomWindow(stream, f"RANGE {units(width_ms)}{step}", width_ms)


def cqels_window(dice: Random, stream: str) -> RandomWindow:
    """`[RANGE 5s SLIDE 1s]`, `[NOW]` and the like."""
    width_ms, slide_ms = dice.choice(WIDTHS_MS[:5]), dice.choice(SLIDES_MS)
    kind = dice.random()
    if kind < 0.5:
        step = dice.choice(["", "", f" SLIDE {units(slide_ms)}", " TUMBLING"])
        return RandomWindow(stream, f"RANGE {units(width_ms)}{step}", width_ms)
    if kind < 0.75:
        return RandomWindow(stream, f"TRIPLES {dice.randint(1, 5)}", 10_000)
    return RandomWindow(stream, dice.choice(["NOW", "ALL"]), 10_000)


def adaptive_window(dice: Random, dialect: str, stream: str) -> RandomWindow:
    """`[ADAPTIVE PT0.5S TO PT4S]` and the like."""
    lower_ms = dice.choice((250, 500, 1000, 2000))
    upper_ms = lower_ms * dice.choice((1, 2, 4, 8))
    limits = [iso(each) if dialect == "rspql" else units(each) for each in (lower_ms, upper_ms)]
    return RandomWindow(stream, f"ADAPTIVE {limits[0]} TO {limits[1]}", upper_ms)


def iso(duration_ms: int) -> str:
    return f"PT{duration_ms / 1000:g}S"


def units(duration_ms: int) -> str:
    return f"{duration_ms}ms" if duration_ms % 1000 else f"{duration_ms // 1000}s"
