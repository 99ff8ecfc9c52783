"""SPARQL 1.1 Protocol, https://www.w3.org/TR/sparql11-protocol/: queries and updates of the stored data."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp

from freshet.algebra.nodes import Query, QueryForm
from freshet.oneshot.construct import has_graphs
from freshet.rdf.deadline import Deadline, QueryStoppedError
from freshet.rdf.terms import is_absolute_iri
from freshet.results.report import Answer, BooleanAnswer, Solutions
from freshet.results.rows import PIECE_ROWS
from freshet.results.write import write_pieces
from freshet.runtime.query_graphs import check_graphs
from freshet.server.bodies import media_type, read_body, text_of
from freshet.server.description import service_description
from freshet.server.holders import check_size, holder_of, limits_of, subscribe
from freshet.server.negotiation import GRAPHS, QUADS, SOLUTIONS, choose, wants
from freshet.server.problems import Problem
from freshet.server.protocol_request import ProtocolRequest
from freshet.server.quick import LONGEST_SECONDS, shape_of
from freshet.server.served import Served, served
from freshet.server.subscribers import EVENTS
from freshet.server.update import update

QUERY_TYPE, UPDATE_TYPE = "application/sparql-query", "application/sparql-update"
_FORM = "application/x-www-form-urlencoded"
_TABLES = ("text/csv", "text/tab-separated-values")  # of which the specification has none for ASK
_SHORT = 4_000  # characters of parameters that are remembered
Parameters = list[tuple[str, str]]
T = TypeVar("T")


class Written(NamedTuple):
    """The first piece of an answer, and the others, if there are any."""

    first: bytes
    rest: Iterator[bytes] | None
    media_type: str


async def sparql(request: Request) -> ASGIApp:
    """Answer a query, once or, where the client takes events, from now on; or do an update."""
    shared = served(request)
    limits = limits_of(request)
    if request.method in ("GET", "HEAD") and not request.scope["query_string"]:
        media = choose(request.headers.get("accept"), list(GRAPHS))
        description = service_description(str(request.url), media)
        return Response(description, headers={"Content-Type": with_charset(media), "Vary": "Accept"})
    operation = await read_operation(request)
    seconds = min(operation.timeout or math.inf, limits.query_seconds)
    deadline = Deadline(seconds, limits.query_bytes)
    if operation.is_update:
        return await update(request, shared, operation, deadline)
    if prefers_events(request.headers.get("accept")):
        if operation.at is not None:
            raise Problem(400, "a live query is of now: 'at' is for queries that are answered once")
        holder = holder_of(request)

        def wait(future: asyncio.Future[bytes]) -> Awaitable[bytes]:
            return _unless_gone(request, future)

        return await subscribe(request, lambda: shared.live.open(operation, deadline, wait, holder))
    written = await _write_answer(request, shared, operation, deadline)
    headers = {"Content-Type": written.media_type, "Vary": "Accept", "Cache-Control": "no-cache"}
    if written.rest is None:
        check_size(len(written.first), limits.answer_bytes)
        return Response(written.first, headers=headers)
    return StreamingResponse(pieces_of(shared, written, limits.answer_bytes), headers=headers)


async def _write_answer(request: Request, shared: Served, operation: ProtocolRequest, deadline: Deadline) -> Written:
    """The answer: here and now where the query is known to be quick, else from a thread."""
    accept, shape = request.headers.get("accept"), shape_of(operation.text)
    if shared.quick.is_quick(shape):
        try:
            short = Deadline(LONGEST_SECONDS, limits_of(request).query_bytes, time.thread_time)
            return _answer(shared, operation, shape, accept, short)
        except QueryStoppedError:
            shared.quick.note(shape, LONGEST_SECONDS)
    future = shared.asking.submit(_answer, shared, operation, shape, accept, deadline)
    try:
        return await _unless_gone(request, future)
    except BaseException:
        deadline.cancel()
        raise


async def read_operation(request: Request) -> ProtocolRequest:
    """The query of a request, whichever way it is sent (2.1)."""
    sent: bytes = request.scope["query_string"]
    parameters: Parameters = [*(_parameters_again(sent) if len(sent) <= _SHORT else _parameters(sent))]
    texts = [value for name, value in parameters if name == "query"]
    if request.method not in ("GET", "HEAD"):
        media, charset = media_type(request)
        if media not in (_FORM, QUERY_TYPE, UPDATE_TYPE):
            given = media or "nothing"
            raise Problem(415, f"a query is sent as {QUERY_TYPE} or {_FORM}, and the Content-Type says {given}")
        text = text_of(await read_body(request), charset)
        if media == _FORM:
            form = _form(text)
            parameters += form
            texts += [value for name, value in form if name == "query"]
        elif media == QUERY_TYPE:
            texts.append(text)
        else:
            parameters.append(("update", text))
    updates = [value for name, value in parameters if name == "update"]
    if updates and request.method != "POST":
        raise Problem(400, "an update is sent by POST")
    if updates and texts:
        raise Problem(400, "a request has a query or an update, not both")
    kind, found = ("update", updates) if updates else ("query", texts)
    if len(found) != 1:
        raise Problem(400, f"a request has one {kind}, and here are {len(found)}" if found else "the query is missing")
    names = ("using-graph-uri", "using-named-graph-uri") if updates else ("default-graph-uri", "named-graph-uri")
    default_graphs, named_graphs = (_graphs(parameters, name) for name in names)
    times = [value for name, value in parameters if name == "at"]
    if times and updates:
        raise Problem(400, "an update is of now: 'at' is for queries")
    at = times[-1] if times else None
    return ProtocolRequest(found[0], default_graphs, named_graphs, _timeout(parameters), bool(updates), at)


def _parameters(sent: bytes) -> Parameters:
    return parse_qsl(sent.decode("latin-1"), keep_blank_values=True)


_parameters_again = lru_cache(512)(_parameters)  # clients send the same ones again and again


def _form(text: str) -> Parameters:
    try:
        return parse_qsl(text, keep_blank_values=True, errors="strict")
    except ValueError:
        raise Problem(400, "the form is not UTF-8, percent-encoded") from None


def _graphs(parameters: Parameters, wanted: str) -> tuple[str, ...]:
    found = tuple(value for name, value in parameters if name == wanted)
    for iri in found:
        if not is_absolute_iri(iri):
            raise Problem(400, f"{wanted} is an absolute IRI, not '{iri}'")
    return found


def _timeout(parameters: Parameters) -> float | None:
    found = [value for name, value in parameters if name == "timeout"]
    if not found:
        return None
    try:
        seconds = float(found[-1])
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise Problem(400, f"timeout is a number of seconds above 0, not '{found[-1]}'")
    return seconds


def _answer(
    shared: Served, operation: ProtocolRequest, shape: str | None, accept: str | None, deadline: Deadline
) -> Written:
    """The answer, written as the client wants it; how long that takes is noted for the shape of the query."""
    session = shared.session
    with deadline.running():
        query = shared.prepare(operation.text, operation.default_graphs, operation.named_graphs)
    if operation.at is None and not operation.default_graphs and not operation.named_graphs:
        check_graphs(session, query, operation.text)
    formats = formats_of(query)
    media = choose(accept, list(formats))
    began = time.thread_time()
    answer = session.query(query, deadline=deadline, at=operation.at)
    written = written_pieces(answer, write_pieces(answer, session.dictionary, formats[media]), with_charset(media))
    seconds = time.thread_time() - began
    shared.quick.note(shape, seconds if written.rest is None else LONGEST_SECONDS)
    return written


def written_pieces(answer: Answer, pieces: Iterator[bytes], media: str) -> Written:
    """A short answer whole, a long one as it is sent."""
    if _is_short(answer):
        return Written(b"".join(pieces), None, media)
    return Written(next(pieces), pieces, media)


def formats_of(query: Query) -> dict[str, str]:
    """The media types that the answer of a query can be sent as, and what writers call them."""
    form = query.form
    if form in (QueryForm.CONSTRUCT, QueryForm.DESCRIBE):
        return QUADS if has_graphs(query.template) else {**GRAPHS, **QUADS}
    return {media: name for media, name in SOLUTIONS.items() if form is QueryForm.SELECT or media not in _TABLES}


def prefers_events(accept: str | None) -> bool:
    """Whether a client names server-sent events, and nothing else that it wants more.

    >>> prefers_events("text/event-stream"), prefers_events("*/*"), prefers_events("text/csv, text/event-stream;q=0.5")
    (True, False, False)
    """
    return wants(accept, EVENTS) and choose(accept, [EVENTS, *SOLUTIONS, *GRAPHS]) == EVENTS


def with_charset(media: str) -> str:
    """A media type as the header says it: text has a charset, and the others are UTF-8 by definition."""
    return f"{media}; charset=utf-8" if media.startswith("text/") else media


def _is_short(answer: Answer) -> bool:
    if isinstance(answer, BooleanAnswer):
        return True
    return len(answer.rows if isinstance(answer, Solutions) else answer.subjects) <= PIECE_ROWS


async def _unless_gone(request: Request, future: asyncio.Future[T]) -> T:
    """What a thread finds, unless the client hangs up first."""
    gone = asyncio.ensure_future(disconnected(request))
    try:
        await asyncio.wait((future, gone), return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            raise Problem(400, "the client has closed the connection")
        return future.result()
    finally:
        gone.cancel()


async def disconnected(request: Request) -> None:
    """Wait until the client has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def pieces_of(shared: Served, written: Written, most_bytes: int) -> AsyncIterator[bytes]:
    """The pieces of a long answer, each written in a thread when the one before is sent."""
    size, piece, rest = 0, written.first, written.rest
    while piece:
        size += len(piece)
        check_size(size, most_bytes)  # if it has begun, the connection is cut
        yield piece
        assert rest is not None
        piece = await shared.asking.submit(next, rest, b"")
