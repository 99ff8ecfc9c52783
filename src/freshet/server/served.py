"""What the handlers of one server share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request

from freshet.algebra.nodes import Query
from freshet.runtime.session import Session
from freshet.server.quick import QuickQueries
from freshet.server.record_counts import RecordCounts
from freshet.server.records import StreamMappings
from freshet.server.rejects import Rejects
from freshet.server.settings import ServerSettings
from freshet.server.workers import Workers

if TYPE_CHECKING:
    from freshet.server.live import LiveClients
    from freshet.server.metrics import Metrics
    from freshet.server.queries import StandingQueries

_PREPARED = 512
_MOST_PREPARED = 10_000  # characters


@dataclass(slots=True)
class Served:
    """A session behind HTTP."""

    session: Session
    settings: ServerSettings
    asking: Workers  # threads of one-shot queries
    changing: Workers  # threads of what changes the session
    prepare: Callable[[str, tuple[str, ...], tuple[str, ...]], Query]  # a query with its default and named graphs

    mappings: StreamMappings = field(init=False)
    fed_elsewhere: frozenset[str] = frozenset()  # streams of a pipeline
    quick: QuickQueries = field(default_factory=QuickQueries)
    rejects: Rejects = field(default_factory=Rejects)
    records: RecordCounts = field(default_factory=RecordCounts)
    standing: StandingQueries = field(init=False)
    live: LiveClients = field(init=False)
    metrics: Metrics = field(init=False)
    end: Callable[[], None] = lambda: None  # stops the server, from any thread
    graph_changes: asyncio.Lock = field(default_factory=asyncio.Lock)
    started: Future[None] | None = None  # of a pipeline that is being started

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """The server answers requests from now on."""
        self.live.start(loop)
        self.standing.start(loop)

    async def wait_for_start(self) -> None:
        """A pipeline that is being started has not yet taken up what clients registered before a restart."""
        if self.started is not None and not (self.started.done() and self.started.exception() is None):
            await asyncio.shield(asyncio.wrap_future(self.started))

    def stop(self) -> None:
        """The server answers no further requests."""
        self.standing.stop()

    def close(self) -> None:
        self.asking.close()
        self.changing.close()


def serve_session(session: Session, settings: ServerSettings, folder: Path | None = None) -> Served:
    """What handlers need of a session, or of a pipeline, whose checkpoint is in a folder."""
    from freshet.server.live import LiveClients
    from freshet.server.metrics import Metrics
    from freshet.server.queries import StandingQueries

    limits = settings.limits
    shared = Served(
        session,
        settings,
        Workers(limits.threads, limits.waiting, "ask"),
        Workers(2, limits.waiting, "change"),
        _preparing(session),
    )
    shared.mappings = StreamMappings(session, folder or session.folder)
    shared.standing = StandingQueries(shared)
    shared.live = LiveClients(shared)
    shared.metrics = Metrics(shared)
    return shared


def _preparing(session: Session) -> Callable[[str, tuple[str, ...], tuple[str, ...]], Query]:
    """Keeps the newest short queries parsed: clients send the same ones again and again."""

    def prepare(text: str, default_graphs: tuple[str, ...], named_graphs: tuple[str, ...]) -> Query:
        return session.prepare(text, default_graphs=default_graphs, named_graphs=named_graphs)

    kept = lru_cache(_PREPARED)(prepare)
    return lambda text, *graphs: (kept if len(text) <= _MOST_PREPARED else prepare)(text, *graphs)


def served(request: Request) -> Served:
    """What the server of a request shares."""
    found: Served = request.scope["freshet.served"]
    return found
