"""Documents of the Web as files: fetched once each, page after page, from hosts of the allow-list."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from freshet.federation.errors import ServiceError
from freshet.federation.settings import ServiceSettings, show_url
from freshet.rml.sources import FileSource, WebPlace

if TYPE_CHECKING:
    from freshet.federation.http import Downloaded, Requests

MOST_PAGES = 10_000
_RDF = {
    "text/turtle": ".ttl",
    "application/n-triples": ".nt",
    "application/n-quads": ".nq",
    "application/trig": ".trig",
    "application/rdf+xml": ".rdf",
    "application/ld+json": ".jsonld",
}
_RESULTS = {
    "application/sparql-results+json": ".srj",
    "application/json": ".srj",
    "application/sparql-results+xml": ".srx",
    "application/xml": ".srx",
    "text/xml": ".srx",
}


class Downloads:
    """Makes files of sources, below a folder whose paths show where each is from."""

    def __init__(self, settings: ServiceSettings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._fetched: dict[FileSource, FileSource] = {}
        self._count = 0

    @cached_property
    def _requests(self) -> Requests:
        from freshet.federation.http import Requests  # brings urllib3 along
        from freshet.federation.timed_pool import TimedPool

        return Requests(TimedPool(1), self._settings)

    def fetch(self, given: FileSource) -> FileSource:
        """A source with its document as a file; several pages are a folder."""
        if given not in self._fetched:
            assert given.web is not None
            self._fetched[given] = self._fetch(given, given.web)
        return self._fetched[given]

    def _fetch(self, given: FileSource, place: WebPlace) -> FileSource:
        _check_headers(place)
        host = urlsplit(place.url).netloc.rpartition("@")[2]
        self._count += 1
        folder = self._folder / str(self._count) / host.replace(":", "_")
        folder.mkdir(parents=True)
        first = folder / given.path.name
        found = self._page(place, place.url, first)
        path = _with_suffix(first, place, found)
        if found.following is not None:
            path = self._pages(place, path, found.following)
        encoding = given.encoding
        if found.charset is not None and encoding == FileSource(path).encoding:
            encoding = found.charset  # the mapping says nothing else
        return replace(given, path=path, encoding=encoding, web=None)

    def _pages(self, place: WebPlace, first: Path, following: str | None) -> Path:
        """The folder of all pages of a document."""
        folder = first.parent / "pages"
        folder.mkdir()
        first.rename(folder / f"00001-{first.name}")
        seen = {place.url}
        while following is not None:
            if following in seen or len(seen) >= MOST_PAGES:
                raise ServiceError(f"{show_url(place.url)} has pages without an end")
            seen.add(following)
            file = folder / f"{len(seen):05}-{first.name}"
            following = self._page(place, following, file).following
        return folder

    def _page(self, place: WebPlace, url: str, file: Path) -> Downloaded:
        allowed = self._settings.url(url)
        same_host = urlsplit(url).netloc == urlsplit(place.url).netloc
        headers = dict(place.headers) if same_host else {}
        with file.open("wb") as out:
            return self._requests.download(allowed, place.accept, headers, place.query, out)


def _check_headers(place: WebPlace) -> None:
    for name, value in place.headers:
        if not (name.isascii() and value.isascii() and (name + value).isprintable() and ":" not in name):
            raise ServiceError(f"{show_url(place.url)} cannot be asked with the header {name!r}")


def _with_suffix(file: Path, place: WebPlace, found: Downloaded) -> Path:
    """The file under a name that says what is in it, where the media type does and the address does not."""
    if place.query is not None:
        suffix = _RESULTS.get(found.kind)
        if suffix is None or (place.accept.endswith("+xml") and suffix != ".srx"):
            raise ServiceError(f"{show_url(place.url)} answers with {found.kind[:80]!r}, not with {place.accept}")
        return file.rename(file.with_suffix(suffix))
    if not file.suffix and found.kind in _RDF:
        return file.rename(file.with_name(file.name + _RDF[found.kind]))
    return file
