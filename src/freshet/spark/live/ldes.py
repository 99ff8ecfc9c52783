"""Documents from a linked data event stream over HTTP (https://w3id.org/ldes/specification): each member is one.

Pages are followed by their relations, and asked for again as long as they can change. Members are handed on in order of
time, as far as relations say where there can be earlier ones.
"""

from __future__ import annotations

import heapq
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

import orjson
import pyoxigraph as ox
import urllib3

from freshet.rdf.errors import InputError
from freshet.rdf.formats import FORMATS, rdf_format
from freshet.spark.live.ldes_page import Member, read_page
from freshet.spark.live.spool import Document, Spool
from freshet.spark.live.spooled import Receiver, SpooledSource

_ACCEPT = "application/trig, application/n-quads;q=0.9, text/turtle;q=0.8, application/ld+json;q=0.7"
_PARSED_AS = {media: each.parsed_as for each in FORMATS.values() for media in each.media_types}
_TIMEOUT = urllib3.Timeout(connect=10.0, read=60.0)
_LOOK_SECONDS = 0.2
_LEAST_AGE_SECONDS = 2  # dates of files have whole seconds
_MEMBERS, _PAGES, _TIME_PATH = "members", "pages", "time-path"
_NO_BOUND = -math.inf


class _Response(NamedTuple):
    """A page as it came; without text where it is as it was, or gone."""

    url: str
    text: bytes | None
    form: ox.RdfFormat | None
    fresh_seconds: float | None
    is_immutable: bool


@dataclass(slots=True)
class _Known:
    """What is known of a page: the earliest time in it, where it leads once it was read, when to ask for it again.

    One that is stale may have got members from before those of a page that was found since it was read.
    """

    bound: float
    order: int
    relations: list[tuple[str, float]] | None = None
    due: float = 0.0
    is_final: bool = False
    is_stale: bool = False
    validators: dict[str, str] = field(default_factory=dict)


