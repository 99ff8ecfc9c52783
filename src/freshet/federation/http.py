"""One request of the SPARQL 1.1 Protocol, within limits of time, size and hosts that the other side cannot exceed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import BinaryIO, NamedTuple, TypeVar
from urllib.parse import urlencode, urljoin

import urllib3
from urllib3.exceptions import HTTPError, SSLError

from freshet.federation.credentials import authorization
from freshet.federation.errors import RejectedError, ServiceError
from freshet.federation.settings import ServiceSettings, show_url, split
from freshet.federation.timed_pool import TimedPool
from freshet.rdf.deadline import current

ACCEPT = "application/sparql-results+json, application/sparql-results+xml;q=0.9, application/json;q=0.5"
_FORMATS = {
    "application/sparql-results+json": "json",
    "application/json": "json",
    "application/sparql-results+xml": "xml",
    "application/xml": "xml",
    "text/xml": "xml",
}
_PASSING = {429, 500, 502, 503, 504}
_REDIRECTS = {301, 302, 303, 307, 308}
_MOST_REDIRECTS = 3
_WORDS = {
    "NewConnectionError": "no connection",
    "ConnectionRefusedError": "no connection",
    "ConnectTimeoutError": "no connection in time",
    "ReadTimeoutError": "no answer in time",
    "TimeoutError": "no answer in time",
    "NameResolutionError": "no such host",
    "gaierror": "no such host",
    "ProtocolError": "the connection broke",
    "RemoteDisconnected": "the connection broke",
    "ConnectionResetError": "the connection broke",
    "SSLCertVerificationError": "its certificate is not trusted",
}
_CHUNK = 1 << 16
_NO_HEADERS: Mapping[str, str] = {}
_NEXT = re.compile(r"""<([^>]*)>\s*(?:;[^,<]*)?;\s*rel="?next"?""", re.IGNORECASE)
_CHARSET = re.compile(r"""charset\s*=\s*"?([^\s";]+)""", re.IGNORECASE)
T = TypeVar("T")


class Body(NamedTuple):
    """An answer as it came, and which of `results.read`'s formats it is in."""

    data: bytes
    format: str


class Sent(NamedTuple):
    """What is sent, and its media type."""

    body: bytes
    kind: str


def _form(query: str) -> Sent:
    return Sent(urlencode({"query": query}).encode(), "application/x-www-form-urlencoded")


class Downloaded(NamedTuple):
    """What is known of a document: its media type, its encoding, and where the next page of it is."""

    kind: str
    charset: str | None
    following: str | None


