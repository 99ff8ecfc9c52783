"""Recorded streams through a session, in event time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from typing import NamedTuple

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Query, QueryForm
from freshet.native.plan.window_graphs import has_graphs_in_windows
from freshet.native.service.watermark_log import catching_up
from freshet.rdf.errors import BudgetError, InputError
from freshet.runtime.query_order import (
    constructed_names,
    free_name,
    registration_order,
    streams_read,
    unread_windows,
)
from freshet.runtime.recordings import RecordedBatch, Recordings
from freshet.runtime.session import Session
from freshet.syntax.parser import parse_query

REPLAYED_ELEMENTS = 1_000_000  # of each stream that are kept to explain rows, where these are asked for


class QueryFile(NamedTuple):
    """A query to replay streams for, and the name that its reports have."""

    text: str
    name: str
    file: str


class OrderedQueries(NamedTuple):
    """Queries, each after those whose answers it reads, and what is said of their names."""

    queries: list[tuple[QueryFile, Query]]
    notes: list[str]

    @property
    def all_graphs(self) -> bool:
        """Whether all of them report triples."""
        return all(query.form in (QueryForm.CONSTRUCT, QueryForm.DESCRIBE) for _, query in self.queries)

    def streams_with_graphs(self, recorded: Collection[str]) -> set[str]:
        """The recorded streams that queries with GRAPH in windows read; all where one has windows on any stream."""
        asking = [query for _, query in self.queries if has_graphs_in_windows(query)]
        names = [each.window.stream for query in asking for each in query.windows]
        return {each for each in recorded if any(isinstance(name, Variable) or name.value == each for name in names)}


def queries_in_order(
    files: Sequence[QueryFile], recordings: Collection[str], dialect: str | None = None, base: str | None = None
) -> OrderedQueries:
    """The queries by the names that their texts give them; every other stream that they read has a recording.

    A name that an earlier query has gets a number. Relative IRIs are resolved against `base` where a text has no BASE.
    """
    by_name: dict[str, tuple[QueryFile, Query]] = {}
    notes: list[str] = []
    for each in files:
        query = parse_query(each.text, file=each.file, dialect=dialect)
        if base is not None:
            each = each._replace(text=f"BASE <{base}> {each.text}")  # its mistakes have been found, with their places
            query = parse_query(each.text, file=each.file, dialect=dialect)
        notes += [
            f"{each.file}: no pattern is in WINDOW {name}: those outside of it match the stored graph"
            for name in unread_windows(query)
        ]
        own = query.name or each.name
        if not query.windows:  # a live query changes with each push, and how a recording is cut into these is open
            raise InputError(f"the query {own} has no window, so it is not continuous", file=each.file)
        name = free_name(own, by_name)
        if name != own:
            notes.append(f"{each.file}: reported as {name}, because {by_name[own][0].file} has the name {own} as well")
        by_name[name] = (each._replace(name=name), query)
    queries = {name: query for name, (_, query) in by_name.items()}
    known = {*recordings, *constructed_names(queries)}
    for each, query in by_name.values():
        for stream in streams_read(query):
            if stream not in known:
                raise InputError(
                    f"no recording is given for the stream <{stream}>: add -s {stream}=FILE", file=each.file
                )
    return OrderedQueries([by_name[name] for name in registration_order(queries)], notes)


def replay(session: Session, recordings: Recordings) -> None:
    """Push recorded streams and close every window that has content.

    The stream that is furthest behind goes first, so that little has to wait for the others.
    """
    for iri in session.engine.streams:
        if iri not in recordings.files:
            raise InputError(f"no recording is given for the stream <{iri}>: add -s {iri}=FILE")
    batches = {stream: recordings.batches(session, stream) for stream in recordings.files}
    reached = {stream: session.engine.streams[stream].watermark_ms for stream in recordings.files}
    with catching_up():
        _push_all(session, batches, reached)
        session.finish()


def _push_all(session: Session, batches: dict[str, Iterator[RecordedBatch]], reached: dict[str, int]) -> None:
    while reached:
        stream = min(reached, key=reached.__getitem__)
        batch = next(batches[stream], None)
        if batch is None:
            del reached[stream]
        else:
            _push(session, stream, batch, batches.keys() - reached.keys())
            session.engine.drain()  # recordings come faster than queries with remote data can follow
            reached[stream] = session.engine.streams[stream].watermark_ms


def _push(session: Session, stream: str, batch: RecordedBatch, ended: Set[str]) -> None:
    """Where windows have no room, recordings that have ended hold back no other."""
    try:
        session.push_recorded(stream, *batch)
    except BudgetError:
        if not ended:
            raise
        for each in ended:
            session.advance(each, int(batch.elements.times.min()))
        session.push_recorded(stream, *batch)
