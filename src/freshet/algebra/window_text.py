"""Windows for people to read, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from freshet.algebra.names import IriText
from freshet.algebra.text import term_text
from freshet.algebra.windows import (
    AdaptiveWindow,
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
from freshet.rdf.wording import show_count

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))

KINDS: dict[type[WindowOperator], str] = {
    SlidingWindow: "sliding",
    EventTimeWindow: "event_time",
    CountWindow: "count",
    RangeWindow: "range",
    NowWindow: "now",
    TriplesWindow: "triples",
    AllWindow: "all",
    AdaptiveWindow: "adaptive",
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


def adaptive_line(counts: Mapping[str, int]) -> str:
    """What a window that adapts has done.

    >>> adaptive_line({"size_ms": 250, "subwindows": 2, "least_ms": 250, "largest_ms": 500, "elements": 40, "met": 38})
    '250 ms now; 2 subwindows ended, of 250 ms to 500 ms; 38 of 40 elements met any of the other side (95.0 %)'
    """
    ended = show_count(counts["subwindows"], "subwindow") + " ended"
    if counts["subwindows"]:
        ended += f", of {duration_text(counts['least_ms'])} to {duration_text(counts['largest_ms'])}"
    share = f"{100 * counts['met'] / max(1, counts['elements']):.1f} %"
    met = f"{counts['met']:,} of {show_count(counts['elements'], 'element')} met any of the other side ({share})"
    return f"{duration_text(counts['size_ms'])} now; {ended}; {met}"


def window_line(declaration: WindowDeclaration, iri_text: IriText = str) -> str:
    """A window by its name, its stream and what it holds."""
    window = declaration.window
    return f"{iri_text(declaration.name)} on {term_text(window.stream, iri_text)}: {_extent(window, iri_text)}"


def _extent(window: WindowOperator, iri_text: IriText) -> str:
    match window:
        case SlidingWindow(_, width_ms, slide_ms, ago_ms=int(ago_ms)) if ago_ms:
            span = f"{duration_text(ago_ms + width_ms)} ago to {duration_text(ago_ms)} ago"
            return f"from {span}, every {duration_text(slide_ms)}"
        case SlidingWindow(_, width_ms, slide_ms):
            return f"the last {duration_text(width_ms)}, every {duration_text(slide_ms)}"
        case EventTimeWindow(_, predicate, width_ms, slide_ms):
            step = "with every element" if slide_ms is None else f"every {duration_text(slide_ms)}"
            return f"the last {duration_text(width_ms)} by {iri_text(predicate)}, {step}"
        case CountWindow(_, count, step):
            return f"the last {show_count(count, 'element')}, every {step}"
        case RangeWindow(_, width_ms, tumbling):
            return f"the last {duration_text(width_ms)} at each instant{', tumbling' if tumbling else ''}"
        case TriplesWindow(_, count):
            return f"the last {show_count(count, 'element')} at each instant"
        case NowWindow():
            return "the elements of each instant"
        case AdaptiveWindow(_, lower_ms, upper_ms):
            return f"subwindows that adapt, of {duration_text(lower_ms)} to {duration_text(upper_ms)}"
        case AllWindow():
            return "all elements so far"


def window_json(declaration: WindowDeclaration) -> dict[str, Any]:
    """A window as JSON. A sliding window, which is the usual, has no `kind`; a variable keeps its question mark."""
    window = declaration.window
    kind = {} if isinstance(window, SlidingWindow) else {"kind": KINDS[type(window)]}
    facts = {field.name: getattr(window, field.name) for field in fields(window)}
    return {"name": declaration.name.value, **kind, **{name: _to_json(fact) for name, fact in facts.items()}}


def _to_json(fact: object) -> object:
    if isinstance(fact, Iri):
        return fact.value
    return fact if fact is None or isinstance(fact, int) else str(fact)
