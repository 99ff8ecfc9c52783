"""Content negotiation (RFC 9110, 12.5.1): which of the media types that we have a client wants most."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from freshet.server.problems import Problem

Range = tuple[str, str, float]

SOLUTIONS: dict[str, str] = {
    "application/sparql-results+json": "json",
    "application/json": "json",
    "application/sparql-results+xml": "xml",
    "application/xml": "xml",
    "text/xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
}
GRAPHS: dict[str, str] = {
    "text/turtle": "ttl",
    "application/x-turtle": "ttl",
    "application/n-triples": "nt",
    "text/plain": "nt",
    "application/rdf+xml": "rdfxml",
    "application/xml": "rdfxml",
    "application/ld+json": "jsonld",
    "application/json": "jsonld",
}
QUADS: dict[str, str] = {
    "application/trig": "trig",
    "application/n-quads": "nq",
    "application/ld+json": "jsonld",
    "application/json": "jsonld",
}
"""Media types and the names that writers have for them, those that we prefer first."""


_SHORT = 500  # characters of a header that is remembered


def choose(accept: str | None, offered: Sequence[str]) -> str:
    """The media type to answer with; the first where the client has no wish.

    >>> choose("text/csv;q=0.5, application/json;q=0.9, */*;q=0.1", ["application/json", "text/csv"])
    'application/json'
    >>> choose(None, ["text/turtle"])
    'text/turtle'
    """
    if not accept or not accept.strip():
        return offered[0]
    if len(accept) <= _SHORT:
        return _choose_again(accept, tuple(offered))
    return _choose(accept, tuple(offered))


def _choose(accept: str, offered: tuple[str, ...]) -> str:
    ranges = parse_accept(accept)
    best = max(offered, key=lambda offer: _quality(offer, ranges))  # the first of equals
    if _quality(best, ranges) <= 0:
        raise Problem(406, f"none of these media types is acceptable: {', '.join(offered)}")
    return best


_choose_again = lru_cache(256)(_choose)


def wants(accept: str | None, media_type: str) -> bool:
    """Whether a client names a media type; a wildcard does not count."""
    if accept is None:
        return False
    return _wants_again(accept, media_type) if len(accept) <= _SHORT else _wants(accept, media_type)


def _wants(accept: str, media_type: str) -> bool:
    return any(f"{kind}/{subtype}" == media_type and q > 0 for kind, subtype, q in parse_accept(accept))


_wants_again = lru_cache(256)(_wants)


def parse_accept(accept: str) -> list[Range]:
    """The media ranges of a header, with their q-values. What cannot be read is left out."""
    found = []
    for part in accept.lower().split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        kind, slash, subtype = media.partition("/")
        if media == "*":
            kind, slash, subtype = "*", "/", "*"
        if not slash:
            continue
        q = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    q = min(max(float(value), 0.0), 1.0)
                except ValueError:
                    q = 0.0
        found.append((kind, subtype, q))
    return found


def _quality(offer: str, ranges: Sequence[Range]) -> float:
    """The q-value of the most specific range that has the media type."""
    kind, _, subtype = offer.partition("/")
    for wanted in ((kind, subtype), (kind, "*"), ("*", "*")):
        found = [q for range_kind, range_subtype, q in ranges if (range_kind, range_subtype) == wanted]
        if found:
            return max(found)
    return 0.0
