"""Who may do what: the Host, the Origin and the token of a request, before anything else is looked at."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from freshet.server.holders import Holder, make_holder
from freshet.server.problems import Problem, problem_of
from freshet.server.settings import ServerSettings

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_SAFE = {"GET", "HEAD", "OPTIONS"}
_METHODS = "GET, HEAD, POST, QUERY, PUT, DELETE, OPTIONS"
_EXPOSED = "Location, Retry-After"
ADDING, DELETING = "feed", "admin"  # the rights to change stored graphs


class Security:
    """Checks requests on their way in, and says on their way out which pages may read the answer (CORS).

    A page of another site cannot reach this server through a name that it makes up (DNS rebinding: the Host is
    checked), nor have a visitor's browser change anything (the Origin is checked), nor read what it is not allowed to.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings
        self._tokens = [(_digest(token.secret), make_holder(token, settings.limits)) for token in settings.tokens]
        self._hosts = {each.lower() for each in settings.hosts}
        if settings.is_loopback:
            self._hosts |= _LOOPBACK | {settings.host}
        anybody = None if not settings.tokens else frozenset[str]()
        self._anybody = Holder(anybody, settings.limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        shared = self._cors(headers)
        is_begun = False

        async def send_shared(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                message["headers"] = [*message["headers"], *shared]
            await send(message)

        try:
            self._check_host(headers)
            self._check_origin(scope["method"], headers)
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                await _preflight(headers, scope, receive, send_shared)
                return
            scope["freshet.holder"] = self._holder(headers)
            await self._app(scope, receive, send_shared)
        except Exception as error:
            if is_begun:
                raise  # the connection is cut, so that no client takes what was sent for all of it
            await problem_of(error).response()(scope, receive, send_shared)

    def _check_host(self, headers: Headers) -> None:
        given = headers.getlist("host")
        if len(given) > 1:
            raise Problem(400, "a request has one Host")
        name = _host_name("".join(given))
        if self._hosts and name not in self._hosts:
            raise Problem(421, f"this server is not called '{name}' (--host NAME allows a name)")

    def _check_origin(self, method: str, headers: Headers) -> None:
        origin = headers.get("origin")
        if method not in _SAFE and origin is not None and not self._is_allowed(origin, headers):
            raise Problem(403, f"pages of {origin} may not send this (--origin allows them)")

    def _is_allowed(self, origin: str, headers: Headers) -> bool:
        if origin in self._settings.origins or "*" in self._settings.origins:
            return True
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == headers.get("host", "").lower()

    def _cors(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        origin = headers.get("origin")
        if origin is None or not self._is_allowed(origin, headers):
            return []
        found = {"access-control-allow-origin": origin, "access-control-expose-headers": _EXPOSED, "vary": "Origin"}
        return [(name.encode(), value.encode("latin-1")) for name, value in found.items()]

    def _holder(self, headers: Headers) -> Holder:
        """The holder of the token that a request has, or anybody."""
        if not self._tokens:
            return self._anybody
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        given = _digest(secret.strip()) if scheme.lower() == "bearer" else b""
        found = self._anybody
        for digest, holder in self._tokens:  # all of them, so that the time says nothing
            if hmac.compare_digest(digest, given):
                found = holder
        return found


def has_right(scope: Scope, right: str) -> bool:
    """Whether the token of a request gives a right."""
    rights: frozenset[str] | None = scope["freshet.holder"].rights
    return rights is None or right in rights


def check_right(scope: Scope, right: str) -> None:
    """Refuse a request whose token does not give a right."""
    if has_right(scope, right):
        return
    if not scope["freshet.holder"].rights:
        raise Problem(401, "a token is needed: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"})
    raise Problem(403, f"the token does not give the right '{right}'")


async def _preflight(headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
    allowed = {
        "access-control-allow-methods": _METHODS,
        "access-control-allow-headers": headers.get("access-control-request-headers", "Content-Type, Accept"),
        "access-control-max-age": "600",
    }
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in allowed.items()]
    await send({"type": "http.response.start", "status": 204, "headers": encoded})
    await send({"type": "http.response.body", "body": b""})


def _host_name(host: str) -> str:
    """The name in a Host header, without its port.

    >>> _host_name("LocalHost:7022"), _host_name("[::1]:7022"), _host_name("[::1]")
    ('localhost', '::1', '::1')
    """
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if ":" in name else name


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
