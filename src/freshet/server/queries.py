"""Standing queries: registered, listed, explained and removed over HTTP, and subscribed to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson
import pyoxigraph
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from freshet.rdf.deadline import Deadline
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.terms import Iri, Term, is_absolute_iri, term_from_key
from freshet.runtime.durations import setting_ms
from freshet.runtime.query_graphs import check_graphs
from freshet.runtime.registered_query import RegisteredQuery
from freshet.runtime.report_log import ReportLog, ReportsGoneError
from freshet.runtime.session import Session
from freshet.server.bodies import media_type, read_body, text_of
from freshet.server.holders import Holder, holder_of, subscribe
from freshet.server.logs import log_fields
from freshet.server.negotiation import choose
from freshet.server.problems import Problem
from freshet.server.served import Served, served
from freshet.server.subscribers import EVENTS, LINES, Subscribers, Subscription
from freshet.syntax.parser import parse_query

if TYPE_CHECKING:
    from freshet.runtime.definitions import QueryDefinition

_LOG = logging.getLogger("freshet.server.queries")
_LONGEST_NEWEST = 20_000  # bytes
_OWN = {"after", "limit", "newest", "access_token"}  # parameters of `answers` that are not those of a query


class StandingQueries:
    """The queries of a server: their subscribers, and those that live only as long as they have some."""

    def __init__(self, shared: Served) -> None:
        self._shared = shared
        self.session = shared.session
        self.log = self.session.report_log or self.session.keep_reports(shared.settings.limits.kept_bytes)
        self.subscribers = Subscribers(self.log, shared.settings.limits, self._on_last_unsubscribed)
        self._changing = asyncio.Lock()  # of bound queries
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Bound queries of before a restart wait for their subscribers to come back."""
        self._loop = loop
        self.subscribers.start(loop, self._shared.metrics.note_reports)
        for query in self.session.queries():
            self._on_last_unsubscribed(query.name)

    def stop(self) -> None:
        self._loop = None
        self.subscribers.stop("the server stops; come back with the id of the last report")

    def definition_of(self, name: str) -> QueryDefinition | None:
        """The definition that a query is bound from, if it is."""
        return self.session.definitions.get(name.partition("?")[0]) if "?" in name else None

    async def bind(self, name: str, bindings: Mapping[str, Term], holder: Holder) -> str:
        """Have a query answered for values of its parameters; gives its name."""
        bound = self.session.definitions[name].bound_name(bindings)
        async with self._changing:
            if bound not in self.session.engine.names:
                check_room(self._shared, holder)
                most = holder.limits
                bind = partial(self.session.bind, limit_seconds=most.query_seconds, limit_bytes=most.query_bytes)
                await self._shared.changing.submit(bind, name, bindings)
                holder.queries.add(bound)
        return bound

    def _on_last_unsubscribed(self, name: str) -> None:
        """The last subscriber of a query has gone: a bound one is kept for a while, in case it comes back."""
        if self._shared.live.drop_unsubscribed(name):
            return
        if self._loop is not None and self.definition_of(name) is not None:
            self._loop.call_later(self._shared.settings.limits.linger_seconds, self._drop_soon, name)

    def _drop_soon(self, name: str) -> None:
        if self._loop is not None:
            self._dropping = self._loop.create_task(self._drop(name))

    async def _drop(self, name: str) -> None:
        async with self._changing:
            if not self.subscribers.of(name) and name in self.session.engine.names:
                await self._shared.changing.submit(self.session.unregister, name)


def check_room(shared: Served, holder: Holder) -> None:
    """Refuse a query where there are too many, in all or of one holder."""
    holder.check_queries({*shared.session.engine.names, *shared.session.definitions})
    most = shared.settings.limits.queries
    if len(shared.session.engine.names) + len(shared.session.definitions) >= most:
        raise Problem(429, f"{most:,} queries are registered: remove some first")


async def list_queries(request: Request) -> Response:
    """All queries, without those that are bound from one with parameters."""
    shared = served(request)
    standing = shared.standing
    names = [query for query in shared.session.queries() if standing.definition_of(query.name) is None]
    found = [describe_query(shared, query) for query in names]
    found += [describe_definition(shared, each) for each in shared.session.definitions.values()]
    found += [
        {"name": failure.query, "state": "failed", "reason": failure.reason}
        for failure in shared.session.failures
        if failure.query not in shared.session.engine.names
    ]
    return json_response({"queries": found})


