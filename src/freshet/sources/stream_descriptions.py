"""Where streams are, as VoCaLS describes them (https://w3id.org/rsp/vocals): their endpoints, addresses and formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyoxigraph as ox

from freshet.rdf.compression import open_input
from freshet.rdf.errors import InputError
from freshet.rdf.formats import FORMATS, rdf_format
from freshet.rdf.oxigraph import parse_error

_VOCALS = ("http://w3id.org/rsp/vocals#", "https://w3id.org/rsp/vocals#")
_ENDPOINT = {space + name for space in _VOCALS for name in ("hasEndpoint", "hasEndPoint")}
_ADDRESS = {"http://www.w3.org/ns/dcat#accessURL", "http://www.w3.org/ns/dcat#downloadURL"}
_FORMAT = {f"{space}{name}" for space in ("http://purl.org/dc/terms/", "http://www.w3.org/ns/dcat#")
           for name in ("format", "mediaType")}  # fmt: skip
_NAMES = {
    "jsonld": "jsonld", "turtle": "ttl", "ttl": "ttl", "n3": "n3", "ntriples": "nt", "nt": "nt", "nquads": "nq",
    "nq": "nq", "trig": "trig", "rdfxml": "rdfxml", "json": "json", "csv": "csv", "xml": "xml",
}  # fmt: skip
_BASE = "file:///"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of a stream, and the name of the format that it sends, if that is known."""

    address: str
    form: str | None = None

    def file(self, folder: Path) -> Path | None:
        """The file that it is, by its path from a folder; None where it is none."""
        parts = urlsplit(self.address)
        if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
            return None
        return folder / unquote(parts.path)


def read_endpoints(path: Path) -> dict[str, list[Endpoint]]:
    """The endpoints of each stream that a file describes."""
    form = rdf_format(path)
    about: dict[object, list[ox.Quad]] = {}
    try:
        with open_input(path) as file:
            for quad in ox.parse(file.read(), form, base_iri=_BASE):
                about.setdefault(quad.subject, []).append(quad)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except SyntaxError as error:
        raise parse_error(error, str(path)) from None
    found = {
        subject.value: [
            endpoint
            for quad in quads
            if quad.predicate.value in _ENDPOINT
            for endpoint in _endpoints(about.get(quad.object, []))
        ]
        for subject, quads in about.items()
        if isinstance(subject, ox.NamedNode)
    }
    streams = {iri: endpoints for iri, endpoints in found.items() if endpoints}
    if not streams:
        raise InputError("it describes no stream: none has vocals:hasEndpoint with a dcat:accessURL", file=str(path))
    return streams


def _endpoints(quads: list[ox.Quad]) -> Iterator[Endpoint]:
    forms = [form for quad in quads if quad.predicate.value in _FORMAT and (form := _format(quad.object))]
    for quad in quads:
        if quad.predicate.value in _ADDRESS and isinstance(quad.object, ox.NamedNode | ox.Literal):
            yield Endpoint(quad.object.value.removeprefix(_BASE), forms[0] if forms else None)


def _format(term: object) -> str | None:
    """A format by its IRI, a media type or a word: `frmt:JSON-LD`, `application/ld+json`, `Turtle`."""
    if not isinstance(term, ox.NamedNode | ox.Literal):
        return None
    for name, each in FORMATS.items():
        if any(term.value.endswith(media) for media in each.media_types):
            return name
    word = re.split(r"[/#]", term.value)[-1]
    return _NAMES.get(re.sub(r"[^a-z0-9]", "", word.lower()))


def source_section(iri: str, endpoints: list[Endpoint], folder: Path) -> dict[str, object]:
    """A stream's `source` of a pipeline file, for the first of its endpoints that can be read.

    Raises:
        InputError: There is none.
    """
    for endpoint in endpoints:
        place = _place(endpoint, folder)
        if place is not None:
            return {**place, **({} if endpoint.form is None else {"format": endpoint.form})}
    addresses = ", ".join(endpoint.address for endpoint in endpoints)
    raise InputError(f"the stream <{iri}> has no endpoint that can be read: {addresses}")


def _place(endpoint: Endpoint, folder: Path) -> dict[str, object] | None:
    address = endpoint.address
    parts = urlsplit(address)
    topic = unquote(parts.path.lstrip("/"))
    match parts.scheme:
        case "ws" | "wss":
            return {"websocket": {"url": address}}
        case "http" | "https":
            return {"sse": {"url": address}}
        case "mqtt" | "mqtts" if parts.hostname and topic:
            port = {"port": parts.port} if parts.port else {}
            return {"mqtt": {"host": parts.hostname, "topic": topic, "tls": parts.scheme == "mqtts", **port}}
        case "kafka" if parts.hostname and topic:
            return {"kafka": {"brokers": f"{parts.hostname}:{parts.port or 9092}", "topic": topic}}
        case "tcp" if parts.hostname and parts.port:
            return {"socket": {"host": parts.hostname, "port": parts.port}}
    file = endpoint.file(folder)
    return None if file is None else {"folder": str(file.parent), "pattern": file.name}
