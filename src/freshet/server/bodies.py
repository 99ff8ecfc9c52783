"""Bodies of requests: whole, of a bounded size, within a bounded time."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from freshet.rdf.deadline import Deadline
from freshet.server.holders import limits_of
from freshet.server.problems import Problem
from freshet.server.settings import Limits


async def read_body(request: Request) -> bytes:
    """The body of a request, unless it is too large or does not come."""
    limits = limits_of(request)
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limits.body_bytes:
        raise _too_large(limits)
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "a body is sent as it is, without Content-Encoding")
    pieces, size = [], 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for piece in request.stream():
                size += len(piece)
                if size > limits.body_bytes:
                    raise _too_large(limits)
                pieces.append(piece)
    except TimeoutError:
        raise Problem(
            408, f"the body did not arrive within {limits.body_seconds:g} s", {"Connection": "close"}
        ) from None
    except ClientDisconnect:
        raise Problem(400, "the body is not whole") from None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def reading_deadline(request: Request) -> Deadline:
    """How long parsing a body may take: as long as a query."""
    return Deadline(limits_of(request).query_seconds, subject="reading the body")


def media_type(request: Request) -> tuple[str, str]:
    """The media type of a body, and the charset that it names; empty where it does not say."""
    media, *parameters = (piece.strip() for piece in request.headers.get("content-type", "").split(";"))
    charset = next((each.partition("=")[2] for each in parameters if each.lower().startswith("charset=")), "")
    return media.lower(), charset.strip('"').lower()


def text_of(body: bytes, charset: str = "") -> str:
    """A body as text. It is UTF-8, or refused."""
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Problem(415, f"text is sent as UTF-8, not as {charset}")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Problem(400, f"the body is not UTF-8: byte {error.start + 1} cannot be read") from None


def _too_large(limits: Limits) -> Problem:
    return Problem(413, f"a body has at most {limits.body_bytes:,} bytes", {"Connection": "close"})
