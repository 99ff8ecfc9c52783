"""Settings of a server: where it listens, who may do what, and how much of it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from freshet.rdf.errors import InputError

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
class Token:
    """A secret, and what its holder may do."""

    secret: str = field(repr=False)
    rights: frozenset[str] = frozenset(RIGHTS)


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
    """A token a line: its rights, separated by commas, and the secret. Empty lines and those with # are skipped.

    >>> [sorted(token.rights) for token in parse_tokens("ask,feed s3cret-one-two-three")]
    [['ask', 'feed']]
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        rights, _, secret = line.strip().partition(" ")
        named = frozenset(rights.split(","))
        if unknown := sorted(named - set(RIGHTS)):
            known = ", ".join(RIGHTS)
            raise InputError(f"'{unknown[0]}' is not a right: {known}", file=file, line=number)
        found.append(make_token(secret.strip(), named, file, number))
    return tuple(found)


def make_token(
    secret: str, rights: frozenset[str] = frozenset(RIGHTS), file: str | None = None, line: int | None = None
) -> Token:
    """A token, if its secret is one that cannot be guessed at once."""
    if len(secret) < 16 or not secret.isascii() or any(each.isspace() for each in secret):
        raise InputError("a token is at least 16 ASCII characters without spaces", file=file, line=line)
    return Token(secret, frozenset(RIGHTS) if "admin" in rights else rights)
