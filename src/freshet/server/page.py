"""The web page: files of ours, which talk to the paths that all clients use. Nothing is fetched from elsewhere."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from freshet.server.problems import Problem

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';"
    " img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # asked for again, and mostly not sent again
}


class _File(NamedTuple):
    content: bytes
    media_type: str
    tag: str


async def page(request: Request) -> Response:
    """A file of the page."""
    found = _read_all().get(request.path_params.get("file", "index.html"))
    if found is None:
        raise Problem(404, f"there is nothing at {request.url.path}")
    headers = _HEADERS | {"ETag": found.tag}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers | {"Content-Type": f"{found.media_type}; charset=utf-8"})


@cache
def _read_all() -> dict[str, _File]:
    """All files of the page by name: no path that a client sends reaches the file system."""
    found = {}
    for each in files("freshet.server").joinpath("page").iterdir():
        ending = each.name[each.name.rfind(".") :]
        if ending in _TYPES:
            content = each.read_bytes()
            found[each.name] = _File(content, _TYPES[ending], f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return found
