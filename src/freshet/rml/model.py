"""RML mappings: what to map, not where it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

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
    TRIPLE = "Triple"


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


class QuotedTriple(NamedTuple):
    """A triple as a term (RML-star). As a blank node it is the node that reifies the triple, the same for equal ones:
    in RDF 1.2 a triple is no subject."""

    subject: TermMap
    predicate: TermMap
    object: TermMap


Expression = Reference | Template | Call | EachRecord | QuotedTriple | Term  # a term is a constant


class CollectionKind(StrEnum):
    """What members are gathered as: an RDF list, or a container."""

    LIST = "List"
    BAG = "Bag"
    SEQ = "Seq"
    ALT = "Alt"


@dataclass(frozen=True, slots=True)
class Gather:
    """The members of a collection or container, whose node the term is (RML-CC).

    `number` identifies a gather map of the mapping. `empty`: one without members is made too. `product`: there is one
    for each choice of a value of every member, instead of one with all values.
    """

    number: int
    kind: CollectionKind
    members: tuple[TermMap | ParentObject, ...]
    empty: bool = False
    product: bool = False


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
    gather: Gather | None = None


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
class QuotedTriples:
    """Terms that are the triples of another triples map, of the same record or of records that join it (RML-star)."""

    parent: str
    conditions: tuple[JoinCondition, ...] = ()
    window: JoinWindow | None = None
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True, slots=True)
class PredicateObjectMap:
    predicates: tuple[TermMap, ...]
    objects: tuple[TermMap | ParentObject | QuotedTriples, ...]
    graphs: tuple[TermMap, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """A file that output goes to instead of the usual; `format` as the command line names it (nq, nt, ttl, ...).

    Of an `endpoint` the path is the address to which updates are sent, or `kafka://HOST:PORT/TOPIC`.
    """

    path: str
    format: str
    compression: str = "none"
    encoding: str = "UTF-8"
    endpoint: bool = False


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """Makes triples of each record of a source. Those of one that is not `asserted` are only quoted by others."""

    name: str
    source: LogicalSource
    subject: TermMap | QuotedTriples
    classes: tuple[Iri, ...] = ()
    graphs: tuple[TermMap, ...] = ()
    pairs: tuple[PredicateObjectMap, ...] = ()
    asserted: bool = True

    @property
    def terms(self) -> Iterator[TermMap | ParentObject | QuotedTriples]:
        """Everything that makes terms of its triples."""
        yield self.subject
        yield from self.graphs
        for pair in self.pairs:
            yield from (*pair.predicates, *pair.objects, *pair.graphs)


@dataclass(frozen=True, slots=True)
class Mapping:
    """All triples maps of a file. Relative IRIs are resolved against `base`, where a triples map has no other."""

    triples_maps: tuple[TriplesMap, ...]
    file: str
    base: str | None = None