class _PassingError(ServiceError):
    """A failure that another attempt may not meet."""


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes requests. `sleep` waits between attempts, and may be cut short."""

    pool: TimedPool
    settings: ServiceSettings
    sleep: Callable[[float], object] = Event().wait

    def ask(
        self,
        url: str,
        query: str,
        seconds: float | None = None,
        on_trouble: Callable[[str], None] = lambda message: None,
    ) -> Body:
        """The answer to a query; ServiceError where there is none in time. The time is for all attempts together.

        `on_trouble` is called with the reason when an attempt failed and is retried.
        """
        return self._repeated(lambda end: self._once(url, query, end), seconds, on_trouble)

    def download(
        self, url: str, accept: str, headers: Mapping[str, str], query: str | None, out: BinaryIO
    ) -> Downloaded:
        """Write a document, or the answer to a query, into an empty file; ServiceError where there is none in time.

        The headers are for the host of the URL only: a redirect to another host leaves them out.
        """

        def once(end: float) -> Downloaded:
            out.seek(0)
            out.truncate()

            def read(at: str, response: urllib3.BaseHTTPResponse) -> Downloaded:
                if response.status in _PASSING:
                    raise _PassingError(f"{show_url(at)} answers with status {response.status}")
                if response.status != 200:
                    raise ServiceError(f"{show_url(at)} answers with status {response.status}")
                for part in self._parts(at, response, end):
                    out.write(part)
                kind, _, rest = response.headers.get("Content-Type", "").partition(";")
                charset = _CHARSET.search(rest)
                following = _NEXT.search(response.headers.get("Link", ""))
                return Downloaded(
                    kind.strip().lower(),
                    charset[1] if charset else None,
                    urljoin(at, following[1]) if following else None,
                )

            return self._following(url, None if query is None else _form(query), end, read, accept, headers)

        return self._repeated(once)

    def update(self, url: str, text: str, *, again: bool) -> None:
        """Have an update done; ServiceError where it is not known to be done. `again`: it may be done twice."""

        def read(at: str, response: urllib3.BaseHTTPResponse) -> None:
            if response.status in _PASSING:
                raise _PassingError(f"{show_url(at)} answers with status {response.status}")
            if not 200 <= response.status < 300:
                raise ServiceError(f"{show_url(at)} answers with status {response.status}")

        sent = Sent(text.encode(), "application/sparql-update")
        if again:
            self._repeated(lambda end: self._following(url, sent, end, read, "*/*"))
            return
        self._following(url, sent, monotonic() + self.settings.timeout_seconds, read, "*/*")

    def _repeated(
        self,
        once: Callable[[float], T],
        seconds: float | None = None,
        on_trouble: Callable[[str], None] = lambda message: None,
    ) -> T:
        """What an attempt gives that succeeds before the time is over."""
        most = self.settings.timeout_seconds
        end = monotonic() + (most if seconds is None else min(most, seconds))
        wait = self.settings.backoff_seconds
        for attempt in range(1, self.settings.attempts + 1):
            try:
                return once(end)
            except _PassingError as error:
                if attempt == self.settings.attempts or monotonic() + wait >= end:
                    raise ServiceError(error.message) from None
                on_trouble(error.message)
            self.sleep(wait)
            wait *= 2
        raise AssertionError("unreachable")

    def fetch(self, url: str, accept: str) -> tuple[bytes, str]:
        """A document and its media type, asked for once; ServiceError where there is none in time.

        That is the time of the settings, or what the caller's deadline leaves of it.
        """
        most, left = self.settings.timeout_seconds, current().left()
        end = monotonic() + (most if left is None else min(most, left))

        def read(at: str, response: urllib3.BaseHTTPResponse) -> tuple[bytes, str]:
            if response.status != 200:
                raise ServiceError(f"{show_url(at)} answers with status {response.status}")
            kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            return self._read(at, response, end), kind

        return self._following(url, None, end, read, accept)

    def _once(self, url: str, query: str, end: float) -> Body:
        return self._following(url, _form(query), end, lambda at, response: self._body(at, response, end))

    def _following(
        self,
        url: str,
        sent: Sent | None,
        end: float,
        read: Callable[[str, urllib3.BaseHTTPResponse], T],
        accept: str = ACCEPT,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> T:
        """What is read of a response, after redirects."""
        at = url
        for _ in range(_MOST_REDIRECTS + 1):
            own = headers if split(at).netloc == split(url).netloc else _NO_HEADERS
            response = self._response(at, sent, end, accept, own)
            try:
                if response.status not in _REDIRECTS:
                    return read(at, response)
                at, sent = self._redirected(at, response), None if response.status == 303 else sent
            finally:
                response.close()  # what is left of a body is not waited for
        raise ServiceError(f"{show_url(url)} redirects too often")

    def _response(
        self, url: str, sent: Sent | None, end: float, accept: str, own: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": accept, "Accept-Encoding": "identity", "User-Agent": "freshet", **own}
        if (credentials := authorization(url, self.settings, os.environ)) is not None:
            headers["Authorization"] = credentials
        left = _seconds_left(url, end)
        if sent is not None:
            headers["Content-Type"] = sent.kind
        try:
            return self.pool.request(
                "GET" if sent is None else "POST",
                url,
                body=None if sent is None else sent.body,
                headers=headers,
                redirect=False,
                retries=False,
                preload_content=False,
                timeout=urllib3.Timeout(total=left, connect=min(self.settings.connect_seconds, left)),
            )
        except SSLError as error:
            raise ServiceError(f"{show_url(url)}: TLS failed: {_reason(error)}") from None
        except HTTPError as error:
            raise _PassingError(f"{show_url(url)} cannot be reached: {_reason(error)}") from None

    def _redirected(self, url: str, response: urllib3.BaseHTTPResponse) -> str:
        location = response.headers.get("Location")
        if not location:
            raise ServiceError(f"{show_url(url)} redirects nowhere")
        try:
            target = urljoin(url, location)
        except ValueError:
            raise ServiceError(f"{show_url(url)} redirects to what is no URL") from None
        if split(url).scheme == "https" and split(target).scheme != "https":
            raise ServiceError(f"{show_url(url)} redirects from https to {show_url(target)}")
        self.settings.check(target)
        return target

    def _body(self, url: str, response: urllib3.BaseHTTPResponse, end: float) -> Body:
        if response.status in _PASSING:
            raise _PassingError(f"{show_url(url)} answers with status {response.status}")
        if 400 <= response.status < 500 or response.status == 501:
            raise RejectedError(f"{show_url(url)} answers with status {response.status}", response.status)
        if response.status != 200:
            raise ServiceError(f"{show_url(url)} answers with status {response.status}")
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind not in _FORMATS:
            raise ServiceError(f"{show_url(url)} answers with {kind[:80]!r}, which is no SPARQL result")
        return Body(self._read(url, response, end), _FORMATS[kind])

    def _read(self, url: str, response: urllib3.BaseHTTPResponse, end: float) -> bytes:
        return b"".join(self._parts(url, response, end))

    def _parts(self, url: str, response: urllib3.BaseHTTPResponse, end: float) -> Iterator[bytes]:
        size = 0
        try:  # read1 returns what has arrived, so that a slow body misses its deadline
            while part := response.read1(_CHUNK):
                yield part
                size += len(part)
                if size > self.settings.most_bytes:
                    raise ServiceError(f"{show_url(url)} answers with more than {self.settings.most_bytes} bytes")
                _seconds_left(url, end)
        except HTTPError as error:
            raise _PassingError(f"{show_url(url)} stopped in the middle of its answer: {_reason(error)}") from None


def _seconds_left(url: str, end: float) -> float:
    """The seconds that are left; none is an error."""
    left = end - monotonic()
    if left <= 0:
        raise ServiceError(f"{show_url(url)} took too long")
    return left


def _reason(error: HTTPError) -> str:
    """Why, in a few words, without the URL that urllib3 puts into some of its messages."""
    inner = getattr(error, "reason", None) or error.__cause__ or error
    kind = type(inner if isinstance(inner, Exception) else error).__name__
    return _WORDS.get(kind, kind)
