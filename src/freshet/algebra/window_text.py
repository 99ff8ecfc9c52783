"""Windows for people to read, and as JSON."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from freshet.algebra.text import term_text
from freshet.algebra.windows import (
    AllWindow,
    CountWindow,
    EventTimeWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    TriplesWindow,
    WindowDeclaration,
    WindowOperator,
)
from freshet.rdf.terms import Iri

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))

KINDS: dict[type[WindowOperator], str] = {
    SlidingWindow: "sliding",
    EventTimeWindow: "event_time",
    CountWindow: "count",
    RangeWindow: "range",
    NowWindow: "now",
    TriplesWindow: "triples",
    AllWindow: "all",
}


def duration_text(milliseconds: int) -> str:
    """A duration in units that people use.

    >>> duration_text(90_000), duration_text(1_500)
    ('1 min 30 s', '1 s 500 ms')
    """
    parts = []
    for unit, size in _UNITS:
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts) or "0 ms"


def window_line(declaration: WindowDeclaration) -> str:
    """A window by its name, its stream and what it holds."""
    return f"{declaration.name} on {term_text(declaration.window.stream)}: {_extent(declaration.window)}"


def _extent(window: WindowOperator) -> str:
    match window:
        case SlidingWindow(_, width_ms, slide_ms):
            return f"range {duration_text(width_ms)}, step {duration_text(slide_ms)}"
        case EventTimeWindow(_, predicate, width_ms, slide_ms):
            step = "" if slide_ms is None else f", step {duration_text(slide_ms)}"
            return f"range {duration_text(width_ms)} by {predicate}{step}"
        case CountWindow(_, count, step):
            return f"the last {count}, step {step}"
        case RangeWindow(_, width_ms, slide_ms):
            slide = "" if slide_ms is None else f", slide {duration_text(slide_ms)}"
            return f"range {duration_text(width_ms)} up to each instant{slide}"
        case TriplesWindow(_, count):
            return f"the last {count} at each instant"
        case NowWindow():
            return "now"
        case AllWindow():
            return "all"


def window_json(declaration: WindowDeclaration) -> dict[str, Any]:
    """A window as JSON. A sliding window, which is the usual, has no `kind`; a variable keeps its question mark."""
    window = declaration.window
    kind = {} if isinstance(window, SlidingWindow) else {"kind": KINDS[type(window)]}
    facts = {field.name: getattr(window, field.name) for field in fields(window)}
    return {"name": declaration.name.value, **kind, **{name: _plain(fact) for name, fact in facts.items()}}


def _plain(fact: object) -> object:
    if isinstance(fact, Iri):
        return fact.value
    return fact if fact is None or isinstance(fact, int) else str(fact)
