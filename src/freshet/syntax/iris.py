"""Resolving a relative IRI against a base: section 5.2 of RFC 3986, which RFC 3987 takes over for IRIs."""

from __future__ import annotations

import re
from typing import NamedTuple

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)


class IriParts(NamedTuple):
    """The five components; None where one is absent, which is not the same as empty."""

    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None

    def __str__(self) -> str:
        scheme = "" if self.scheme is None else f"{self.scheme}:"
        authority = "" if self.authority is None else f"//{self.authority}"
        query = "" if self.query is None else f"?{self.query}"
        fragment = "" if self.fragment is None else f"#{self.fragment}"
        return f"{scheme}{authority}{self.path}{query}{fragment}"


def split_iri(iri: str) -> IriParts:
    """The components of an IRI or of a relative reference."""
    match = _PARTS.fullmatch(iri)
    assert match is not None, "every string matches: each part may be empty"
    return IriParts(*match.groups())


def resolve(base: str, reference: str) -> str:
    """The IRI that a reference means with a base.

    An absolute reference stays as it is written, so that a query finds the very IRIs that it names.

    >>> resolve("http://a/b/c/d;p?q", "../g")
    'http://a/b/g'
    """
    target = split_iri(reference)
    if target.scheme is not None:
        return reference
    origin = split_iri(base)
    if target.authority is not None:
        return str(target._replace(scheme=origin.scheme, path=_remove_dot_segments(target.path)))
    if not target.path:
        query = origin.query if target.query is None else target.query
        return str(origin._replace(query=query, fragment=target.fragment))
    path = target.path if target.path.startswith("/") else _merge(origin, target.path)
    return str(target._replace(scheme=origin.scheme, authority=origin.authority, path=_remove_dot_segments(path)))


def _merge(base: IriParts, path: str) -> str:
    if base.authority is not None and not base.path:
        return f"/{path}"
    return base.path[: base.path.rfind("/") + 1] + path


def _remove_dot_segments(path: str) -> str:
    """Section 5.2.4, a segment at a time.

    >>> _remove_dot_segments("/a/b/c/./../../g"), _remove_dot_segments("mid/content=5/../6")
    ('/a/g', 'mid/6')
    """
    kept: list[str] = []
    rooted = path.startswith("/")
    segments = path[1:].split("/") if rooted else path.split("/")
    for segment in segments[:-1]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    last = segments[-1]
    if last == "..":
        del kept[-1:]
    kept.append("" if last in (".", "..") else last)
    return ("/" if rooted else "") + "/".join(kept)
