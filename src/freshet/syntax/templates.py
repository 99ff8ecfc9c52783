"""Queries that differ from one before in names only are not parsed again: the names are put into its algebra.

Clients send the same query about one resource after another. The key is the text without its IRIs and prefixed
names. The second query with a key is parsed with a note of the names that became whole terms of patterns, templates,
VALUES, GRAPH or DESCRIBE: its slots. Every other name, also in expressions, paths, strings and comments, has to be the
same again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from freshet.algebra.nodes import (
    BGP,
    Describe,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    PathPattern,
    Project,
    QuadPattern,
    Query,
    Reduced,
    Slice,
    TriplePattern,
    Union,
    Values,
)
from freshet.rdf.errors import FreshetError
from freshet.rdf.terms import Iri
from freshet.syntax.driver import driver
from freshet.syntax.iris import resolve
from freshet.syntax.parser import check_depth, parse_query, parse_tree
from freshet.syntax.source import Source
from freshet.syntax.transform_query import QueryTransformer
from freshet.syntax.tree import Token

_NAMES = re.compile(r"""(<[^\x00-\x20<>"{}|^`\\\ud800-\udfff]*>|[\w-]*:[\w-]*(?:\.+[\w-]+)*)""")
_LONGEST = 4_000  # characters of a query that is worth a template
_MOST = 1_024  # templates
_AFTER = frozenset(" \t\r\n.;,)}]")  # after a name: nothing that could belong to it
_TRIED = Iri("urn:x-freshet:name")
_OPENED = (
    BGP,
    Describe,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    PathPattern,
    Project,
    QuadPattern,
    Reduced,
    Slice,
    TriplePattern,
    Union,
    Values,
)

Build = Callable[[Sequence[Iri]], Any]


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed query: which of its names are slots, what the others are, and how to put IRIs into the slots."""

    names: tuple[str, ...]
    slots: tuple[int, ...]
    fixed: tuple[int, ...]
    base: str | None
    prefixes: dict[str, str]
    build: Build

    def query(self, names: Sequence[str]) -> Query | None:
        """The query with other names; None where they do not fit."""
        if any(names[at] != self.names[at] for at in self.fixed):
            return None
        iris = []
        for at in self.slots:
            iri = self._iri(names[at], self.names[at])
            if iri is None:
                return None
            iris.append(iri)
        query: Query = self.build(iris)
        return query

    def _iri(self, name: str, before: str) -> Iri | None:
        if (name[0] == "<") != (before[0] == "<"):
            return None
        if name[0] == "<":
            value = name[1:-1]
            return Iri(value if self.base is None else resolve(self.base, value))
        prefix, _, local = name.partition(":")
        namespace = self.prefixes.get(prefix)
        if namespace is None or not driver().is_terminal(name, "PNAME"):
            return None
        return Iri(namespace + local)


class QueryTemplates:
    """The templates of the newest queries, by what stands around their names."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str | None, ...], Template | bool] = {}  # or whether it is worth making one

    def parse(self, text: str, *, file: str | None = None, dialect: str | None = None) -> Query:
        """The query that a text says, as `parse_query` has it."""
        start = text.find("{")
        if len(text) > _LONGEST or start < 0 or "\\" in text:
            return parse_query(text, file=file, dialect=dialect)
        pieces = _NAMES.split(text[start:])
        names = pieces[1::2]
        key = (dialect, text[:start], *pieces[::2])
        known = self._known.get(key)
        if isinstance(known, Template):
            return known.query(names) or parse_query(text, file=file, dialect=dialect)
        query = parse_query(text, file=file, dialect=dialect)
        if known is not False:
            self._keep(key, False if query.windows else make_template(text, query, dialect) or False if known else True)
        return query

    def _keep(self, key: tuple[str | None, ...], value: Template | bool) -> None:
        with self._lock:
            self._known[key] = value
            if len(self._known) > _MOST:
                del self._known[next(iter(self._known))]


class _Noting(QueryTransformer):
    """Notes which IRI each name became."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, None)
        self.noted: list[tuple[Token, Iri]] = []

    def iri(self, token: Token) -> Iri:
        made = super().iri(token)
        if token.type != "A":
            self.noted.append((token, made))
        return made


def make_template(text: str, query: Query, dialect: str | None = None) -> Template | None:
    """The template of a query; None where no name can be replaced."""
    start = text.find("{")
    matches = list(_NAMES.finditer(text, start))
    spans = {match.span(): at for at, match in enumerate(matches) if text[match.end() : match.end() + 1] in _AFTER}
    source = Source(text)
    tree = parse_tree(source)
    noting = _Noting(source)
    noted = noting.query(tree)
    check_depth(noted, source)
    numbers = {
        id(iri): spans[span]
        for token, iri in noting.noted
        if (span := (token.start, token.start + len(token))) in spans
    }
    found: set[int] = set()
    _find(noted, numbers, found)
    slots = tuple(sorted(found))
    if not slots:
        return None
    places = {name: slots.index(at) for name, at in numbers.items() if at in found}
    names = tuple(match[0] for match in matches)
    fixed = tuple(at for at in range(len(names)) if at not in found)
    build = _builder(noted, places)
    template = Template(names, slots, fixed, query.base, dict(query.prefixes), build or (lambda _: noted))
    return template if _holds(template, text, query, dialect, [matches[at].span() for at in slots]) else None


def _holds(template: Template, text: str, query: Query, dialect: str | None, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether it gives the query that it is made of, and one with other names, as parsing does."""
    if template.query(template.names) != query:
        return False
    pieces, end = [], 0
    for number, (start, stop) in enumerate(spans):
        pieces += [text[end:start], f"<{_TRIED.value}{number}>"]
        end = stop
    try:
        other = parse_query("".join([*pieces, text[end:]]), dialect=dialect)
    except FreshetError:
        return False
    return bool(template.build([Iri(f"{_TRIED.value}{number}") for number in range(len(spans))]) == other)


def _parts(value: Any) -> Sequence[Any] | None:
    """What a part of the algebra consists of, where IRIs in it are just terms; None where it is not opened."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, (*_OPENED, Query)):
        return [getattr(value, each.name) for each in fields(value)]
    return None


def _find(value: Any, numbers: dict[int, int], found: set[int]) -> None:
    """Which names stand where an IRI is just a term."""
    if (number := numbers.get(id(value))) is not None:
        found.add(number)
    for part in _parts(value) or ():
        _find(part, numbers, found)


def _builder(value: Any, places: dict[int, int]) -> Build | None:
    """What makes the value with other IRIs; None where there are none in it."""
    if (place := places.get(id(value))) is not None:
        return lambda iris: iris[place]
    parts = _parts(value)
    builders = [_builder(part, places) for part in parts or ()]
    if parts is None or not any(builders):
        return None
    if isinstance(value, tuple):
        return lambda iris: tuple(
            part if build is None else build(iris) for part, build in zip(parts, builders, strict=True)
        )
    if isinstance(value, Query):
        names = [each.name for each in fields(value)]
        changed = [(name, build) for name, build in zip(names, builders, strict=True) if build is not None]
        return lambda iris: replace(value, **{name: build(iris) for name, build in changed})
    kind = type(value)
    return lambda iris: kind(
        *[part if build is None else build(iris) for part, build in zip(parts, builders, strict=True)]
    )


_TEMPLATES = QueryTemplates()


def parse_like_before(text: str, *, file: str | None = None, dialect: str | None = None) -> Query:
    """The query that a text says, as `parse_query` has it; quicker where one like it came before."""
    return _TEMPLATES.parse(text, file=file, dialect=dialect)