async def get_query(request: Request) -> Response:
    """One query, with its state."""
    shared, name = served(request), request.path_params["name"]
    await _wait_if_unknown(shared, name)
    if definition := shared.session.definitions.get(name):
        return json_response(describe_definition(shared, definition))
    return json_response(describe_query(shared, find_query(shared.session, name)))


async def _wait_if_unknown(shared: Served, name: str) -> None:
    session = shared.session
    if name not in session.definitions and name not in session.engine.names:
        await shared.wait_for_start()


async def put_query(request: Request) -> Response:
    """Register a query. The same again changes nothing; another one under the name is refused."""
    shared, name = served(request), request.path_params["name"]
    text = text_of(await read_body(request), media_type(request)[1])
    options = _options(request)
    parameters = tuple(each for each in request.query_params.get("parameters", "").split(",") if each)
    dialect = request.query_params.get("dialect")
    await shared.wait_for_start()
    holder = holder_of(request)
    created = await shared.changing.submit(_register, shared, holder, name, text, dialect, parameters, options)
    if created:
        holder.queries.add(name)
        _LOG.info("query registered", extra=log_fields(query=name))
    answer = await get_query(request)
    answer.headers["Location"] = f"/queries/{quote(name, safe='')}"
    answer.status_code = 201 if created else 200
    return answer


def _register(
    shared: Served,
    holder: Holder,
    name: str,
    text: str,
    dialect: str | None,
    parameters: tuple[str, ...],
    options: dict[str, Any],
) -> bool:
    """In a thread: whether it is new."""
    session = shared.session
    with Deadline(holder.limits.query_seconds).running():
        parsed = parse_query(text, dialect=dialect)
    own = parsed.name
    if not parsed.windows:
        raise Problem(
            400,
            "the query has no window: a live query is sent to /sparql, with Accept: text/event-stream, and has no name",
        )
    if own is not None and own != name:
        raise Problem(400, f"the query calls itself {own}: PUT it to /queries/{quote(own, safe='')}")
    known = session.definitions.get(name)
    if known is not None or name in session.engine.names:
        words = known.text if known is not None else session.registered(name).text
        if words == text and (known is None or known.parameters == parameters):
            return False
        raise Problem(409, f"a query named {name} is registered with other words: DELETE it first")
    check_room(shared, holder)
    check_graphs(session, parsed, text)
    if parameters:
        session.define(name, text, parameters, dialect=dialect)
    else:
        session.register(
            text,
            name=name,
            dialect=dialect,
            measure=True,
            limit_seconds=holder.limits.query_seconds,
            limit_bytes=holder.limits.query_bytes,
            **options,
        )
    return True


def _options(request: Request) -> dict[str, Any]:
    """What the query of a URL says about a registration."""
    given = request.query_params
    found: dict[str, Any] = {}
    if given.getlist("report"):
        found["report"] = given.getlist("report")
    for name, option in (("every", "every_ms"), ("latency", "latency_ms")):
        if name in given:
            try:
                found[option] = setting_ms(given[name])
            except ValueError as error:
                raise Problem(400, f"{name}: {error}") from None
    if "since" in given:
        found["since"] = int(given["since"]) if given["since"].lstrip("-").isdigit() else given["since"]
    if "accuracy" in given:
        try:
            found["accuracy"] = float(given["accuracy"])
        except ValueError:
            raise Problem(400, f"accuracy is a number, not '{given['accuracy']}'") from None
    return found


async def delete_query(request: Request) -> Response:
    """Remove a query, and notify its subscribers."""
    shared, name = served(request), request.path_params["name"]
    session = shared.session
    await shared.wait_for_start()
    try:
        if name in session.definitions:
            await shared.changing.submit(session.undefine, name)
        else:
            find_query(session, name)
            await shared.changing.submit(session.unregister, name)
    except InputError as error:
        raise Problem(409, str(error)) from None
    _LOG.info("query removed", extra=log_fields(query=name))
    return Response(status_code=204)


async def plan(request: Request) -> Response:
    """How a query is kept answered, with what each operator has done since it was registered here."""
    shared, name = served(request), request.path_params["name"]
    media = choose(request.headers.get("accept"), ["application/json", "text/plain"])
    await _wait_if_unknown(shared, name)
    if definition := shared.session.definitions.get(name):
        explained = await shared.asking.submit(
            lambda: shared.session.explain(definition.text, dialect=definition.dialect)
        )
    else:
        explained = find_query(shared.session, name).explain()
    if media == "text/plain":
        return Response(f"{explained.text()}\n", media_type="text/plain; charset=utf-8")
    return json_response(explained.json())


