"""Which endpoints may be asked, and how patiently."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from math import isfinite
from urllib.parse import SplitResult, urlsplit

from freshet.federation.errors import RefusedError, ServiceError
from freshet.federation.refresh_policy import check_policy
from freshet.rdf.errors import InputError

EVERY_HOST = "*"
PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[^\s/@*:?#\[\]]+(:\d+)?|\[[^\s\[\]]+\](:\d+)?")
_SPANS = ("timeout_seconds", "connect_seconds")  # more than 0
_WAITS = ("backoff_seconds", "open_seconds", "values_again_seconds")  # 0 or more
_COUNTS = (  # 1 or more
    "most_bytes",
    "requests_at_once",
    "attempts",
    "failures_to_open",
    "batch",
    "most_entries",
    "most_endpoints",
    "most_behind",
)


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of SERVICE.

    `hosts` is the allow-list: `example.org` (any port), `example.org:8080`, `[::1]:3030`, or `*` for all. Nothing is
    asked that is not in it. `aliases` has endpoints that stand elsewhere, by IRI. `single_bindings` are hosts that know
    no VALUES; others that refuse it are tried with it again after `values_again_seconds`. With `load_whole` local views
    are filled at registration, not entry by entry as windows need them. `most_endpoints` is how many endpoints an
    evaluation of `SERVICE ?variable` asks in a continuous query; where a query is `most_behind` elements behind its
    streams, the caller of `push` waits.

    `proposer` and `ranker` say which entries of local views are refreshed (docs/explanation/federation.md).
    `change_seconds` has, by host, how often an entry changes on average, for all other hosts by `*`: where it is known,
    it need not be learnt from nothing.
    """

    hosts: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    single_bindings: tuple[str, ...] = ()
    timeout_seconds: float = 30.0
    connect_seconds: float = 5.0
    most_bytes: int = 64 << 20
    requests_at_once: int = 4
    attempts: int = 3
    backoff_seconds: float = 0.1
    failures_to_open: int = 5
    open_seconds: float = 10.0
    batch: int = 100
    most_bindings: int = 10_000
    most_entries: int = 100_000
    most_endpoints: int = 100
    most_behind: int = 1_000_000
    load_whole: bool = False
    values_again_seconds: float = 300.0
    proposer: str = "wsj"
    ranker: str = "gain"
    change_seconds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_policy(self.proposer, self.ranker)
        for host in (*self.hosts, *self.single_bindings, *self.change_seconds):
            _check_host(host)
        for host, seconds in self.change_seconds.items():
            if not 0 < seconds < float("inf"):
                raise InputError(f"entries of {host} cannot change every {seconds} seconds")
        for name in (*_SPANS, *_WAITS):
            seconds = getattr(self, name)
            if not isfinite(seconds) or seconds < 0 or (name in _SPANS and seconds == 0):
                raise InputError(f"'{name}' of SERVICE cannot be {seconds}")
        for name in (*_COUNTS, "most_bindings"):
            count = getattr(self, name)
            if count < (name in _COUNTS):
                raise InputError(f"'{name}' of SERVICE cannot be {count}")
        for url in self.aliases.values():
            try:
                split(url)
            except ServiceError as error:
                raise InputError(f"an alias of SERVICE stands for what cannot be asked: {error.message}") from None

    def url(self, endpoint: str) -> str:
        """Where an endpoint is asked; RefusedError where it may not be."""
        url = self.aliases.get(endpoint, endpoint)
        self.check(url)
        return url

    def check(self, url: str) -> None:
        """RefusedError unless the host of a URL is allowed."""
        if not self.names(url) and EVERY_HOST not in self.hosts:
            host = _show_host(split(url).hostname or "")
            hint = f"`services` of the session or the pipeline file, or --service {host}, would allow it"
            raise RefusedError(f"SERVICE may not ask {show_url(url)}", hint=hint)

    def names(self, url: str) -> bool:
        """Whether the allow-list has the host of a URL by its name."""
        return _is_among(url, self.hosts)

    def usual_change_seconds(self, url: str) -> float | None:
        """How often an entry of an endpoint changes on average, where it is configured."""
        for host, seconds in self.change_seconds.items():
            if host != EVERY_HOST and _is_among(url, (host,)):
                return seconds
        return self.change_seconds.get(EVERY_HOST)

    def binds_singly(self, url: str) -> bool:
        """Whether an endpoint is known to be old."""
        return _is_among(url, self.single_bindings)


def split(url: str) -> SplitResult:
    """The parts of an http or https URL; credentials in it are an error, as they would end in logs."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ServiceError("an endpoint of SERVICE is no URL") from None
    if parts.scheme not in PORTS:
        host = f"//{_show_host(parts.hostname)}" if parts.hostname else ""
        raise ServiceError(f"SERVICE asks http and https endpoints, not <{parts.scheme}:{host}>")
    if not parts.hostname:
        raise ServiceError("the URL of an endpoint has no host")
    if parts.username is not None or parts.password is not None:
        hint = "name them in the environment: FRESHET_SERVICE_<HOST>_USER"
        raise ServiceError("the URL of an endpoint has credentials in it", hint=hint)
    return parts


def address(host: str) -> IPv6Address | None:
    """The IPv6 address that a host is, in brackets or not."""
    try:
        return IPv6Address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return None


def _check_host(written: str) -> None:
    """InputError where an entry of a list of hosts is none: it would never fit, without any sign why."""
    if written != EVERY_HOST and not _HOST.fullmatch(written) and address(written) is None:
        hint = "a host is written example.org, example.org:3030 or [::1]:3030, without a path; * is every host"
        raise InputError(f"'{written}' is no host that SERVICE could ask", hint=hint)


def _is_among(url: str, entries: Sequence[str]) -> bool:
    """Whether a URL's host is in a list of hosts, some with a port."""
    parts = split(url)
    host = _show_host(parts.hostname or "")
    return not {host, f"{host}:{parts.port or PORTS[parts.scheme]}"}.isdisjoint(map(_entry, entries))


def _entry(written: str) -> str:
    """An entry of a list of hosts in the one form that all its spellings have."""
    host, colon, port = written.lower().rpartition(":")
    if colon and port.isdecimal() and host.startswith("["):
        return f"{_show_host(host)}:{port}"
    return _show_host(written.lower())


def _show_host(host: str) -> str:
    """A host as it stands in a URL: IPv6 addresses in brackets, and as short as they can be."""
    found = address(host)
    return host if found is None else f"[{found.compressed}]"


def show_url(url: str) -> str:
    """A URL as logs and errors show it: without what stands after a question mark."""
    parts = urlsplit(url)
    return f"<{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}>"
