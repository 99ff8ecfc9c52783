"""Registered queries that are measured: elements go in through `Session.push`, and reports come out as a user has them.

Only the public interface of a session is used, so that figures of different engines can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any

from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet.rdf.terms import Iri, Term
from freshet.runtime.registered_query import RegisteredQuery
from freshet.runtime.session import Session
from freshet.syntax.parser import parse_query
from freshet_benchmarks.figures import Figure

_Push = tuple[str, tuple[int, Term, Term, Term]]  # a stream, and an element
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


def one_element_figures(
    name: str,
    session: Session,
    query: RegisteredQuery,
    streams: Sequence[str],
    singles: Iterable[Mapping[str, Elements]],
    *,
    count: int,
    warm: int,
) -> list[Figure]:
    """The median times from a push of one element until what it makes a query report is in the caller's hands.

    The element is a tuple of a time and three terms. All other streams of the query have come as far before, so that
    each push lets one instant be evaluated, that of the element before, or closes a window. The reports are those of
    `query.take()`; beside it, the same with `query.take_arrow()`. Of each `count` elements are measured, after `warm`
    that are not.
    """
    with session.dictionary.pins:  # nothing else holds the terms of the elements before they are pushed
        pushes = [_push_of(session, batch) for batch in islice(singles, 2 * (warm + count))]
    halves = pushes[: warm + count], pushes[warm + count :]
    return [
        Figure(f"{name}_one_element_{kind}microseconds", _median_microseconds(session, streams, some, take, warm), "µs")
        for kind, take, some in zip(("", "arrow_"), (query.take, query.take_arrow), halves, strict=True)
    ]


def _push_of(session: Session, batch: Mapping[str, Elements]) -> _Push:
    """A stream, and one element as a user has it, its terms new objects."""
    [(stream, elements)] = batch.items()
    time_ms, *ids = (column.item() for column in elements)
    subject, predicate, object_ = map(session.dictionary.decode, ids)
    return stream, (time_ms, subject, predicate, object_)


def _median_microseconds(
    session: Session, streams: Sequence[str], pushes: Sequence[_Push], take: Callable[[], Any], warm: int
) -> float:
    """Push elements one by one into streams that come on together, and take the reports of each."""
    nanoseconds = []
    for stream, element in pushes:
        for other in streams:
            if other != stream:
                session.advance(other, element[0])
        began = time.perf_counter_ns()
        session.push(stream, element)
        take()
        nanoseconds.append(time.perf_counter_ns() - began)
    raise_failures(session)
    return median(nanoseconds[warm:]) / 1_000


def raise_failures(session: Session) -> None:
    """An error where a query has failed: what it did not do would be counted as fast."""
    for failure in session.failures:
        raise FreshetError(str(failure))