async def answers(request: Request) -> ASGIApp:
    """The reports of a query from now on, or after an id."""
    return await subscribe(request, lambda: _subscription(request))


async def _subscription(request: Request) -> Subscription:
    shared, name = served(request), request.path_params["name"]
    media = choose(request.headers.get("accept"), [EVENTS, LINES])
    given = request.query_params
    after = given.get("after") or request.headers.get("last-event-id")
    limit, newest = _count(given, "limit"), _count(given, "newest")
    standing = shared.standing
    await _wait_if_unknown(shared, name)
    if name in shared.session.definitions:
        await shared.wait_for_start()
        bindings = {key: parse_term(value) for key, value in given.items() if key not in _OWN}
        name = await standing.bind(name, bindings, holder_of(request))
    else:
        find_query(shared.session, name)
    try:
        subscriber = standing.subscribers.add(name, media, after, limit, newest or 0)
    except ReportsGoneError as error:
        raise Problem(410, str(error)) from None
    return Subscription(standing.subscribers, subscriber)


def _count(given: Mapping[str, str], name: str) -> int | None:
    """A number of reports that a URL gives."""
    text = given.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise Problem(400, f"{name} is a number of reports above 0, not '{text}'")
    return int(text)


def parse_term(text: str) -> Term:
    """A value of a parameter: an absolute IRI, or a term as Turtle writes it.

    >>> str(parse_term("http://e/a")), str(parse_term('"x"@en')), parse_term("7").lexical
    ('<http://e/a>', '"x"@en', '7')
    """
    if is_absolute_iri(text):
        return Iri(text)
    try:
        found = list(pyoxigraph.parse(f"<urn:s> <urn:p> {text} .", pyoxigraph.RdfFormat.TURTLE))
        [only] = found
        if isinstance(only.object, pyoxigraph.BlankNode):
            raise ValueError
        return term_from_key(parsed_key(only.object, ""))
    except (SyntaxError, ValueError):
        raise Problem(400, f"'{text[:80]}' is neither an absolute IRI nor a term as Turtle writes it") from None


def describe_query(shared: Served, query: RegisteredQuery) -> dict[str, Any]:
    """What a client sees of a query."""
    standing = shared.standing
    path = f"/queries/{quote(query.name, safe='')}"
    return {
        "name": query.name,
        "state": "running",
        "text": query.text,
        "variables": query.variables,
        "last": standing.log.last_id(query.name),
        "newest": _newest(standing.log, query.name),
        "subscribers": standing.subscribers.of(query.name),
        "answers": f"{path}/answers",
        "plan": f"{path}/plan",
        "why": f"{path}/why",
    }


def _newest(log: ReportLog, name: str) -> orjson.Fragment | None:
    """The newest report, where it is short enough for a list."""
    lines = [line for reports in log.newest(name, 1) for line in reports.lines]
    return orjson.Fragment(lines[0]) if lines and len(lines[0]) <= _LONGEST_NEWEST else None


def describe_definition(shared: Served, definition: QueryDefinition) -> dict[str, Any]:
    """What a client sees of a query with parameters."""
    bound = [name for name in shared.session.engine.names if definition.is_bound(name)]
    path = f"/queries/{quote(definition.name, safe='')}"
    return {
        "name": definition.name,
        "state": "running",
        "text": definition.text,
        "parameters": definition.parameters,
        "bound": len(bound),
        "subscribers": sum(map(shared.standing.subscribers.of, bound)),
        "answers": f"{path}/answers",
        "plan": f"{path}/plan",
        "why": f"{path}/why",
    }


def find_query(session: Session, name: str) -> RegisteredQuery:
    try:
        return session.registered(name)
    except FreshetError:
        failed = [failure.reason for failure in session.failures if failure.query == name]
        reason = f"the query {name} failed: {failed[-1]}" if failed else f"there is no query named {name}"
        raise Problem(404, reason) from None


def json_response(content: Any, status: int = 200) -> Response:
    return Response(
        orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE),
        status,
        {"Cache-Control": "no-store"},
        "application/json",
    )
