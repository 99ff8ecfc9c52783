"""Windows over streams (S2R): what a query declares."""

from __future__ import annotations

from dataclasses import dataclass

from freshet.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """RSP-QL time-based window: the elements with open_ms <= t < close_ms, closing at start_ms + k * slide_ms."""

    stream: Iri
    width_ms: int
    slide_ms: int
    start_ms: int = 0


WindowOperator = SlidingWindow


@dataclass(frozen=True, slots=True)
class WindowDeclaration:
    """`FROM NAMED WINDOW name ON stream [...]`"""

    name: Iri
    window: WindowOperator
