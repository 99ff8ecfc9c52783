"""The paths of the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from freshet.server.editing import explain, vocabulary
from freshet.server.graphs import delete_graph, get_graph, post_graph, put_graph
from freshet.server.metrics import health, metrics
from freshet.server.page import page
from freshet.server.problems import Problem
from freshet.server.queries import answers, delete_query, get_query, list_queries, plan, put_query
from freshet.server.requests import Requests
from freshet.server.security import Security, check_right
from freshet.server.served import Served
from freshet.server.sparql import sparql
from freshet.server.streams import get_stream, list_rejects, list_streams, post_stream, put_stream
from freshet.server.why import why

Handler = Callable[[Request], Awaitable[ASGIApp]]
Methods = dict[str, tuple[str | None, Handler]]
_SHORT = 1024  # bytes of an answer that is not compressed

_GRAPHS: Methods = {
    "GET": ("ask", get_graph),
    "POST": ("feed", post_graph),
    "PUT": ("feed", put_graph),
    "DELETE": ("admin", delete_graph),
}


def make_app(shared: Served) -> ASGIApp:
    """The application of a session."""
    routes = [
        *_resource("/sparql", {"GET": ("ask", sparql), "POST": ("ask", sparql), "QUERY": ("ask", sparql)}, gzip=True),
        *_resource("/graphs", _GRAPHS, gzip=True),
        *_resource("/graphs/{name:path}", _GRAPHS, gzip=True),
        *_resource("/queries", {"GET": ("ask", list_queries)}),
        *_resource("/queries/{name:path}/answers", {"GET": ("ask", answers)}),
        *_resource("/queries/{name:path}/plan", {"GET": ("ask", plan)}),
        *_resource("/queries/{name:path}/why", {"GET": ("ask", why)}, gzip=True),
        *_resource(
            "/queries/{name:path}",
            {"GET": ("ask", get_query), "PUT": ("register", put_query), "DELETE": ("register", delete_query)},
        ),
        *_resource("/streams", {"GET": ("ask", list_streams)}),
        *_resource(
            "/streams/{name:path}",
            {"GET": ("ask", get_stream), "PUT": ("register", put_stream), "POST": ("feed", post_stream)},
        ),
        *_resource("/health", {"GET": (None, health)}),
        *_resource("/metrics", {"GET": ("admin", metrics)}),
        *_resource("/sparql/", {"GET": ("ask", sparql), "POST": ("ask", sparql), "QUERY": ("ask", sparql)}, gzip=True),
        *_resource("/rejects", {"GET": ("ask", list_rejects)}),
        *_resource("/explain", {"POST": ("ask", explain)}),
        *_resource("/vocabulary", {"GET": ("ask", vocabulary)}),
        *_resource("/", {"GET": (None, page)}, gzip=True),
        *_resource("/page/{file}", {"GET": (None, page)}, gzip=True),
    ]
    router = Router(routes, redirect_slashes=False, default=_no_such_path)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["freshet.served"] = shared
        await router(scope, receive, send)

    return Requests(Security(app, shared.settings), shared.metrics)


def _resource(path: str, methods: Methods, *, gzip: bool = False) -> list[Route]:
    """The routes of a path: what each method needs the right for, and does."""
    allowed = ", ".join([*methods, "HEAD", "OPTIONS"] if "GET" in methods else [*methods, "OPTIONS"])

    async def handle(request: Request) -> ASGIApp:
        request.scope["freshet.path"] = path
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": allowed})
        if method not in methods:
            raise Problem(405, f"{request.method} is not possible here: {allowed}", {"Allow": allowed})
        right, handler = methods[method]
        if right is not None:
            check_right(request.scope, right)
        return await handler(request)

    return [Route(path, _AnyMethod(handle, gzip=gzip))]


class _AnyMethod:
    """A handler for all methods: Starlette would refuse those that are not listed with a body of its own."""

    def __init__(self, handler: Handler, *, gzip: bool) -> None:
        self._handler = handler
        self._gzip = gzip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._handler(Request(scope, receive, send))
        if self._gzip and not _is_short(response):
            response = GZipMiddleware(response, minimum_size=_SHORT, compresslevel=1)
        await response(scope, receive, send)


def _is_short(response: ASGIApp) -> bool:
    body = getattr(response, "body", None)  # none where it is made while it is sent
    return body is not None and len(body) < _SHORT


async def _no_such_path(scope: Scope, receive: Receive, send: Send) -> None:
    raise Problem(404, f"there is nothing at {scope['path']}")
