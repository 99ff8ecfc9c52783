"""RML mappings: what to map, not where it runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from freshet.rdf.terms import Iri, Term
from freshet.rml.sources import LogicalSource
from freshet.rml.windows import JoinWindow


class TermType(StrEnum):
    """What kind of term a term map makes. Unsafe ones are not percent-encoded; URIs are encoded to ASCII."""

    IRI = "IRI"
    URI = "URI"
    UNSAFE_IRI = "UnsafeIRI"
    UNSAFE_URI = "UnsafeURI"
    BLANK_NODE = "BlankNode"
    LITERAL = "Literal"


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in a record, as the mapping writes it. In joined records `side` says whose: child or parent."""

    text: str
    side: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Template:
    """Texts and references joined."""

    parts: tuple[str | Reference, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to what term maps make of the record; `output` says which of its results is meant."""

    function: Iri
    inputs: tuple[tuple[Iri, TermMap], ...]
    output: Iri | None = None


@dataclass(frozen=True, slots=True)
class EachRecord:
    """A blank node for each record, which no other record has. In joined records `side` says whose."""

    side: str = ""


Expression = Reference | Template | Call | EachRecord | Term  # a term is a constant


@dataclass(frozen=True, slots=True)
class TermMap:
    """Makes terms of a record: none where the condition is there and not true.

    Relative IRIs are resolved against `base`. A constant language or datatype is one that no record changes.
    """

    type: TermType
    expression: Expression
    datatype: Iri | TermMap | None = None
    language: str | TermMap | None = None
    targets: tuple[Target, ...] = ()
    condition: Call | None = None
    base: str | None = None


@dataclass(frozen=True, slots=True)
class JoinCondition:
    child: Expression
    parent: Expression


@dataclass(frozen=True, slots=True)
class ParentObject:
    """Objects that are the subjects of another triples map, of the same record or of records that join it."""

    parent: str  # the name of the triples map
    conditions: tuple[JoinCondition, ...] = ()
    window: JoinWindow | None = None
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True, slots=True)
class PredicateObjectMap:
    predicates: tuple[TermMap, ...]
    objects: tuple[TermMap | ParentObject, ...]
    graphs: tuple[TermMap, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """A file that output goes to instead of the usual; `format` as the command line names it (nq, nt, ttl, ...)."""

    path: str
    format: str
    compression: str = "none"
    encoding: str = "UTF-8"


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """Makes triples of each record of a source."""

    name: str
    source: LogicalSource
    subject: TermMap
    classes: tuple[Iri, ...] = ()
    graphs: tuple[TermMap, ...] = ()
    pairs: tuple[PredicateObjectMap, ...] = ()


@dataclass(frozen=True, slots=True)
class Mapping:
    """All triples maps of a file. Relative IRIs are resolved against `base`, where a triples map has no other."""

    triples_maps: tuple[TriplesMap, ...]
    file: str
    base: str | None = None
