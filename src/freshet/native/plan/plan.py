"""What the native engine runs: a tree of operators, each of which follows changes of what stands below it."""

from __future__ import annotations

from dataclasses import dataclass

from freshet.algebra.expressions import Aggregate, Call, Expression, Variable
from freshet.algebra.nodes import Node, OrderCondition, QuadPattern, QueryForm, Service, StreamOperator, TriplePattern
from freshet.algebra.windows import WindowOperator
from freshet.rdf.terms import Iri, Term
from freshet.results.report import QUAD, TRIPLE

Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored graph: the default graph where there is no name."""

    graph: Iri | None = None


Source = WindowOperator | Stored


@dataclass(frozen=True, slots=True)
class PlanNode:
    """Any operator. `names` are the variables it can bind, `certain` those it binds in every row."""

    names: Names
    certain: Names


@dataclass(frozen=True, slots=True)
class PlanLeaf(PlanNode):
    """A triple pattern in a window's content or a stored graph."""

    source: Source
    pattern: TriplePattern


@dataclass(frozen=True, slots=True)
class PlanJoin(PlanNode):
    """All inputs, compatible; with the conditions that can be tested as soon as their variables are bound."""

    inputs: tuple[PlanNode, ...]
    conditions: tuple[PlanCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanCondition:
    """A condition, which sees the variables of its own group only."""

    expression: Expression
    scope: Names


@dataclass(frozen=True, slots=True)
class PlanFilter(PlanNode):
    """The rows for which a condition holds."""

    child: PlanNode
    condition: Expression


@dataclass(frozen=True, slots=True)
class PlanExtend(PlanNode):
    """A variable computed from others."""

    child: PlanNode
    variable: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class PlanDraw(PlanNode):
    """A variable whose value is drawn for each row when it comes."""

    child: PlanNode
    variable: str
    expression: Call


@dataclass(frozen=True, slots=True)
class PlanMoment(PlanNode):
    """One row, with the time of the evaluation."""

    variable: str


@dataclass(frozen=True, slots=True)
class PlanLeftJoin(PlanNode):
    """OPTIONAL."""

    left: PlanNode
    right: PlanNode
    condition: Expression | None


@dataclass(frozen=True, slots=True)
class PlanNegation(PlanNode):
    """The rows of left that have no match (or, not `negated`, one) in right.

    A match is a compatible row for which the condition holds. With `overlapping` (MINUS) it also has to share a bound
    variable.
    """

    left: PlanNode
    right: PlanNode
    condition: Expression | None
    negated: bool
    overlapping: bool


@dataclass(frozen=True, slots=True)
class PlanUnion(PlanNode):
    """The rows of all."""

    children: tuple[PlanNode, ...]


@dataclass(frozen=True, slots=True)
class PlanValues(PlanNode):
    """Inline data."""

    variables: tuple[str, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class PlanProject(PlanNode):
    """Some of the variables."""

    child: PlanNode


@dataclass(frozen=True, slots=True)
class PlanDistinct(PlanNode):
    """No row twice."""

    child: PlanNode


@dataclass(frozen=True, slots=True)
class PlanShared(PlanNode):
    """Rows that others read too, under a number: what is below is asked once a step."""

    child: PlanNode
    number: int


@dataclass(frozen=True, slots=True)
class PlanSharedRead(PlanNode):
    """The rows of a PlanShared, which stands to the left of it in the plan."""

    number: int


@dataclass(frozen=True, slots=True)
class PlanGroup(PlanNode):
    """Keys and aggregates, each aggregate under its variable; `rows` are the visible variables of a row below."""

    child: PlanNode
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanOrdered(PlanNode):
    """ORDER BY, DISTINCT, OFFSET and LIMIT over all rows, whenever these have changed and the answer is asked for."""

    child: PlanNode
    conditions: tuple[OrderCondition, ...]
    variables: tuple[str, ...]
    distinct: bool
    offset: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class PlanCache(PlanNode):
    """A join of stored patterns that is kept as rows of its own, with indexes, and follows the stored graph."""

    child: PlanNode


@dataclass(frozen=True, slots=True)
class PlanService(PlanNode):
    """SERVICE: a local view of what a pattern has at an endpoint, or at each that a variable is bound to."""

    endpoint: Iri | Variable
    pattern: Node
    silent: bool


@dataclass(frozen=True, slots=True)
class PlanParameters(PlanNode):
    """The constants of all queries that share a plan, a row each."""

    count: int


@dataclass(frozen=True, slots=True)
class PlanReevaluate(PlanNode):
    """What is evaluated anew whenever a graph that it reads has changed, and why.

    `graphs` are the graphs by the names that the node has for them, None for the default graph. Where it may look
    into any named graph, `named` are those that the query sees (None: all). With `services` in it, or NOW
    (`asks_time`), it is evaluated anew every time.
    """

    node: Node
    graphs: tuple[tuple[Iri | None, tuple[Source, ...]], ...]
    named: frozenset[Iri] | None
    reads_all_named: bool
    reason: str
    services: tuple[Service, ...] = ()
    asks_time: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A query in the shape that the engine keeps answered.

    With a `template` (CONSTRUCT) the report is a graph, or graphs with names if the template has any.
    """

    root: PlanNode
    windows: tuple[WindowOperator, ...]
    variables: tuple[str, ...]
    output: StreamOperator
    template: tuple[TriplePattern | QuadPattern, ...] | None = None
    live_form: QueryForm = QueryForm.SELECT  # what the solutions of a live query are reported as

    @property
    def graph_columns(self) -> tuple[str, ...] | None:
        """The columns of what a CONSTRUCT reports; None where solutions are reported."""
        if self.live_form in (QueryForm.CONSTRUCT, QueryForm.DESCRIBE):
            return TRIPLE
        if self.template is None:
            return None
        return QUAD if any(isinstance(pattern, QuadPattern) for pattern in self.template) else TRIPLE


def children(node: PlanNode) -> tuple[PlanNode, ...]:
    """The operators right below one."""
    match node:
        case PlanJoin(inputs=below) | PlanUnion(children=below):
            return below
        case PlanLeftJoin(left=left, right=right) | PlanNegation(left=left, right=right):
            return left, right
        case (
            PlanFilter(child=child)
            | PlanExtend(child=child)
            | PlanDraw(child=child)
            | PlanProject(child=child)
            | PlanDistinct(child=child)
            | PlanShared(child=child)
            | PlanGroup(child=child)
            | PlanOrdered(child=child)
            | PlanCache(child=child)
        ):
            return (child,)
    return ()
