"""RML mappings: what to map, not where it runs. What Freshet does not map yet the reader refuses by name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from freshet.rdf.terms import Iri, Term


class TermType(StrEnum):
    """What kind of term a term map makes."""

    IRI = "IRI"
    BLANK_NODE = "BlankNode"
    LITERAL = "Literal"


class Formulation(StrEnum):
    """How references are written."""

    JSON = "JSONPath"
    CSV = "CSV"


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in a record: the keys to follow in JSON, or the one name of a CSV column."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class TermMap:
    """Makes a term of a record: a constant, or its parts joined; a reference is a template of one part.

    `parts` alternates freely between texts and references. `encoded` says that references go into an IRI and are
    percent-encoded there, as templates want.
    """

    type: TermType
    constant: Term | None = None
    parts: tuple[str | Reference, ...] = ()
    encoded: bool = False
    datatype: Iri | None = None
    language: str | None = None

    @property
    def references(self) -> tuple[Reference, ...]:
        return tuple(part for part in self.parts if isinstance(part, Reference))


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """Makes triples of each record: every subject with every pair of predicate and object."""

    name: str
    formulation: Formulation
    subject: TermMap
    pairs: tuple[tuple[TermMap, TermMap], ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """All triples maps of a file."""

    triples_maps: tuple[TriplesMap, ...]
    file: str
