"""Recorded streams through a session, in event time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from freshet.native.service.watermark_log import catching_up
from freshet.rdf.elements import Elements
from freshet.rdf.errors import BudgetError, InputError
from freshet.rdf.ntriples import scan_timed
from freshet.runtime.query_order import constructed_names, registration_order, streams_read
from freshet.runtime.session import Session
from freshet.syntax.parser import parse_query

# Large enough that a call a chunk costs nothing, small enough that memory does not follow the input.
_CHUNK_BYTES = 8 << 20


class QueryFile(NamedTuple):
    """A query to replay streams for; its text may give it another name."""

    text: str
    name: str
    file: str


def queries_in_order(
    files: Sequence[QueryFile], recordings: Collection[str], dialect: str | None = None
) -> list[QueryFile]:
    """The queries, each after those whose answers it reads; every other stream that they read has a recording."""
    parsed = [parse_query(each.text, file=each.file, dialect=dialect) for each in files]
    for each, query in zip(files, parsed, strict=True):
        if not query.windows:  # a live query changes with each push, and how a recording is cut into these is open
            name = query.name or each.name
            raise InputError(f"the query {name} has no window, so it is not continuous", file=each.file)
    by_name = {query.name or each.name: (each, query) for each, query in zip(files, parsed, strict=True)}
    if len(by_name) < len(files):
        return list(files)  # registration says which name is there twice
    queries = {name: query for name, (_, query) in by_name.items()}
    known = {*recordings, *constructed_names(queries)}
    for each, query in by_name.values():
        for stream in streams_read(query):
            if stream not in known:
                raise InputError(
                    f"no recording is given for the stream <{stream}>: add -s {stream}=FILE", file=each.file
                )
    return [by_name[name][0] for name in registration_order(queries)]


def replay(session: Session, recordings: dict[str, list[Path]]) -> None:
    """Push recorded streams (timed N-Triples) and close every window that has content.

    The stream that is furthest behind goes first, so that little has to wait for the others.
    """
    for iri in session.engine.streams:
        if iri not in recordings:
            raise InputError(f"no recording is given for the stream <{iri}>: add -s {iri}=FILE")
    batches = {stream: _batches(session, stream, files) for stream, files in recordings.items()}
    reached = {stream: session.engine.streams[stream].watermark_ms for stream in recordings}
    with catching_up():
        _push_all(session, batches, reached)
        session.finish()


def _push_all(session: Session, batches: dict[str, Iterator[Elements]], reached: dict[str, int]) -> None:
    while reached:
        stream = min(reached, key=reached.__getitem__)
        elements = next(batches[stream], None)
        if elements is None:
            del reached[stream]
        else:
            _push(session, stream, elements, batches.keys() - reached.keys())
            session.engine.drain()  # recordings come faster than queries with remote data can follow
            reached[stream] = session.engine.streams[stream].watermark_ms


def _push(session: Session, stream: str, elements: Elements, ended: Set[str]) -> None:
    """Where windows have no room, recordings that have ended hold back no other."""
    try:
        session.push(stream, elements)
    except BudgetError:
        if not ended:
            raise
        for each in ended:
            session.advance(each, int(elements.times.min()))
        session.push(stream, elements)


def _batches(session: Session, stream: str, files: list[Path]) -> Iterator[Elements]:
    for file in files:
        first_line = 1
        for chunk in _chunks(file):
            scope = session.blank_scope(stream)
            elements, errors = scan_timed(
                chunk, session.dictionary, str(file), blank_scope=scope, first_line=first_line
            )
            if errors:
                raise errors[0]
            first_line += chunk.count(b"\n")
            yield elements


def _chunks(file: Path) -> Iterator[bytes]:
    """The bytes of a file in pieces that end where lines do."""
    try:
        with file.open("rb") as source:
            while piece := source.read(_CHUNK_BYTES):
                yield piece if piece.endswith(b"\n") else piece + source.readline()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from error
