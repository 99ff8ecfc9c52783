"""Credentials of endpoints, which only the environment holds.

`FRESHET_SERVICE_<HOST>_TOKEN`, or `_USER` and `_PASSWORD`, where <HOST> is the host in capitals with `_` for what is
neither letter nor digit: FRESHET_SERVICE_DATA_EXAMPLE_ORG_TOKEN. They are sent over https, or to this machine, and
to their host only.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping

from freshet.federation.errors import ServiceError
from freshet.federation.settings import shown, split

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def authorization(url: str, environment: Mapping[str, str]) -> str | None:
    """The value of the Authorization header for a URL, or None."""
    parts = split(url)
    host = parts.hostname or ""
    name = f"FRESHET_SERVICE_{re.sub('[^A-Z0-9]', '_', host.upper())}"
    token, user = _read(environment, f"{name}_TOKEN"), _read(environment, f"{name}_USER")
    if token is None and user is None:
        return None
    if parts.scheme != "https" and host not in _LOOPBACK:
        raise ServiceError(f"there are credentials for {shown(url)}, which would be sent unencrypted", hint="use https")
    if token is not None:
        if not token.isascii():
            raise ServiceError(f"{name}_TOKEN has characters that no token has")
        return f"Bearer {token}"
    if user is not None and ":" in user:
        raise ServiceError(f"{name}_USER has a colon in it, which no user's name may have")
    pair = f"{user}:{_read(environment, f'{name}_PASSWORD') or ''}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def _read(environment: Mapping[str, str], name: str) -> str | None:
    """A variable without the line's end that a file leaves; None where there is nothing in it. No value is shown."""
    value = environment.get(name, "").strip()
    if not value.isprintable():
        raise ServiceError(f"{name} has characters that cannot be printed")
    return value or None
