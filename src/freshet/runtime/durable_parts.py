"""What a durable session remembers of its streams and queries, in the form in which it is written down."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from freshet.results.report import Report
from freshet.runtime.journal import Header
from freshet.runtime.registered_query import RegisteredQuery


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """A stream as it was declared; `absorb` are the predicates of what enters the graph: none (None), or all (none
    named)."""

    iri: str
    lateness_ms: int
    absorb: tuple[str, ...] | None
    held: bool


@dataclass(frozen=True, slots=True)
class Registration:
    """A query as it was registered, when so many streams were known."""

    name: str
    text: str
    file: str | None
    dialect: str | None
    report: tuple[str, ...]
    every_ms: int | None
    limit_seconds: float | None
    streams: int = 0


class Position(NamedTuple):
    """How much of a stream is in: so many batches (pushes), with so many elements."""

    batches: int
    elements: int


class Outbox:
    """Reports of a query on their way: to a callback, or to where they wait."""

    query: RegisteredQuery

    def __init__(self, registration: Registration) -> None:
        self.registration = registration
        self.waiting: deque[Report] = deque()
        self.made: deque[int] = deque()  # for each report that waits, or may not have been received, its entry
        self.on_report: Callable[[Report], None] | None = None
        self.is_restored = False  # and nobody has asked for it since


def stream_options_of(fields: Header) -> StreamOptions:
    absorb = fields["absorb"]
    kept = None if absorb is None else tuple(absorb)
    return StreamOptions(fields["iri"], fields["lateness_ms"], kept, fields["held"])


def registration_of(fields: Header) -> Registration:
    known = {name: fields[name] for name in Registration.__slots__}
    return Registration(**{**known, "report": tuple(fields["report"])})
