"""Registered queries that are measured: elements go in through `Session.push`, and reports come out as a user has them.

Only the public interface of a session is used, so that figures of different engines can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet.rdf.terms import Iri
from freshet.runtime.registered_query import RegisteredQuery
from freshet.runtime.session import Session
from freshet.syntax.parser import parse_query

Pushes = Mapping[str, Any]  # what is pushed into each stream: encoded elements, text, an Arrow table


def register(session: Session, text: str, name: str | None = None) -> RegisteredQuery:
    """Declare the streams that a query reads, with the defaults, and register it."""
    streams = (declaration.window.stream for declaration in parse_query(text).windows)
    for stream in dict.fromkeys(stream.value for stream in streams if isinstance(stream, Iri)):
        session.stream(stream)
    return session.register(text, name=name)


def take_rows(query: RegisteredQuery) -> int:
    """Take the reports of a query, as Arrow where it has that; gives the number of their rows."""
    take_arrow: Callable[[], Any] | None = getattr(query, "take_arrow", None)
    if take_arrow is None:
        return sum(len(report.shown.rows) for report in query.take())
    return _row_count(take_arrow())


def _row_count(taken: Any) -> int:
    if taken is None:
        return 0
    rows: int | None = getattr(taken, "num_rows", None)
    return sum(map(_row_count, taken)) if rows is None else rows


@dataclass(frozen=True, slots=True)
class Throughput:
    """What went through, and the processor time of all threads that it took."""

    elements: int
    rows: int
    seconds: float
    batches: int

    @property
    def elements_per_second(self) -> float:
        return self.elements / max(self.seconds, 1e-9)


def push_batch(session: Session, batch: Pushes) -> None:
    """Push what comes in each stream."""
    for stream, elements in batch.items():
        session.push(stream, elements)


def element_count(batch: Mapping[str, Elements]) -> int:
    """The elements of a batch in all streams."""
    return sum(len(elements.times) for elements in batch.values())


def throughput(
    session: Session,
    queries: Sequence[RegisteredQuery],
    batches: Iterable[Mapping[str, Elements]],
    *,
    seconds: float,
    least: int = 3,
) -> Throughput:
    """Push batches until the processor has worked for so long, but at least some.

    Processor time is what other work on the machine disturbs least. It is that of all threads.
    """
    elements = rows = done = 0
    taken = 0.0
    for batch in batches:
        began = time.process_time()
        push_batch(session, batch)
        rows += sum(map(take_rows, queries))
        taken += time.process_time() - began
        elements += element_count(batch)
        done += 1
        if taken >= seconds and done >= least:
            break
    raise_failures(session)
    return Throughput(elements, rows, taken, done)


def median_microseconds(
    session: Session, queries: Sequence[RegisteredQuery], singles: Iterable[Mapping[str, Elements]], warm: int
) -> float:
    """The median time of a push with one element, until its reports are taken; the first pushes do not count."""
    nanoseconds = []
    for batch in singles:
        began = time.perf_counter_ns()
        push_batch(session, batch)
        for query in queries:
            take_rows(query)
        nanoseconds.append(time.perf_counter_ns() - began)
    raise_failures(session)
    return median(nanoseconds[warm:]) / 1_000


def raise_failures(session: Session) -> None:
    """An error where a query has failed: what it did not do would be counted as fast."""
    for failure in session.failures:
        raise FreshetError(str(failure))
