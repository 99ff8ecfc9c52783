"""Counts, times and logs requests."""

from __future__ import annotations

import logging
import time
from functools import cache
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from freshet.server.logs import log_fields

if TYPE_CHECKING:
    from freshet.server.metrics import Metrics

_LOG = logging.getLogger("freshet.server.requests")
_LONG_LIVED = "/queries/{name:path}/answers"


class Requests:
    """Around everything else. Paths are counted by their pattern, so that their number is bounded."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._counter = cache(metrics.requests.labels)  # their number is bounded, too
        self._histogram = cache(metrics.request_seconds.labels)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        status = 0

        async def send_counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_counted)
        finally:
            path, method = scope.get("freshet.path", "other"), scope.get("method", "")
            method = method if path != "other" else "other"
            seconds = time.perf_counter() - began
            self._counter(path, method, status).inc()
            if path != _LONG_LIVED:
                self._histogram(path).observe(seconds)
            level = logging.WARNING if status >= 500 else logging.DEBUG
            if _LOG.isEnabledFor(level):
                fields = {"method": method, "path": scope.get("path"), "status": status, "ms": round(seconds * 1000, 2)}
                _LOG.log(level, "request", extra=log_fields(**fields))
