"""SPARQL 1.1 Update (https://www.w3.org/TR/sparql11-update/): operations on a graph store. No behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from freshet.algebra.nodes import Node, QuadPattern
from freshet.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class Operation:
    """Any operation."""


@dataclass(frozen=True, slots=True)
class Modify(Operation):
    """Delete and insert what templates make of the solutions of a pattern (3.1.3); data have the empty pattern.

    `written` is the graph of WITH. Where `using` or `using_named` is given, it is these that the pattern reads.
    """

    deleted: tuple[QuadPattern, ...]
    inserted: tuple[QuadPattern, ...]
    pattern: Node
    written: Iri | None = None
    using: tuple[Iri, ...] = ()
    using_named: tuple[Iri, ...] = ()


@dataclass(frozen=True, slots=True)
class Load(Operation):
    """Read a document into a graph, or into the default graph (3.1.4)."""

    source: Iri
    into: Iri | None
    silent: bool


class GraphKind(StrEnum):
    """More graphs than one, or the one without a name."""

    DEFAULT = "default"
    NAMED = "named"
    ALL = "all"


GraphTarget = Iri | GraphKind


@dataclass(frozen=True, slots=True)
class Clear(Operation):
    """Empty graphs (3.1.5); with `drop` they are no more (3.2.2)."""

    target: GraphTarget
    silent: bool
    drop: bool


@dataclass(frozen=True, slots=True)
class Create(Operation):
    """Make an empty graph (3.2.1)."""

    graph: Iri
    silent: bool


class TransferKind(StrEnum):
    """What happens to the graphs at both ends (3.2.3 to 3.2.5)."""

    ADD = "add"
    COPY = "copy"
    MOVE = "move"


@dataclass(frozen=True, slots=True)
class Transfer(Operation):
    """ADD, COPY or MOVE from one graph to another; None is the default graph."""

    kind: TransferKind
    source: Iri | None
    destination: Iri | None
    silent: bool


@dataclass(frozen=True, slots=True)
class Update:
    """A request: operations that are done in order, all of them or none."""

    operations: tuple[Operation, ...]
    base: str | None = None
