"""Streams as the reference receives them: what is kept, what is dropped, and streams by a time that a triple gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import inf
from typing import NamedTuple

import pyoxigraph as ox

Term = ox.NamedNode | ox.BlankNode | ox.Literal
XSD = "http://www.w3.org/2001/XMLSchema#"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# A line of a stream: (time, N-Triples or N-Quads statement); (time, None) sets the watermark to `time` or more.
# A statement after a minus sign is deleted.
StreamLine = tuple[int, "str | ox.Triple | None"]


class Element(NamedTuple):
    """A timed triple that was not dropped; `arrival` distinguishes it from all others of its stream."""

    time_ms: int
    arrival: int
    triple: ox.Triple
    deletes: bool = False
    graph: ox.NamedNode | ox.BlankNode | None = None  # None is the default graph


@dataclass(frozen=True)
class Received:
    """A stream at its end: what it kept in the order of (time, arrival), what it dropped, how far its watermark came.

    `untimed` counts the elements that a stream by another time has left out, because nothing gives their time.
    """

    elements: tuple[Element, ...]
    dropped: int
    watermark_ms: float
    lateness_ms: int
    untimed: int = 0


def receive(lines: Iterable[StreamLine], lateness_ms: int, scope: int = 0) -> Received:
    """Drop what comes behind the watermark: the largest time seen so far, less the lateness."""
    elements: list[Element] = []
    dropped, watermark_ms = 0, -inf
    for arrival, (time_ms, statement) in enumerate(lines):
        if statement is None:
            watermark_ms = max(watermark_ms, time_ms)
        elif time_ms < watermark_ms:
            dropped += 1
        else:
            deletes = isinstance(statement, str) and statement.startswith("- ")
            text = statement.removeprefix("- ") if isinstance(statement, str) else statement
            elements.append(Element(time_ms, arrival, read_statement(text, scope), deletes, graph_of(text, scope)))
            watermark_ms = max(watermark_ms, time_ms - lateness_ms)
    return Received(in_order(elements), dropped, watermark_ms, lateness_ms)


def in_order(elements: Sequence[Element]) -> tuple[Element, ...]:
    return tuple(sorted(elements, key=lambda element: (element.time_ms, element.arrival)))


def derive(base: Received, predicate: str) -> Received:
    """The stream by the time that `predicate` gives: the elements of each event that has one.

    An event is all elements with one time and one subject. It enters in the order of the base stream, when that has
    passed its time; what has not by the end enters then, and moves the watermark no more.
    """
    events: dict[tuple[int, Term], list[ox.Triple]] = defaultdict(list)
    for element in base.elements:
        events[element.time_ms, element.triple.subject] += [] if element.deletes else [element.triple]
    times_ms = {event: event_time_ms(triples, predicate) for event, triples in events.items()}
    elements: list[Element] = []
    dropped, untimed, watermark_ms, last_ms = 0, 0, -inf, -inf
    for arrival, element in enumerate(base.elements):
        time_ms = times_ms[element.time_ms, element.triple.subject]
        if time_ms is None:
            untimed += 1
        elif time_ms < max(watermark_ms, last_ms):
            dropped += 1
        else:
            elements.append(Element(time_ms, arrival, element.triple, element.deletes, element.graph))
            last_ms = max(last_ms, time_ms - base.lateness_ms)
            if element.time_ms < base.watermark_ms:
                watermark_ms = last_ms
    return Received(in_order(elements), dropped, watermark_ms, base.lateness_ms, untimed)


def event_time_ms(triples: Iterable[ox.Triple], predicate: str) -> int | None:
    """The greatest time that an event's triples give, or None."""
    objects = [triple.object for triple in triples if triple.predicate.value == predicate]
    times_ms = [moment_ms(term) for term in objects if isinstance(term, ox.Literal)]
    return max((time_ms for time_ms in times_ms if time_ms is not None), default=None)


def moment_ms(literal: ox.Literal) -> int | None:
    """Milliseconds: an xsd:integer, or an xsd:dateTime (UTC where it has no zone) since 1970."""
    datatype = literal.datatype.value.removeprefix(XSD)
    try:
        if datatype == "integer":
            return int(literal.value)
        if datatype in ("dateTime", "dateTimeStamp"):
            moment = datetime.fromisoformat(literal.value)
            return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)
    except ValueError:
        pass
    return None


def read_statement(statement: str | ox.Triple, scope: int) -> ox.Triple:
    """One statement, without its graph name, its blank nodes distinct from those of other streams."""
    if not isinstance(statement, str):
        return ox.Triple(*(keep_lexical_form(_scoped(term, scope)) for term in statement))
    return _read_text(statement, scope)


@lru_cache(maxsize=10_000)
def graph_of(statement: str | ox.Triple, scope: int) -> ox.NamedNode | ox.BlankNode | None:
    """The graph that a statement of N-Quads says it is in."""
    if not isinstance(statement, str):
        return None
    name = next(iter(ox.parse(statement, ox.RdfFormat.N_QUADS))).graph_name
    return None if isinstance(name, ox.DefaultGraph) else _scoped(name, scope)


@lru_cache(maxsize=10_000)
def _read_text(statement: str, scope: int) -> ox.Triple:
    quad = next(iter(ox.parse(statement, ox.RdfFormat.N_QUADS)))
    return read_statement(quad.triple, scope)


def _scoped(term: Term, scope: int) -> Term:
    return ox.BlankNode(f"s{scope}.{term.value}") if isinstance(term, ox.BlankNode) else term


@lru_cache(maxsize=10_000)
def keep_lexical_form(term: Term) -> Term:
    """Refuse what pyoxigraph's store would not give back as it is: it writes `1.0` as `1`, and so merges terms."""
    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), term))
    if next(iter(store)).object != term:
        raise ValueError(f"the reference cannot distinguish the forms of one value: {term}")
    return term
