"""Which windows move with every arrival, and what kernels are told of them."""

from __future__ import annotations

from freshet.algebra.windows import (
    AllWindow,
    CountWindow,
    NowWindow,
    RangeWindow,
    TriplesWindow,
    WindowOperator,
)
from freshet.kernels.arrivals import EVERYTHING, LAST_ELEMENTS, LAST_MS


def moves_with_arrivals(window: WindowOperator) -> bool:
    """Whether a window's content at an instant depends on what has come by then only, not on closes or steps."""
    if isinstance(window, CountWindow):
        return window.step == 1
    return isinstance(window, RangeWindow | NowWindow | TriplesWindow | AllWindow)


def window_numbers(window: WindowOperator | None) -> tuple[int, int, int]:
    """Kind, size and slide. None is the stored graph, which nothing leaves."""
    match window:
        case RangeWindow():
            return LAST_MS, window.width_ms, window.slide_ms or 0
        case NowWindow():
            return LAST_MS, 0, 0
        case CountWindow() | TriplesWindow():
            return LAST_ELEMENTS, window.count, 0
        case _:
            return EVERYTHING, 0, 0
