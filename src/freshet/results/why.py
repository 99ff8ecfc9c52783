"""What one row of a report was derived from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from freshet.kernels.json_terms import json_terms
from freshet.rdf.terms import Term, term_key

Statement = tuple[Term, Term, Term]

MOST_MEMBERS = 100  # derivations of a row, and members of a group, that are given unless more are asked for


@dataclass(frozen=True, slots=True)
class WindowElement:
    """An element of a stream that a window held.

    Attributes:
        stream: The stream's IRI.
        window: The name of the window; `window1` and so on where the query's language has no names for them.
        time_ms: The time of the element, in milliseconds.
        triple: Subject, predicate and object.
        record: What it came from: `push:NUMBER/LINE` or `post:KEY/LINE`, `kafka:TOPIC/PARTITION/OFFSET`,
            `file:NAME#LLINE`, or None where that is not known.
        query: The query whose answer it was, where the stream has the answers of a query.
    """

    stream: str
    window: str
    time_ms: int
    triple: Statement
    record: str | None = None
    query: str | None = None

    def json(self) -> dict[str, Any]:
        found = {"stream": self.stream, "window": self.window, "time": self.time_ms, **triple_json(self.triple)}
        return _without_nothing({**found, "record": self.record, "query": self.query})


@dataclass(frozen=True, slots=True)
class StoredTriple:
    """A triple of the stored graph.

    Attributes:
        triple: Subject, predicate and object.
        graph: The named graph, None for the default graph.
        records: What it came from, where a stream left it there and its elements are still known.
    """

    triple: Statement
    graph: str | None = None
    records: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        found = {"graph": self.graph, **triple_json(self.triple), "records": list(self.records)}
        return _without_nothing(found)


@dataclass(frozen=True, slots=True)
class RemoteRow:
    """A solution of SERVICE.

    Attributes:
        endpoint: The endpoint's IRI.
        row: The terms that it gave, by the names of the variables, in order; none where SERVICE SILENT ignored that it
            failed.
    """

    endpoint: str
    row: tuple[tuple[str, Term], ...]

    def json(self) -> dict[str, Any]:
        return {"endpoint": self.endpoint, "row": {name: term_json(term) for name, term in self.row}}


@dataclass(frozen=True, slots=True)
class Members:
    """The solutions that one solution stands for.

    Attributes:
        kind: `group` for those of GROUP BY, `distinct` for equal ones in a sub-select.
        total: How many there are.
        derivations: How some of them were derived.
    """

    kind: str
    total: int
    derivations: tuple[Derivation, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One way in which a row was derived.

    Attributes:
        elements: The elements of windows that its patterns matched.
        stored: The stored triples that its patterns matched.
        branches: The branches of UNION that it came through.
        unmatched: The OPTIONAL patterns that found nothing.
        absent: The patterns of MINUS and NOT EXISTS, which must find nothing, and found nothing.
        slices: The LIMIT and OFFSET that it is within.
        members: The groups that it stands for.
        remote: What the endpoints of SERVICE gave, when they were asked again for the explanation.
    """

    elements: tuple[WindowElement, ...]
    stored: tuple[StoredTriple, ...]
    branches: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    members: tuple[Members, ...] = ()
    remote: tuple[RemoteRow, ...] = ()

    def walk(self) -> Iterator[Derivation]:
        """This one, and those of all members."""
        yield self
        for each in self.members:
            for derivation in each.derivations:
                yield from derivation.walk()

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "elements": [element.json() for element in self.elements],
            "stored": [triple.json() for triple in self.stored],
            "remote": [row.json() for row in self.remote],
            "branches": self.branches,
            "unmatched": self.unmatched,
            "absent": self.absent,
            "slices": self.slices,
            "members": [
                {"kind": each.kind, "total": each.total, "derivations": [one.json() for one in each.derivations]}
                for each in self.members
            ],
        }
        return {name: part for name, part in found.items() if part or name in ("elements", "stored")}


@dataclass(frozen=True, slots=True)
class Why:
    """Why a row was reported: the ways in which it was derived, and what they came from.

    Attributes:
        query: The name of the query.
        time_ms: The time of the evaluation that had the row; of DSTREAM the last one that did.
        row: The terms of the row by the names of its variables.
        total: In how many ways the row was derived.
        derivations: Some of them, or all.
    """

    query: str
    time_ms: int
    row: Mapping[str, Term]
    total: int
    derivations: tuple[Derivation, ...]

    @property
    def elements(self) -> tuple[WindowElement, ...]:
        """The elements of all derivations, each once, in order of time."""
        found = dict.fromkeys(each for one in self._walk() for each in one.elements)
        return tuple(sorted(found, key=lambda element: element.time_ms))

    @property
    def stored(self) -> tuple[StoredTriple, ...]:
        """The stored triples of all derivations, each once."""
        return tuple(dict.fromkeys(each for one in self._walk() for each in one.stored))

    @property
    def remote(self) -> tuple[RemoteRow, ...]:
        """What endpoints gave in all derivations, each once."""
        return tuple(dict.fromkeys(each for one in self._walk() for each in one.remote))

    @property
    def records(self) -> tuple[str, ...]:
        """The source records behind the row, each once, as far as they are known."""
        found = [element.record for element in self.elements if element.record is not None]
        return tuple(dict.fromkeys([*found, *(record for each in self.stored for record in each.records)]))

    def _walk(self) -> Iterator[Derivation]:
        for derivation in self.derivations:
            yield from derivation.walk()

    def json(self) -> dict[str, Any]:
        """The same as an object of JSON."""
        return {
            "query": self.query,
            "time": self.time_ms,
            "row": {name: term_json(term) for name, term in self.row.items()},
            "total": self.total,
            "derivations": [derivation.json() for derivation in self.derivations],
        }


def triple_json(triple: Statement) -> dict[str, Any]:
    """The terms of a triple as SPARQL's JSON results have them."""
    return dict(zip(("subject", "predicate", "object"), map(term_json, triple), strict=True))


def term_json(term: Term) -> dict[str, str]:
    """A term as SPARQL's JSON results have it.

    >>> from freshet.rdf.terms import Iri
    >>> term_json(Iri("http://example.org/a"))
    {'type': 'uri', 'value': 'http://example.org/a'}
    """
    key = np.frombuffer(bytearray(term_key(term).encode()), np.uint8)
    found: dict[str, str] = orjson.loads(json_terms(key, np.array([0, key.size]))[0].tobytes())
    return found


def _without_nothing(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, [])}
