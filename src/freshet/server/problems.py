"""What goes wrong, as a client sees it: a status, and one JSON object that says why (RFC 9457). No traceback."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response

from freshet.federation.errors import ServiceError
from freshet.rdf.deadline import QueryStoppedError
from freshet.rdf.errors import BudgetError, FreshetError, QuerySyntaxError, UnsupportedError
from freshet.runtime.durable_files import CheckpointError
from freshet.runtime.report_log import ReportsGoneError
from freshet.runtime.window_at import WhyGoneError
from freshet.store.slices import BufferFullError

_LOG = logging.getLogger("freshet.server")
_STATUSES: tuple[tuple[type[FreshetError], int], ...] = (  # the first that fits
    (QuerySyntaxError, 400),
    (UnsupportedError, 501),
    (WhyGoneError, 410),
    (ReportsGoneError, 410),
    (QueryStoppedError, 503),
    (ServiceError, 502),
    (CheckpointError, 503),
    (BudgetError, 429),
    (BufferFullError, 429),
    (FreshetError, 400),
)
_RETRY = {429: "1", 503: "1"}


class Problem(Exception):
    """A request that is refused, with the status and the reason."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None, **fields: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.fields = fields

    def response(self) -> Response:
        """The answer to the client."""
        headers = {"Retry-After": _RETRY[self.status]} if self.status in _RETRY else {}
        content = {"title": HTTPStatus(self.status).phrase, "status": self.status, "detail": self.detail} | self.fields
        return Response(
            orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE),
            self.status,
            headers | self.headers,
            "application/problem+json",
        )


def problem_of(error: Exception) -> Problem:
    """The problem that a client sees for an error. The details of an unexpected one are only in the log."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, FreshetError):
        status = next(status for kind, status in _STATUSES if isinstance(error, kind))
        known = {name: getattr(error, name) for name in ("message", "line", "column", "hint", "excerpt")}
        return Problem(status, str(error), **{name: value for name, value in known.items() if value})
    if isinstance(error, MemoryError):
        return Problem(503, "there is not enough memory for this request")
    _LOG.error("a request failed: %s", type(error).__name__, exc_info=error)
    return Problem(500, "the request failed inside the server; its log has the reason")
