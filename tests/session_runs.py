"""Run a continuous query through `freshet.Session`, the elements handed over in any batches one likes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import freshet

Lines = Sequence[tuple[int, str | None]]
# (stream, elements) to push in this order; an element without a statement advances the watermark.
Schedule = Iterable[tuple[str, Lines]]
CHANGE = ""  # in a schedule, in place of a stream: now the stored graphs change


def whole_streams(streams: Mapping[str, Lines]) -> Schedule:
    """One stream after the other, each in one push."""
    return list(streams.items())


def one_by_one(streams: Mapping[str, Lines]) -> Schedule:
    """Every element in a push of its own, the streams taking turns."""
    longest = max((len(lines) for lines in streams.values()), default=0)
    return [(iri, [lines[at]]) for at in range(longest) for iri, lines in streams.items() if at < len(lines)]


def run_session(
    query: str, schedule: Schedule, *, name: str = "query", report: Collection[str] = (), **world: Any
) -> list[dict[str, Any]]:
    """All reports of one query, in the order they were delivered, as NDJSON objects."""
    return run_queries([(name, query)], schedule, reports=[report], **world)[0]


def run_queries(
    queries: Sequence[tuple[str, str]],
    schedule: Schedule,
    *,
    streams: Iterable[str],
    lateness_ms: Mapping[str, int] | None = None,
    data: Path | None = None,
    absorb: Mapping[str, bool | Sequence[str]] | None = None,
    reports: Sequence[Collection[str]] | None = None,
    passing: str | None = None,
    compacting: bool = False,
    change: str = "",
    retracts: bool = False,
    graphs: Collection[str] = (),
) -> list[list[dict[str, Any]]]:
    """The reports of several queries (name, text) in one session, a list for each query.

    `reports` has the conditions on reporting with which each is registered. A query that is `passing` is registered
    when a third of the schedule is done, and removed after two thirds. With `compacting` the stored graph is compacted
    between all pushes. A `change` is a SPARQL update, for where the schedule says CHANGE. With `retracts` elements can
    delete. `graphs` are the streams that keep the graphs of their elements.
    """
    session = freshet.Session()
    if data is not None:
        session.load(data)
    for iri in streams:
        lateness, absorbed = (lateness_ms or {}).get(iri, 0), (absorb or {}).get(iri, False)
        session.stream(iri, lateness_ms=lateness, absorb=absorbed, retracts=retracts, graphs=iri in graphs)
    options = [{"report": tuple(conditions)} if conditions else {} for conditions in reports or [()] * len(queries)]
    registered = [
        session.register(text, name=name, **options) for (name, text), options in zip(queries, options, strict=True)
    ]
    schedule = list(schedule)
    for at, (iri, lines) in enumerate(schedule):
        if passing is not None and at == len(schedule) // 3:
            session.register(passing, name="passing")
        if passing is not None and at == len(schedule) * 2 // 3:
            session.unregister(session.engine.names[-1])
        if iri == CHANGE:
            session.update(change)
        hand_over(session, iri, lines)
        if compacting:
            session.engine.compact_stored()
    session.finish()
    assert not session.failures, session.failures
    return [[json.loads(session.ndjson(report)) for report in query.take()] for query in registered]


def hand_over(session: freshet.Session, iri: str, lines: Lines) -> None:
    """Push runs of elements, and advance the watermark where a line says so."""
    pushed: list[str] = []
    for time_ms, statement in lines:
        if statement is not None:
            pushed.append(f"{time_ms}\t{statement}\n")
            continue
        if pushed:
            session.push(iri, "".join(pushed))
            pushed = []
        session.advance(iri, time_ms)
    if pushed:
        session.push(iri, "".join(pushed))
