"""The query algebra: section 18 of SPARQL 1.1, plus windows and reports. Frozen dataclasses, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from freshet.algebra.expressions import Aggregate, Expression, Variable
from freshet.algebra.windows import WindowDeclaration
from freshet.rdf.terms import BlankNode, Iri, Term

PatternTerm = Term | Variable


@dataclass(frozen=True, slots=True)
class Node:
    """Any operator of the algebra."""


# ---- property paths (18.1.7)


@dataclass(frozen=True, slots=True)
class Path:
    """Any property path."""


@dataclass(frozen=True, slots=True)
class Link(Path):
    """One predicate."""

    predicate: Iri


@dataclass(frozen=True, slots=True)
class Inverse(Path):
    """`^path`"""

    path: Path


@dataclass(frozen=True, slots=True)
class Sequence(Path):
    """`left / right`"""

    left: Path
    right: Path


@dataclass(frozen=True, slots=True)
class Alternative(Path):
    """`left | right`"""

    left: Path
    right: Path


@dataclass(frozen=True, slots=True)
class Repeat(Path):
    """`path*` (least 0), `path+` (least 1), `path?` (least 0, once)"""

    path: Path
    least: int
    once: bool = False


@dataclass(frozen=True, slots=True)
class NegatedPropertySet(Path):
    """`!(forward | ^backward)`"""

    forward: tuple[Iri, ...]
    backward: tuple[Iri, ...] = ()


# ---- graph patterns (18.2)


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """A triple with variables. A blank node of the query is a variable whose name starts with a dot."""

    subject: PatternTerm
    predicate: PatternTerm
    object: PatternTerm


@dataclass(frozen=True, slots=True)
class QuadPattern:
    """A triple of a template, and its graph: None for the one that an update writes to.

    A blank node names another graph for each solution; only CONSTRUCT has that.
    """

    graph: Iri | Variable | BlankNode | None
    triple: TriplePattern


@dataclass(frozen=True, slots=True)
class BGP(Node):
    """Basic graph pattern: all triples match."""

    patterns: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class PathPattern(Node):
    """A property path between two ends."""

    subject: PatternTerm
    path: Path
    object: PatternTerm


@dataclass(frozen=True, slots=True)
class Join(Node):
    """Both, compatible."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class LeftJoin(Node):
    """OPTIONAL, with its filter or None."""

    left: Node
    right: Node
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """Solutions for which the condition is true."""

    condition: Expression
    child: Node


@dataclass(frozen=True, slots=True)
class Union(Node):
    """Solutions of either."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Minus(Node):
    """Solutions of left that no solution of right is compatible with."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Graph(Node):
    """`GRAPH name { child }` on the stored graph."""

    name: Iri | Variable
    child: Node


@dataclass(frozen=True, slots=True)
class Window(Node):
    """`WINDOW name { child }`: child matched in a window's content.

    `stream` is the variable of CQELS-QL's `STREAM ?stream [...] { }`, bound to the stream whose window it is.
    """

    name: Iri | Variable
    child: Node
    stream: Variable | None = None


@dataclass(frozen=True, slots=True)
class Service(Node):
    """`SERVICE [SILENT] endpoint { child }`"""

    endpoint: Iri | Variable
    child: Node
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Extend(Node):
    """BIND, or `(expression AS ?variable)` in SELECT."""

    child: Node
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Values(Node):
    """Inline data; None is UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Group(Node):
    """GROUP BY keys, with the aggregates computed for each group, each under a variable of its own.

    A key that is an expression has been given a variable by an Extend below. No keys: one group of everything.
    """

    child: Node
    keys: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]


# ---- solution modifiers (18.2.4, 18.2.5)


@dataclass(frozen=True, slots=True)
class OrderCondition:
    """One key of ORDER BY."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class OrderBy(Node):
    """Solutions in order."""

    child: Node
    conditions: tuple[OrderCondition, ...]


@dataclass(frozen=True, slots=True)
class Project(Node):
    """SELECT's variables. A sub-select is a Project inside a pattern."""

    child: Node
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Distinct(Node):
    """No solution twice."""

    child: Node


@dataclass(frozen=True, slots=True)
class Reduced(Node):
    """Perhaps no solution twice."""

    child: Node


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """OFFSET and LIMIT; limit None is no limit."""

    child: Node
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Describe(Node):
    """The triples that describe resources, which are given or found by child; under the variables of DESCRIBED."""

    child: Node
    resources: tuple[PatternTerm, ...]


DESCRIBED = TriplePattern(Variable(".subject"), Variable(".predicate"), Variable(".object"))


# ---- queries


class StreamOperator(StrEnum):
    """R2S: what a report puts out."""

    RSTREAM = "rstream"
    ISTREAM = "istream"
    DSTREAM = "dstream"


class QueryForm(StrEnum):
    """What a query gives."""

    SELECT = "select"
    CONSTRUCT = "construct"
    ASK = "ask"
    DESCRIBE = "describe"


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query, continuous where it has windows.

    `name` is what REGISTER calls it, or None. `default_graphs` and `named_graphs` come from FROM and FROM NAMED.
    `template` belongs to CONSTRUCT, where triples in GRAPH are quads, and `resources` to DESCRIBE; `root` is the
    pattern with its solution modifiers.
    `base` is what BASE says: IRIs in the query are resolved already, only the function IRI still needs it.
    `prefixes` are for showing the query as it was written, and no part of what it means.
    With `merged` (C-SPARQL) a pattern outside of windows matches the merge of all windows with the default graph;
    `period_ms` is what COMPUTED EVERY says. `accuracy` and `latency_ms` are what WITH ACCURACY >= and WITH LATENCY <=
    ask of answers that take remote data.
    """

    form: QueryForm
    root: Node
    name: str | None = None
    windows: tuple[WindowDeclaration, ...] = ()
    output: StreamOperator = StreamOperator.RSTREAM
    default_graphs: tuple[Iri, ...] = ()
    named_graphs: tuple[Iri, ...] = ()
    template: tuple[TriplePattern | QuadPattern, ...] = ()
    resources: tuple[PatternTerm, ...] = ()
    base: str | None = None
    merged: bool = False
    period_ms: int | None = None
    accuracy: float | None = None
    latency_ms: int | None = None
    prefixes: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
