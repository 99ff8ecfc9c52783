"""Credentials of endpoints, which only the environment holds.

`FRESHET_SERVICE_<HOST>_TOKEN`, or `_USER` and `_PASSWORD`. <HOST> is the host in capitals, with its port where that is
not the scheme's own, `_` for a dot, `__` for a hyphen and `___` for a colon: FRESHET_SERVICE_DATA_EXAMPLE_ORG_TOKEN,
FRESHET_SERVICE_LOCALHOST___3030_TOKEN. No two hosts have the same name, as no part of a host begins or ends with a
hyphen. They are sent over https, or to this machine, and to their host only, if the allow-list names it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from ipaddress import IPv6Address

from freshet.federation.errors import ServiceError
from freshet.federation.settings import PORTS, ServiceSettings, address, show_url, split

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_LABEL = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LETTERS = {".": "_", "-": "__", ":": "___"}


def authorization(url: str, settings: ServiceSettings, environment: Mapping[str, str]) -> str | None:
    """The value of the Authorization header for a URL, or None."""
    name = variable(url)
    if name is None or not settings.names(url):
        return None
    token, user = _read(environment, f"{name}_TOKEN"), _read(environment, f"{name}_USER")
    if token is None and user is None:
        return None
    parts = split(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise ServiceError(
            f"there are credentials for {show_url(url)}, which would be sent unencrypted", hint="use https"
        )
    if token is not None:
        if not token.isascii():
            raise ServiceError(f"{name}_TOKEN has characters that no token has")
        return f"Bearer {token}"
    if user is not None and ":" in user:
        raise ServiceError(f"{name}_USER has a colon in it, which no user's name may have")
    pair = f"{user}:{_read(environment, f'{name}_PASSWORD') or ''}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def variable(url: str) -> str | None:
    """How the variables of a URL's credentials begin; None where its host has characters that no name has."""
    parts = split(url)
    host = parts.hostname or ""
    ip = address(host)
    if ip is not None and ip.scope_id is None:
        host = _long(ip)
    elif not _HOST.fullmatch(host):
        return None
    port = "" if parts.port in (None, PORTS[parts.scheme]) else f":{parts.port}"
    return f"FRESHET_SERVICE_{''.join(_LETTERS.get(each, each) for each in f'{host}{port}'.upper())}"


def _long(ip: IPv6Address) -> str:
    """All eight parts, without zeros in front: 0:0:0:0:0:0:0:1."""
    return ":".join(f"{int(part, 16):x}" for part in ip.exploded.split(":"))


def _read(environment: Mapping[str, str], name: str) -> str | None:
    """A variable without the line's end that a file leaves; None where there is nothing in it. No value is shown."""
    value = environment.get(name, "").strip()
    if not value.isprintable():
        raise ServiceError(f"{name} has characters that cannot be printed")
    return value or None
