"""Who sends a request: the holder of a token, with its rights, its limits and what it has of the server now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from freshet.server.problems import Problem
from freshet.server.settings import Limits, Token


@dataclass(slots=True)
class Holder:
    """`rights` are None, and so all, where no tokens are set. Queries and subscribers count since the start."""

    rights: frozenset[str] | None
    limits: Limits
    most_queries: int | None = None
    most_subscribers: int | None = None
    queries: set[str] = field(default_factory=set)
    subscribers: int = 0

    def check_queries(self, names: Collection[str]) -> None:
        """Refuse another query; `names` are those that are there."""
        self.queries.intersection_update(names)
        if self.most_queries is not None and len(self.queries) >= self.most_queries:
            raise Problem(429, f"a token of yours may have {self.most_queries:,} queries: remove one first")

    def enter(self) -> None:
        """Count a subscriber, or refuse it."""
        if self.most_subscribers is not None and self.subscribers >= self.most_subscribers:
            raise Problem(429, f"a token of yours may have {self.most_subscribers:,} subscribers")
        self.subscribers += 1

    def leave(self) -> None:
        self.subscribers -= 1


def make_holder(token: Token, limits: Limits) -> Holder:
    """The holder of a token: the server's limits hold as well."""
    own = token.limits
    less = {name: min(getattr(limits, name), value) for name, value in own.of_requests().items()}
    return Holder(token.rights, replace(limits, **less), own.queries, own.subscribers)


def holder_of(request: Request) -> Holder:
    """Who sends a request."""
    found: Holder = request.scope["freshet.holder"]
    return found


def limits_of(request: Request) -> Limits:
    """What a request may take."""
    return holder_of(request).limits


def check_size(size: int, most_bytes: int) -> None:
    """Refuse an answer that is too long."""
    if size > most_bytes:
        raise Problem(403, f"an answer has at most {most_bytes:,} bytes: ask for less, with LIMIT")


async def subscribe(request: Request, open_response: Callable[[], Awaitable[ASGIApp]]) -> ASGIApp:
    """A response that lasts, counted as long as it does."""
    holder = holder_of(request)
    holder.enter()
    try:
        return _Counted(await open_response(), holder)
    except BaseException:
        holder.leave()
        raise


class _Counted:
    def __init__(self, response: ASGIApp, holder: Holder) -> None:
        self._response = response
        self._holder = holder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._response(scope, receive, send)
        finally:
            self._holder.leave()
