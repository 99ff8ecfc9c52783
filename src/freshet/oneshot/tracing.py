"""Evaluation that remembers: every solution points to what it was made of.

A query is rewritten so that solutions carry columns of numbers beside their variables. A number of a leaf (a basic
graph pattern, a path or SERVICE) is one of its solutions; that of DISTINCT or GROUP BY is a set of solutions below it;
a mark says which branch of a UNION a solution came through, whether an OPTIONAL matched, and what it passed where
nothing must match. Joins, filters and the rest carry the columns along as they carry any other, so they are the
operators of plain evaluation.

| query                      | solution | columns                       |
| -------------------------- | -------- | ----------------------------- |
| { ?x :p ?y } UNION { ... } | x=a, y=1 | leaf 1: number 1, branch 1: 1 |
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import reduce

import numpy as np

from freshet.algebra import nodes
from freshet.algebra.expressions import Exists, Expression
from freshet.algebra.free_variables import variables_of
from freshet.algebra.scope import variables_in_scope
from freshet.oneshot.conditions import rows_by_bound
from freshet.oneshot.dataset import GraphReader, Ids
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.joining import join
from freshet.oneshot.operators.extend import extend_table, hint_below
from freshet.oneshot.operators.filter import filter_table
from freshet.oneshot.operators.group import group_table, grouped_table
from freshet.oneshot.operators.project import project_table
from freshet.oneshot.operators.slice import first_solutions
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Rows, Table, number_groups

_OWN = ".why "  # what the names of the columns begin with
_PLACE = ".place"


class MarkKind(StrEnum):
    """What a mark says about a solution."""

    BRANCH = "branch"
    OPTIONAL = "optional"
    NOTHING = "nothing"  # that must not match, and did not
    SLICE = "slice"


@dataclass(slots=True, eq=False)
class Leaf:
    """The solutions of a pattern, in parts: it may be evaluated in several graphs. Numbers begin with 1."""

    pattern: nodes.BGP | nodes.PathPattern | nodes.Service
    starts: list[int] = field(default_factory=list)
    parts: list[tuple[Table, GraphReader]] = field(default_factory=list)
    count: int = 0

    def add(self, table: Table, graph: GraphReader) -> Ids:
        """Number the solutions of a part."""
        self.starts.append(self.count)
        self.parts.append((table, graph))
        self.count += table.count
        return np.arange(self.count - table.count + 1, self.count + 1)

    def solution(self, number: int) -> tuple[dict[str, int], GraphReader]:
        """A solution, and the graph that it was found in."""
        part = bisect_right(self.starts, number - 1) - 1
        table, graph = self.parts[part]
        row = number - 1 - self.starts[part]
        return {name: int(ids[row]) for name, ids in table.columns.items()}, graph


@dataclass(slots=True, eq=False)
class Sets:
    """Which solutions are one: those of a group, or equal ones. Numbers begin with 1."""

    kind: str  # "group" or "distinct"
    starts: list[int] = field(default_factory=list)
    parts: list[tuple[Table, Rows]] = field(default_factory=list)
    count: int = 0

    def add(self, table: Table, numbers: Rows, count: int) -> Ids:
        """Number the sets of a part: `numbers` says for each solution in which of the `count` it is."""
        self.starts.append(self.count)
        self.parts.append((table, numbers))
        self.count += count
        return np.arange(self.count - count + 1, self.count + 1)

    def members(self, number: int) -> tuple[Table, Rows]:
        """The solutions of a set, as rows of a table."""
        part = bisect_right(self.starts, number - 1) - 1
        table, numbers = self.parts[part]
        return table, np.flatnonzero(numbers == number - 1 - self.starts[part])


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """`value` is the number of the branch of a UNION; `within` the mark without which this one says nothing."""

    kind: MarkKind
    part: object  # of the query
    value: int = 1
    within: str = ""


@dataclass(slots=True, eq=False)
class Trace:
    """What the columns of one evaluation mean, by their names, in the order of the query."""

    columns: dict[str, Leaf | Sets | Mark] = field(default_factory=dict)

    def add(self, meaning: Leaf | Sets | Mark) -> str:
        name = f"{_OWN}{len(self.columns)}"
        self.columns[name] = meaning
        return name


def is_own(name: str) -> bool:
    """Whether a column is one of a trace."""
    return name.startswith(_OWN)


# ---- nodes that add a column


@dataclass(frozen=True, slots=True)
class Traced(nodes.Project):
    """A pattern whose solutions get a column more; for its surroundings it is the pattern."""

    column: str = ""
    trace: Trace = field(default_factory=Trace, compare=False)


@dataclass(frozen=True, slots=True)
class TracedLeaf(Traced):
    """A basic graph pattern or a path: the number of the solution."""


@dataclass(frozen=True, slots=True)
class TracedService(nodes.Service):
    """SERVICE, likewise."""

    column: str = ""
    trace: Trace = field(default_factory=Trace, compare=False)


@dataclass(frozen=True, slots=True)
class Marked(Traced):
    """Any pattern: the value of a mark."""


@dataclass(frozen=True, slots=True)
class TracedProject(Traced):
    """SELECT: no new column, but those of below are kept."""


@dataclass(frozen=True, slots=True)
class TracedDistinct(nodes.Distinct):
    """DISTINCT: the number of the set of equal solutions."""

    column: str = ""
    trace: Trace = field(default_factory=Trace, compare=False)


@dataclass(frozen=True, slots=True)
class TracedGroup(nodes.Group):
    """GROUP BY: the number of the group."""

    column: str = ""
    trace: Trace = field(default_factory=Trace, compare=False)


@dataclass(frozen=True, slots=True)
class Witness:
    """A pattern of EXISTS as it is and traced, and the column that says whether it had a solution (1, else 2)."""

    pattern: nodes.Node
    traced: nodes.Node
    column: str


@dataclass(frozen=True, slots=True)
class WitnessedFilter(nodes.Filter):
    """FILTER with EXISTS: the columns of one solution of each pattern that has some."""

    witnesses: tuple[Witness, ...] = ()


@dataclass(frozen=True, slots=True)
class WitnessedExtend(nodes.Extend):
    """BIND with EXISTS, likewise."""

    witnesses: tuple[Witness, ...] = ()


def trace_pattern(node: nodes.Node, trace: Trace) -> nodes.Node:
    """The same with columns that say what solutions are made of."""
    match node:
        case nodes.BGP(()):
            return node
        case nodes.Service(endpoint, child, silent):
            return TracedService(endpoint, child, silent, trace.add(Leaf(node)), trace)
        case nodes.BGP() | nodes.PathPattern():
            return TracedLeaf(node, variables_in_scope(node), trace.add(Leaf(node)), trace)
        case nodes.Project(child, variables):
            return TracedProject(trace_pattern(child, trace), variables, "", trace)
        case nodes.Distinct(child) | nodes.Reduced(child):
            column = trace.add(Sets("distinct"))
            return TracedDistinct(trace_pattern(child, trace), column, trace)
        case nodes.Group(child, keys, aggregates):
            column = trace.add(Sets("group"))
            return TracedGroup(trace_pattern(child, trace), keys, aggregates, column, trace)
        case nodes.Union():
            branches = enumerate(_branches(node), 1)
            return reduce(nodes.Union, [_mark(MarkKind.BRANCH, each, each, trace, number) for number, each in branches])
        case nodes.LeftJoin(left, right, _):
            reached = trace.add(Mark(MarkKind.OPTIONAL, right))
            left = trace_pattern(left, trace)
            matched = _mark(MarkKind.OPTIONAL, right, right, trace, within=reached)
            joined = replace(node, left=left, right=matched)
            return Marked(joined, variables_in_scope(node), reached, trace)
        case nodes.Minus(left, right):
            return _mark(MarkKind.NOTHING, node, replace(node, left=trace_pattern(left, trace)), trace, is_traced=True)
        case nodes.Filter(condition, child):
            return WitnessedFilter(condition, trace_pattern(child, trace), _witnesses(condition, trace))
        case nodes.Extend(child, variable, expression):
            below = trace_pattern(child, trace)
            return WitnessedExtend(below, variable, expression, _witnesses(expression, trace))
        case nodes.Slice(child):
            return _mark(MarkKind.SLICE, node, replace(node, child=trace_pattern(child, trace)), trace, is_traced=True)
        case nodes.Join(left, right):
            return nodes.Join(trace_pattern(left, trace), trace_pattern(right, trace))
        case nodes.OrderBy() | nodes.Graph() | nodes.Window():
            return replace(node, child=trace_pattern(node.child, trace))
        case nodes.Values():
            return node
    raise TypeError(f"no trace is defined for {type(node).__name__}")


def _mark(
    kind: MarkKind,
    part: object,
    node: nodes.Node,
    trace: Trace,
    value: int = 1,
    within: str = "",
    *,
    is_traced: bool = False,
) -> nodes.Node:
    column = trace.add(Mark(kind, part, value, within))
    traced = node if is_traced else trace_pattern(node, trace)
    return Marked(traced, variables_in_scope(node), column, trace)


def _branches(node: nodes.Node) -> list[nodes.Node]:
    return [*_branches(node.left), *_branches(node.right)] if isinstance(node, nodes.Union) else [node]


def _witnesses(expression: Expression, trace: Trace) -> tuple[Witness, ...]:
    return tuple(
        Witness(each.pattern, trace_pattern(each.pattern, trace), trace.add(Mark(MarkKind.NOTHING, each, 2)))
        for each in _patterns_in(expression)
    )


def _patterns_in(part: object) -> Iterator[Exists]:
    """The EXISTS of an expression, but not those within others."""
    if isinstance(part, Exists):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _patterns_in(each)
    elif isinstance(part, Expression):
        for place in fields(part):
            yield from _patterns_in(getattr(part, place.name))


# ---- their evaluation


@operator.register
def _(node: TracedLeaf, scope: Scope) -> Table:
    return _with_leaf(node, evaluate(node.child, scope), scope)


@operator.register
def _(node: TracedService, scope: Scope) -> Table:
    return _with_leaf(node, operator.dispatch(nodes.Service)(node, scope), scope)


def _with_leaf(node: TracedLeaf | TracedService, table: Table, scope: Scope) -> Table:
    leaf = node.trace.columns[node.column]
    assert isinstance(leaf, Leaf)
    return Table({**table.columns, node.column: leaf.add(table, scope.graph)}, table.count)


@operator.register
def _(node: Marked, scope: Scope) -> Table:
    table = evaluate(node.child, scope)
    mark = node.trace.columns[node.column]
    assert isinstance(mark, Mark)
    return Table({**table.columns, node.column: np.full(table.count, mark.value, np.int64)}, table.count)


@operator.register
def _(node: TracedProject, scope: Scope) -> Table:
    names = [variable.name for variable in node.variables]
    table = evaluate(node.child, scope.select(names))
    return project_table(table, [*names, *filter(is_own, table.columns)])


@operator.register
def _(node: TracedDistinct, scope: Scope) -> Table:
    table = evaluate(node.child, scope)
    names = [name for name in table.columns if not is_own(name)]
    numbers, firsts = number_groups(table, names)
    result = table.select(names).take(firsts)
    sets = node.trace.columns[node.column]
    assert isinstance(sets, Sets)
    return Table({**result.columns, node.column: sets.add(table, numbers, result.count)}, result.count)


@operator.register
def _(node: TracedGroup, scope: Scope) -> Table:
    table = grouped_table(node, scope)
    result, numbers = group_table(table, node, scope)
    sets = node.trace.columns[node.column]
    assert isinstance(sets, Sets)
    return Table({**result.columns, node.column: sets.add(table, numbers, result.count)}, result.count)


@operator.register
def _(node: WitnessedFilter, scope: Scope) -> Table:
    return _with_witnesses(filter_table(evaluate(node.child, scope), node, scope), node.witnesses, scope)


@operator.register
def _(node: WitnessedExtend, scope: Scope) -> Table:
    child = evaluate(node.child, scope.with_hint(hint_below(node, scope)))
    return extend_table(_with_witnesses(child, node.witnesses, scope), node, scope)


def _with_witnesses(table: Table, witnesses: tuple[Witness, ...], scope: Scope) -> Table:
    for each in witnesses:
        table = _with_witness(table, each, scope)
    return table


def _with_witness(table: Table, witness: Witness, scope: Scope) -> Table:
    """Each row with the columns of the first solution that EXISTS finds for it, and with whether it finds any."""
    names = variables_of(witness.pattern)
    outer = Table({name: ids for name, ids in table.columns.items() if name in names}, table.count)
    own = {witness.column: np.full(table.count, 2, np.int64)}
    for rows in rows_by_bound(outer):
        some = outer.take(rows).bound_columns()
        numbers, firsts = number_groups(some, tuple(some.columns))
        given = some.take(firsts)
        bound = given if given.columns else None
        found = evaluate(witness.traced, replace(scope, outer=bound, hint=bound))
        joined = join(Table({**given.columns, _PLACE: np.arange(given.count)}, given.count), found)
        first = joined.take(number_groups(joined, [_PLACE])[1])
        values = {name: first.column(name) for name in found.columns if is_own(name)}
        for name, ids in {**values, witness.column: np.ones(first.count, np.int64)}.items():
            chosen = np.full(given.count, 2 if name == witness.column else 0, np.int64)
            chosen[first.column(_PLACE)] = ids
            own.setdefault(name, np.zeros(table.count, np.int64))[rows] = chosen[numbers]
    return Table({**table.columns, **own}, table.count)


@first_solutions.register
def _(node: Traced, scope: Scope, limit: int) -> Table:
    return evaluate(node, scope)


@first_solutions.register(WitnessedFilter)
@first_solutions.register(WitnessedExtend)
def _(node: WitnessedFilter | WitnessedExtend, scope: Scope, limit: int) -> Table:
    return evaluate(node, scope)
