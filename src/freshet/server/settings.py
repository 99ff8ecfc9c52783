"""Settings of a server: where it listens, who may do what, and how much of it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from freshet.rdf.errors import InputError
from freshet.runtime.durations import setting_ms

PORT = 7022
RIGHTS = ("ask", "register", "feed", "admin")
_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request, or all of them together, may take."""

    body_bytes: int = 64 * _MB
    body_seconds: float = 30.0  # until a whole body is there
    header_bytes: int = 64 << 10
    header_seconds: float = 10.0
    query_seconds: float = 60.0
    query_bytes: int = 1024 * _MB  # of the intermediate results of a query
    answer_bytes: int = 1024 * _MB
    live_seconds: float = 1.0  # that a change may take a live query: everybody waits for it
    queries: int = 10_000
    subscribers: int = 20_000
    subscriber_bytes: int = 4 * _MB  # that wait for a subscriber who does not read
    kept_bytes: int = 64 * _MB  # of reports, for subscribers that come back
    linger_seconds: float = 60.0  # how long a bound query is kept without subscribers
    threads: int = 4  # that answer one-shot queries
    waiting: int = 256  # requests that may wait for one of these


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """What requests with a token may take, and what its holder may have at a time; None where only the server's limits
    hold."""

    body_bytes: int | None = None
    query_seconds: float | None = None
    answer_bytes: int | None = None
    queries: int | None = None
    subscribers: int | None = None

    def of_requests(self) -> dict[str, float]:
        """Those that one request has."""
        given = {name: getattr(self, name) for name in ("body_bytes", "query_seconds", "answer_bytes")}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Token:
    """A secret, what its holder may do, and how much of it."""

    secret: str = field(repr=False)
    rights: frozenset[str] = frozenset(RIGHTS)
    limits: TokenLimits = TokenLimits()


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where to listen (`HOST:PORT`), tokens, TLS, names that requests may use for this host, and origins of pages."""

    host: str = "127.0.0.1"
    port: int = PORT
    tokens: tuple[Token, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    limits: Limits = Limits()

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        """Refuse to listen where strangers could do everything."""
        if not self.is_loopback and not self.tokens:
            raise InputError(
                f"{self.host} can be reached from other machines, and no token is set",
                hint="set FRESHET_TOKEN or --tokens FILE, or listen on 127.0.0.1",
            )
        if (self.certificate is None) != (self.key is None):
            raise InputError("TLS takes both a certificate and a key")


def parse_listen(text: str) -> tuple[str, int]:
    """The host and the port of `HOST:PORT`, `HOST` or `:PORT`.

    >>> parse_listen("0.0.0.0:80"), parse_listen("[::1]:7022"), parse_listen("localhost"), parse_listen(":8000")
    (('0.0.0.0', 80), ('::1', 7022), ('localhost', 7022), ('127.0.0.1', 8000))
    """
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = text, str(PORT)
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise InputError(f"'{text}' is not HOST:PORT, as 127.0.0.1:{PORT} is")
    return host.strip("[]") or "127.0.0.1", int(port)


def parse_tokens(text: str, file: str | None = None) -> tuple[Token, ...]:
    """A token a line: its rights, separated by commas, the secret, and limits. Lines with # are skipped.

    >>> [token] = parse_tokens("ask,feed s3cret-one-two-three body=1m time=5s subscribers=10")
    >>> sorted(token.rights), token.limits.body_bytes, token.limits.query_seconds, token.limits.subscribers
    (['ask', 'feed'], 1048576, 5.0, 10)
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        rights, secret, *limits = [*line.split(), ""] if len(line.split()) == 1 else line.split()
        named = frozenset(rights.split(","))
        if unknown := sorted(named - set(RIGHTS)):
            known = ", ".join(RIGHTS)
            raise InputError(f"'{unknown[0]}' is not a right: {known}", file=file, line=number)
        try:
            given = parse_limits(limits)
        except ValueError as error:
            raise InputError(str(error), file=file, line=number) from None
        found.append(replace(make_token(secret, named, file, number), limits=given))
    return tuple(found)


def parse_limits(texts: Iterable[str]) -> TokenLimits:
    """The limits of a token: `body=1m`, `time=5s`, `answer=10m`, `queries=3`, `subscribers=10`; a ValueError says what
    is wrong."""
    found: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        match name:
            case "body" | "answer":
                from freshet.runtime.section import memory_text  # brings pydantic along

                found[f"{name}_bytes"] = memory_text(value)
            case "time":
                found["query_seconds"] = setting_ms(value) / 1000
            case "queries" | "subscribers" if value.isascii() and value.isdigit():
                found[name] = int(value)
            case _:
                raise ValueError(f"'{text}' is not a limit: body=1m, time=5s, answer=10m, queries=3, subscribers=10")
    return TokenLimits(**found)


def make_token(
    secret: str, rights: frozenset[str] = frozenset(RIGHTS), file: str | None = None, line: int | None = None
) -> Token:
    """A token, if its secret is one that cannot be guessed at once."""
    if len(secret) < 16 or not secret.isascii() or any(each.isspace() for each in secret):
        raise InputError("a token is at least 16 ASCII characters without spaces", file=file, line=line)
    return Token(secret, frozenset(RIGHTS) if "admin" in rights else rights)
