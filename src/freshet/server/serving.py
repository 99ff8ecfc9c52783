"""Runs a server until a signal stops it."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from freshet.rdf.errors import InputError
from freshet.server.app import make_app
from freshet.server.connection import connection_class
from freshet.server.served import Served
from freshet.server.settings import ServerSettings

_BACKLOG = 4096
_STOP_SECONDS = 5  # until requests that are still being answered are cut off
_SWITCH_SECONDS = 0.001  # for which a thread may keep the event loop waiting
_UNREAD_MS = 60_000  # after which the system cuts off a client that reads nothing


def serve(shared: Served, on_start: Callable[[str], None]) -> None:
    """Answer requests until SIGINT or SIGTERM; `on_start` gets the address."""
    settings = shared.settings
    settings.check()
    sys.setswitchinterval(_SWITCH_SECONDS)
    listening = _listen(settings)
    host, port = listening.getsockname()[:2]
    scheme = "http" if settings.certificate is None else "https"
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        make_app(shared),
        http=connection_class(settings.limits),
        ws="none",
        lifespan="off",
        loop="uvloop",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_STOP_SECONDS,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    with listening:
        server = _Server(config, shared, lambda: on_start(f"{scheme}://{shown}:{port}"))
        shared.end = server.end
        server.run([listening])


class _Server(uvicorn.Server):
    """Notifies subscribers when it stops, and does not raise the signal again: there is more to close."""

    def __init__(self, config: uvicorn.Config, shared: Served, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._shared = shared
        self._on_start = on_start

    def end(self) -> None:
        """Stop soon. Any thread may call this."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._shared.start(asyncio.get_running_loop())
        await super().startup(sockets)
        if not self.should_exit:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._shared.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _listen(settings: ServerSettings) -> socket.socket:
    _allow_many_files()
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
        listening.bind((settings.host, settings.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        reason = error.strerror or str(error)
        raise InputError(f"cannot listen on {settings.host}:{settings.port}: {reason}") from None
    return listening


def _allow_many_files() -> None:
    """A connection is an open file, and the usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard > 0 else soft, hard))