class LdesReceiver(Receiver):
    """Follows a stream from one of its pages. `every_seconds` is how often a page is asked for that says nothing else.

    Members are recognised by their IRIs, also after a restart. Pages that cannot change, and whose members are in the
    spool, are not read again.
    """

    def __init__(
        self,
        spool: Spool,
        folder: Path,
        *,
        url: str,
        time_path: str | None = None,
        every_seconds: float = 10.0,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(spool, folder)
        self._root = urldefrag(url).url
        self._time_path = time_path or self.read_note(_TIME_PATH) or None
        self._every, self._headers = every_seconds, headers or {}
        self._http = urllib3.PoolManager(timeout=_TIMEOUT, retries=urllib3.Retry(0, redirect=5))
        self._numbers = count()
        self._pages: dict[str, _Known] = {}
        self._final: dict[str, list[tuple[str, float]]] = orjson.loads(self.read_note(_PAGES) or "{}")
        self._seen = {_digest(token) for token in spool.tokens()} | set(self.read_note(_MEMBERS).split())
        self._held: list[tuple[float, int, Member, str]] = []  # until nothing earlier can come
        self._is_whole = False

    def receive(self) -> None:
        self._know(self._root, _NO_BOUND)
        is_connected = False
        while not self.stopped.is_set():
            url = self._next()
            if url is None:
                self.stopped.wait(_LOOK_SECONDS)
                continue
            self._read(url)
            if not is_connected:
                self.note_connected()
                is_connected = True

    @property
    def _unread(self) -> list[tuple[float, int, str]]:
        return [
            (known.bound, known.order, url)
            for url, known in self._pages.items()
            if known.relations is None or known.is_stale
        ]

    def at_end(self) -> bool:
        """Whether every page has been read."""
        return self._is_whole

    def _know(self, url: str, bound: float) -> None:
        """Take note of a page, and of those behind it if it was read before the restart."""
        found = [(url, bound)]
        while found:
            url, bound = found.pop()
            known = self._pages.get(url)
            if known is not None:
                known.bound = max(known.bound, bound)
                continue
            known = self._pages[url] = _Known(bound, next(self._numbers))
            if url in self._final:
                known.relations, known.is_final = [(each, at) for each, at in self._final[url]], True
                found += known.relations

    def _next(self) -> str | None:
        """The page to ask for: one that was not read yet, the earliest first, or one that may have changed."""
        if unread := self._unread:
            return min(unread)[2]
        if not self._is_whole:
            self._release()
            self._is_whole = True
        due = [(known.due, url) for url, known in self._pages.items() if not known.is_final]
        return min(due)[1] if due and min(due)[0] <= time.monotonic() else None

    def _read(self, url: str) -> None:
        known = self._pages[url]
        response = self._ask(url, known)
        wait = self._every if response.fresh_seconds is None else max(response.fresh_seconds, _LOOK_SECONDS)
        known.due, known.is_stale = time.monotonic() + wait, False
        if response.text is None or response.form is None:
            known.relations = known.relations or []
            self._release()
            return
        try:
            page = read_page(response.text, response.form, response.url, self._time_path)
        except SyntaxError as error:
            known.validators.clear()
            raise OSError(f"{url}: {error}") from error
        if page.time_path is not None and page.time_path != self._time_path:
            self._time_path = page.time_path
            self.note(_TIME_PATH, page.time_path)
        for member in page.members:
            digest = _digest(member.key)
            if digest not in self._seen:
                self._seen.add(digest)
                at = _NO_BOUND if member.time_ms is None else member.time_ms
                heapq.heappush(self._held, (at, next(self._numbers), member, url))
        known.relations = [
            (urldefrag(target).url, known.bound if bound is None else bound)
            for target, bound in page.relations
            if urlsplit(target).scheme in ("http", "https")
        ]
        known.is_final = page.is_immutable or response.is_immutable
        if self._is_whole and any(target not in self._pages for target, _ in known.relations):
            for each in self._pages.values():
                each.is_stale = not each.is_final and each is not known
        for target, bound in known.relations:
            self._know(target, bound)
        self._release()

    def _release(self) -> None:
        """Hand on what nothing earlier can come before, and remember it."""
        until = min(self._unread, default=(math.inf,))[0]
        taken = []
        while self._held and self._held[0][0] <= until:
            taken.append(heapq.heappop(self._held))
        if taken:
            now = int(time.time() * 1000)
            self.keep([_document(member, url, now) for _, _, member, url in taken])
            lines = "".join(f"{_digest(member.key)}\n" for _, _, member, _ in taken)
            with self._ended_by_errors(), (self._folder / _MEMBERS).open("a") as file:
                file.write(lines)
        waiting = {url for *_, url in self._held}
        final = {
            url: known.relations
            for url, known in self._pages.items()
            if known.is_final and known.relations is not None and url not in waiting
        }
        if final.keys() != self._final.keys():
            self._final = final
            self.note(_PAGES, orjson.dumps(final).decode())

    def _ask(self, url: str, known: _Known) -> _Response:
        headers = {"Accept": _ACCEPT, **self._headers, **known.validators}
        try:
            response = self._http.request("GET", url, headers=headers)
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise OSError(f"{url}: {reason}") from error
        caching = response.headers.get("Cache-Control", "").lower()
        fresh, is_immutable = _fresh_seconds(caching, response.headers.get("Age", "")), "immutable" in caching
        if response.status == 304:
            known.is_final = known.is_final or is_immutable
            return _Response(url, None, None, fresh, is_immutable)
        if response.status == 410 and url != self._root:  # by the retention policy of the stream
            known.is_final = True
            return _Response(url, None, None, fresh, is_immutable)
        if response.status != 200:
            raise OSError(f"{url}: the server answers {response.status} {response.reason}")
        known.validators = _validators(response.headers)
        final_url = urldefrag(urljoin(url, response.geturl() or url)).url
        form = _form(response.headers.get("Content-Type", ""), final_url)
        return _Response(final_url, response.data, form, fresh, is_immutable)


def _validators(headers: Mapping[str, str]) -> dict[str, str]:
    """What a page is asked for with again: its tag, or its date if that is old enough to tell versions apart."""
    if "ETag" in headers:
        return {"If-None-Match": headers["ETag"]}
    modified, sent = (parsedate_tz(headers.get(name, "")) for name in ("Last-Modified", "Date"))
    if modified is None or sent is None or mktime_tz(sent) - mktime_tz(modified) < _LEAST_AGE_SECONDS:
        return {}
    return {"If-Modified-Since": headers["Last-Modified"]}


def _document(member: Member, url: str, now: int) -> Document:
    """Lines of timed N-Triples; without a time, one line that will be rejected with that reason."""
    lines = member.statements[:1]
    if member.time_ms is not None:
        lines = [f"{member.time_ms}\t{statement}" for statement in member.statements]
    return Document("\n".join(lines), f"ldes:{url}", now, member.key)


def _form(content_type: str, url: str) -> ox.RdfFormat:
    """The format of a page: by its media type, or by its name where a server of files does not know any."""
    media = content_type.partition(";")[0].strip().lower()
    if media in _PARSED_AS:
        return _PARSED_AS[media]
    try:
        return rdf_format(urlsplit(url).path)
    except InputError:
        raise OSError(f"{url}: the server sends {media or 'no media type'}, which is no RDF") from None


def _fresh_seconds(caching: str, age: str) -> float | None:
    """How long a page need not be asked for again; None where nothing is said."""
    found = re.search(r"\bmax-age=([0-9]+)", caching)
    if found is None or "no-cache" in caching or "no-store" in caching:
        return None
    left = int(found[1]) - (int(age) if age.isdecimal() else 0)
    return float(left) if left > 0 else None


def _digest(key: str) -> str:
    return blake2b(key.encode(), digest_size=10).hexdigest()


class LdesDataSource(SpooledSource):
    """Options: url, time_path, every_ms, headers (JSON), spool."""

    @classmethod
    def name(cls) -> str:
        return "freshet-ldes"

    def receiver(self, spool: Spool, folder: Path) -> Receiver:
        return LdesReceiver(
            spool,
            folder,
            url=self.options["url"],
            time_path=self.options.get("time_path"),
            every_seconds=int(self.options["every_ms"]) / 1000,
            headers=orjson.loads(self.options.get("headers", "{}")),
        )
