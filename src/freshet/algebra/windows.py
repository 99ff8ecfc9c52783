"""Windows over streams (S2R): what a query declares."""

from __future__ import annotations

from dataclasses import dataclass

from freshet.algebra.expressions import Variable
from freshet.rdf.terms import Iri

# ---- RSP-QL and C-SPARQL: evaluated when a window closes


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """RSP-QL time-based window: the elements with open_ms <= t < close_ms, closing at start_ms + k * slide_ms.

    One in the past holds what is `ago_ms` older: those with open_ms <= t + ago_ms < close_ms.
    """

    stream: Iri | Variable
    width_ms: int
    slide_ms: int
    start_ms: int = 0
    ago_ms: int = 0


@dataclass(frozen=True, slots=True)
class EventTimeWindow:
    """`[RANGE ... @predicate]`: a time-based window over the time that the object of a triple gives.

    Without STEP (`slide_ms` None) it moves with every element. It sees what comes after the first `since` elements of
    the stream: those that came before its query.
    """

    stream: Iri | Variable
    predicate: Iri
    width_ms: int
    slide_ms: int | None = None
    since: int = 0


@dataclass(frozen=True, slots=True)
class CountWindow:
    """`[COUNT n STEP m]`, C-SPARQL's `[RANGE TRIPLES n]`: the last n elements, each time that m more have come."""

    stream: Iri | Variable
    count: int
    step: int = 1


# ---- CQELS-QL: evaluated at every instant t at which an element arrives; a variable stands for any stream


@dataclass(frozen=True, slots=True)
class RangeWindow:
    """`[RANGE w]`: the elements of [t - width_ms, t]; tumbling, those from the last multiple of width_ms on.

    `SLIDE` leaves the content as it is, as the CQELS engine answers.
    """

    stream: Iri | Variable
    width_ms: int
    tumbling: bool = False


@dataclass(frozen=True, slots=True)
class NowWindow:
    """`[NOW]`: the elements of the instant t."""

    stream: Iri | Variable


@dataclass(frozen=True, slots=True)
class TriplesWindow:
    """`[TRIPLES n]`: the last n elements."""

    stream: Iri | Variable
    count: int


@dataclass(frozen=True, slots=True)
class AllWindow:
    """`[ALL]`: every element so far."""

    stream: Iri | Variable


# ---- every dialect


@dataclass(frozen=True, slots=True)
class AdaptiveWindow:
    """`[ADAPTIVE a TO b]`: the elements since the present subwindow opened, one whose length adapts between two limits.

    A subwindow opens with an element of any stream of the query, and what ends it is the first one that comes its
    length later.
    """

    stream: Iri | Variable
    lower_ms: int
    upper_ms: int


WindowOperator = (
    SlidingWindow | EventTimeWindow | CountWindow | RangeWindow | NowWindow | TriplesWindow | AllWindow | AdaptiveWindow
)


@dataclass(frozen=True, slots=True)
class WindowDeclaration:
    """`FROM NAMED WINDOW name ON stream [...]`; C-SPARQL's and CQELS-QL's windows are given names."""

    name: Iri
    window: WindowOperator
