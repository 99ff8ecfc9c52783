"""Streams over HTTP: listed, declared and fed."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.streams.stream import StreamState
from freshet.rdf.errors import BudgetError, InputError
from freshet.rdf.formats import FORMATS
from freshet.rdf.messages import JSON_LINES
from freshet.rdf.patches import PATCH
from freshet.rdf.terms import is_absolute_iri
from freshet.runtime.durable_files import CheckpointError
from freshet.runtime.durable_records import StreamOptions, options_of
from freshet.runtime.durations import setting_ms
from freshet.runtime.push_keys import RepeatedKeyError
from freshet.runtime.session import Session
from freshet.server.bodies import media_type, read_body, reading_deadline, text_of
from freshet.server.logs import log_fields
from freshet.server.problems import Problem
from freshet.server.queries import json_response
from freshet.server.records import RECORD_FORMATS, Posted, RejectedError, check_mapping
from freshet.server.served import Served, served

if TYPE_CHECKING:
    from freshet.mapper.record_mapper import MappedRecords, StreamMapping

TIMED = "application/x-timed-n-triples"
_FORMATS: dict[str, str] = {
    TIMED: "timed",
    "text/plain": "timed",
    **{media: name for name, each in FORMATS.items() for media in each.media_types},
    "application/ld+ndjson": JSON_LINES,
    "application/rdf-patch": PATCH,
}
_LONGEST_KEY = 200
_FIRST_REJECTS = 20  # of a post, in its answer
_SHOWN = 500  # characters of a rejected record
_LOG = logging.getLogger("freshet.server.streams")


async def list_streams(request: Request) -> Response:
    """All streams, with what has come."""
    shared = served(request)
    return json_response({"streams": [describe_stream(shared, state) for state in shared.session.streams()]})


async def get_stream(request: Request) -> Response:
    """One stream."""
    shared = served(request)
    return json_response(describe_stream(shared, find_stream(shared.session, request.path_params["name"])))


async def list_rejects(request: Request) -> Response:
    """The newest posts that could not be read, and the newest records that a pipeline rejected."""
    shared = served(request)
    return json_response(await shared.asking.submit(shared.rejects.json))


async def put_stream(request: Request) -> Response:
    """Declare a stream. The same again changes nothing; another one of this name is refused."""
    shared, given = served(request), request.query_params
    name = request.path_params["name"]
    iri = given.get("iri", name)
    if not is_absolute_iri(iri):
        raise Problem(400, f"'{iri}' is not an absolute IRI: PUT /streams/NAME?iri=IRI, or /streams/IRI")
    if name not in (iri, short_name(iri)):
        raise Problem(400, f"the short name of <{iri}> is {short_name(iri)}")
    options = _options(given)
    mapping = await _mapping(request)
    await shared.wait_for_start()
    is_new = await shared.changing.submit(_declare, shared, iri, options, mapping)
    if is_new:
        _LOG.info("stream declared", extra=log_fields(stream=iri))
    answer = json_response(describe_stream(shared, find_stream(shared.session, iri)), 201 if is_new else 200)
    answer.headers["Location"] = f"/streams/{quote(iri, safe='')}"
    return answer


def _options(given: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"absorb": given.get("absorb", "none")}
    if found["absorb"] not in ("all", "none", "latest"):
        found["absorb"] = given.getlist("absorb")
    for name, option in (("lateness", "lateness_ms"), ("keep", "keep_ms"), ("idle", "idle")):
        if name in given:
            try:
                found[option] = setting_ms(given[name])
            except ValueError as error:
                raise Problem(400, f"{name}: {error}") from None
    if "absorb-keep" in given:
        kind = found["absorb"]
        named = {kind: True} if kind in ("all", "latest") else {"predicates": kind}
        if kind == "none":
            raise Problem(400, "absorb-keep says how long what is absorbed stays, and absorb is none")
        found["absorb"] = {**named, "keep": given["absorb-keep"]}
    for name in ("retracts", "graphs"):
        wanted = given.get(name, "false")
        if wanted not in ("true", "false"):
            raise Problem(400, f"{name} is true or false, not '{wanted}'")
        found[name] = wanted == "true"
    return found


async def _mapping(request: Request) -> StreamMapping | None:
    """The mapping that a stream is declared with: the body, in Turtle."""
    given = request.query_params
    media, charset = media_type(request)
    body = text_of(await read_body(request), charset)
    if not body.strip():
        if "time" in given:
            raise Problem(400, "time is a reference into records, and goes with a mapping as the body")
        return None
    if media != "text/turtle":
        raise Problem(415, f"a stream's mapping is text/turtle, and the Content-Type says {media or 'nothing'}")
    from freshet.mapper.record_mapper import StreamMapping

    return StreamMapping(body, given.get("time", ""), given.get("time-form", "iso"))


def _declare(shared: Served, iri: str, options: dict[str, Any], mapping: StreamMapping | None) -> bool:
    """In a thread: whether it is new."""
    session = shared.session
    known = next((state for state in session.streams() if state.iri == iri), None)
    if mapping is not None:
        if iri in shared.fed_elsewhere:
            raise Problem(409, f"the stream <{iri}> is read from its source: nothing else can enter it")
        check_mapping(mapping)
    if known is None:
        session.stream(iri, **options)
        shared.mappings.declare(iri, mapping)
        return True
    wanted = Session()
    wanted.stream(iri, **options)
    if options_of(wanted.streams()[0], wanted.dictionary) != options_of(known, session.dictionary):
        raise Problem(409, f"the stream <{iri}> is declared otherwise")
    shared.mappings.declare(iri, mapping)
    return False


async def post_stream(request: Request) -> Response:
    """Push elements. They are in the journal when this answers, where there is one."""
    began = time.perf_counter()
    shared, given = served(request), request.query_params
    await shared.wait_for_start()
    state = find_stream(shared.session, request.path_params["name"])
    media, charset = media_type(request)
    form = _FORMATS.get(media)
    if form is None:
        _check_records(shared, state.iri, media)
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= _LONGEST_KEY:
        raise Problem(400, f"an Idempotency-Key has at most {_LONGEST_KEY} characters")
    if state.iri in shared.fed_elsewhere:
        raise Problem(409, f"the stream <{state.iri}> is read from its source: nothing else can enter it")
    body = await read_body(request)
    text_of(body, charset)
    watermark_ms = parse_time(given["watermark"]) if "watermark" in given else None
    if form is None:
        return await _post_records(request, began, state.iri, body, media, key, watermark_ms)
    deadline = reading_deadline(request)
    options: dict[str, Any] = {"key": key, "file": "body", "posted": True, "deadline": deadline}
    if form != "timed":
        options |= {"format": form} | _time(given, request.headers.get("event-time"))
    try:
        count = await shared.changing.submit(_push, shared, began, state.iri, body, options, watermark_ms)
    except RepeatedKeyError as error:
        raise Problem(422, str(error)) from None
    except (BudgetError, CheckpointError):
        raise
    except InputError as error:
        shared.rejects.add(state.iri, error, body)
        shared.records.add(state.iri, 1)
        raise error
    shared.records.add(state.iri, count)
    return json_response({"stream": state.iri, "elements": count, "repeated": key is not None and count == 0})


def _check_records(shared: Served, iri: str, media: str) -> None:
    """Refuse what is neither RDF nor records that the stream has a mapping for."""
    if media not in RECORD_FORMATS:
        known = ", ".join([*_FORMATS, *RECORD_FORMATS])
        raise Problem(415, f"a stream takes {known}, and the Content-Type says {media or 'nothing'}")
    if shared.mappings.get(iri) is None and iri not in shared.fed_elsewhere:
        raise Problem(415, f"the stream <{iri}> has no mapping: PUT declares it with one, for {media}")


async def _post_records(
    request: Request, began: float, iri: str, body: bytes, media: str, key: str | None, watermark_ms: int | None
) -> Response:
    """Map records and push what they make. Those that cannot be mapped are answered with their reasons."""
    shared, given = served(request), request.query_params
    text = given.get("time", request.headers.get("event-time"))
    time_ms, deadline = None if text is None else parse_time(text), reading_deadline(request)

    def push() -> Posted:
        shared.metrics.begin_push(began)
        try:
            arrived_ms = time.time_ns() // 1_000_000
            posted = shared.mappings.push(
                iri, body, media, arrived_ms=arrived_ms, time_ms=time_ms, key=key, deadline=deadline
            )
            if watermark_ms is not None:
                shared.session.advance(iri, watermark_ms)
            return posted
        finally:
            shared.metrics.end_push()

    try:
        posted = await shared.changing.submit(push)
    except RepeatedKeyError as error:
        raise Problem(422, str(error)) from None
    except RejectedError as error:
        shared.records.add(iri, error.mapped.records)
        rejects = _note_rejects(shared, iri, error.mapped)
        raise Problem(422, str(error), records=error.mapped.records, rejected=rejects) from None
    mapped = posted.mapped
    repeated = key is not None and not posted.elements and mapped.records > len(mapped.rejected)
    shared.records.add(iri, 0 if repeated else mapped.records)
    rejects = {"count": 0, "first": []} if repeated else _note_rejects(shared, iri, mapped)
    answer = {"stream": iri, "records": mapped.records, "elements": posted.elements, "repeated": repeated}
    return json_response({**answer, "rejected": rejects})


def _note_rejects(shared: Served, iri: str, mapped: MappedRecords) -> dict[str, Any]:
    """Keep and count rejected records; their number, and the first of them."""
    shared.rejects.add_records(iri, mapped.rejected)
    first = [{"reason": reason, "record": record[:_SHOWN]} for reason, record in mapped.rejected[:_FIRST_REJECTS]]
    return {"count": len(mapped.rejected), "first": first}


def _push(
    shared: Served, began: float, iri: str, body: bytes, options: dict[str, Any], watermark_ms: int | None
) -> int:
    """In a thread: how many elements were pushed. Then the watermark moves, if it is to."""
    shared.metrics.begin_push(began)
    try:
        count = shared.session.push_text(iri, body, **options)
        if watermark_ms is not None:
            shared.session.advance(iri, watermark_ms)
        return count
    finally:
        shared.metrics.end_push()


def _time(given: Any, header: str | None) -> dict[str, Any]:
    """When elements were: at a time, at times that the document says, or now."""
    predicate, text = given.get("time-predicate"), given.get("time", header)
    if predicate is not None:
        if not is_absolute_iri(predicate):
            raise Problem(400, f"time-predicate is an absolute IRI, not '{predicate}'")
        return {"time_predicate": predicate}
    return {"time_ms": time.time_ns() // 1_000_000 if text is None else parse_time(text)}


def parse_time(text: str) -> int:
    """Milliseconds since 1970, or a date and time of ISO 8601, in UTC where it has no zone.

    >>> parse_time("1500"), parse_time("1970-01-01T00:00:02Z"), parse_time("1970-01-01T01:00:00.5+01:00")
    (1500, 2000, 500)
    """
    try:
        if text.lstrip("-").isdigit() and text.isascii():
            return int(text)
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Problem(400, f"a time is in milliseconds, or as 2026-01-31T12:00:00Z, not '{text[:80]}'") from None
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


def find_stream(session: Session, name: str) -> StreamState:
    """A stream by its IRI, or by the last part of it, where no other has the same."""
    states = session.streams()
    found = [state for state in states if state.iri == name] or [
        state for state in states if short_name(state.iri) == name
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise Problem(409, f"several streams are called {name}: {', '.join(state.iri for state in found)}")
    if name in session.engine.names:
        raise Problem(409, f"the stream <{name}> has the answers of the query {name}: nothing else can enter it")
    raise Problem(404, f"there is no stream {name}: PUT declares one")


def short_name(iri: str) -> str:
    """What comes after the last `/`, `#` or `:`.

    >>> short_name("http://example.org/house/temperature"), short_name("urn:x:s")
    ('temperature', 's')
    """
    return max((iri.rpartition(mark)[2] for mark in "/#:"), key=lambda part: -len(part))


def describe_stream(shared: Served, state: StreamState) -> dict[str, Any]:
    """What a client sees of a stream."""
    options = options_of(state, shared.session.dictionary)
    is_begun = state.watermark_ms > BEFORE_ALL_TIME
    return {
        "iri": state.iri,
        "name": short_name(state.iri),
        "records": shared.records.counts()[state.iri],
        "elements": state.elements,
        "late": state.late,
        "rejected": shared.rejects.counts()[state.iri],
        "watermark": state.watermark_ms if is_begun else None,
        "lag": time.time_ns() // 1_000_000 - state.watermark_ms if is_begun else None,
        "lateness": options.lateness_ms,
        "idle": options.idle_ms,
        "absorb": _describe_absorb(options),
        "keep": options.keep_ms,
        "retracts": options.retracts,
        "graphs": options.graphs,
        "mapping": _describe_mapping(shared, state.iri),
    }


def _describe_absorb(options: StreamOptions) -> object:
    if options.absorb is None:
        return "none"
    predicates = list(options.absorb)
    if options.absorb_ms:
        kind = "latest" if options.latest else "predicates" if predicates else "all"
        return {kind: predicates or True, "keep": options.absorb_ms}
    if options.latest:
        return {"latest": predicates} if predicates else "latest"
    return predicates or "all"


def _describe_mapping(shared: Served, iri: str) -> dict[str, Any] | None:
    mapper = shared.mappings.get(iri)
    if mapper is None:
        return None
    takes = [name for name, each in RECORD_FORMATS.items() if each in mapper.formulations]
    return {"takes": takes, "time": mapper.declared.time_reference or None, "text": mapper.declared.text}
