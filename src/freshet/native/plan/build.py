"""From a plan to operators that hold state. Each is asked only for the variables that operators above it need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod
from itertools import count
from typing import Protocol

from freshet.algebra.expressions import Expression
from freshet.algebra.free_variables import variables_of
from freshet.algebra.windows import WindowOperator
from freshet.native.buffers.inputs import Input
from freshet.native.buffers.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.buffers.leaf_view import LeafView
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import Operator
from freshet.native.measuring import Measurements
from freshet.native.operators.distinct import DistinctOp
from freshet.native.operators.draw import DrawOp
from freshet.native.operators.extend import ExtendOp
from freshet.native.operators.filter import FilterOp
from freshet.native.operators.group_by import GroupByOp
from freshet.native.operators.left_join import LeftJoinOp
from freshet.native.operators.moment import MomentOp
from freshet.native.operators.multiway_join import MultiwayJoinOp, Sight
from freshet.native.operators.negation import NegationOp
from freshet.native.operators.ordered import OrderedOp
from freshet.native.operators.parameters import ParametersOp
from freshet.native.operators.project import ProjectOp
from freshet.native.operators.reevaluate import FollowedGraph, Readers, ReevaluateOp
from freshet.native.operators.scan import ScanOp
from freshet.native.operators.service import Remote
from freshet.native.operators.shared import SharedOp
from freshet.native.operators.union import UnionOp
from freshet.native.operators.values import ValuesOp
from freshet.native.plan.caching import Size
from freshet.native.plan.leaf_patterns import leaf_pattern
from freshet.native.plan.plan import (
    Names,
    PlanCache,
    PlanCondition,
    PlanDistinct,
    PlanDraw,
    PlanExtend,
    PlanFilter,
    PlanGroup,
    PlanJoin,
    PlanLeaf,
    PlanLeftJoin,
    PlanMoment,
    PlanNegation,
    PlanNode,
    PlanOrdered,
    PlanParameters,
    PlanProject,
    PlanReevaluate,
    PlanService,
    PlanShared,
    PlanSharedRead,
    PlanUnion,
    PlanValues,
    Source,
    Stored,
    children,
)
from freshet.native.plan.service_joins import (
    certain_in,
    join_apart,
    last_services,
    left_join_apart,
    may_be_unbound,
    names_in,
    negation_apart,
)
from freshet.native.plan.sharing import QUERY
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError

_EVERY_TRIPLE = LeafPattern((0, 0, 0), ((0,), (1,), (2,)))


class Leaves(Protocol):
    """Where leaf buffers are kept, so that equal ones are shared."""

    def leaf(self, source: Source, pattern: LeafPattern) -> LeafBuffer | LeafView | StoredLeaf: ...
    def copy_of(self, leaf: StoredLeaf) -> RowBuffer | None:
        """The rows of a stored leaf in arrays, where these are few and often asked for."""


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes operators of plan nodes."""

    leaves: Leaves
    readers: Readers
    dictionary: Dictionary
    measurements: Measurements | None = None
    parameters: ParametersOp | None = None
    remote: Remote | None = None
    endless: PlanJoin | None = None  # the join whose results need not end
    copies: bool = True  # whether stored leaves that have few rows are copied
    windows: tuple[WindowOperator, ...] = ()  # of a plan that queries share
    shared: dict[int, SharedOp] = field(default_factory=dict)
    drawn: dict[int, DrawOp] = field(default_factory=dict)  # the last operator of each node that draws values
    numbers: Iterator[int] = field(default_factory=lambda: count(-1, -1))  # of what is shared; plans have their own

    def build(self, node: PlanNode, wanted: Names) -> Operator:
        """The operator of a plan node, with all that is below it."""
        operator = self._operator(node, wanted)
        return operator if self.measurements is None else self.measurements.measure(node, operator)

    @singledispatchmethod
    def _operator(self, node: PlanNode, wanted: Names) -> Operator:
        raise TypeError(f"no operator is known for {type(node).__name__}")

    @_operator.register
    def _(self, node: PlanLeaf, wanted: Names) -> Operator:
        return ScanOp(self._leaf(node), wanted)

    @_operator.register
    def _(self, node: PlanJoin, wanted: Names) -> Operator:
        if len(node.inputs) == 1:
            return self._filter(node.inputs[0], node.conditions, wanted)
        join = self._join(node.inputs, node.conditions, wanted)
        if node is self.endless and isinstance(join, MultiwayJoinOp):
            join.ignore_ends()
        return join

    @_operator.register
    def _(self, node: PlanFilter, wanted: Names) -> Operator:
        condition = PlanCondition(node.condition, node.child.names)
        return self._filter(node.child, (condition,), wanted)

    @_operator.register
    def _(self, node: PlanExtend, wanted: Names) -> Operator:
        below = (wanted - {node.variable}) | _variables_in(node.expression, node.child)
        return ExtendOp(self.build(node.child, below), node.variable, node.expression, self.dictionary)

    @_operator.register
    def _(self, node: PlanDraw, wanted: Names) -> Operator:
        names = node.child.names  # all of them: rows that differ in any have values of their own
        child, before = self.build(node.child, names), self.drawn.get(id(node))
        self.drawn[id(node)] = drawn = DrawOp(
            child, tuple(sorted(names)), node.variable, node.expression, self.dictionary, before
        )
        return drawn

    @_operator.register
    def _(self, node: PlanMoment, wanted: Names) -> Operator:
        return MomentOp(node.variable)

    @_operator.register
    def _(self, node: PlanLeftJoin, wanted: Names) -> Operator:
        if (endpoint := may_be_unbound([node.right], node.left.certain)) is not None:
            return self._operator(left_join_apart(node, endpoint, next(self.numbers)), wanted)
        join = self._pairs(node.left, node.right, node.condition, wanted)
        return LeftJoinOp(join, wanted)

    @_operator.register
    def _(self, node: PlanNegation, wanted: Names) -> Operator:
        if (endpoint := may_be_unbound([node.right], node.left.certain)) is not None:
            return self._operator(negation_apart(node, endpoint, next(self.numbers)), wanted)
        join = self._pairs(node.left, node.right, node.condition, wanted, overlapping=node.overlapping)
        return NegationOp(join, wanted, negated=node.negated)

    @_operator.register
    def _(self, node: PlanUnion, wanted: Names) -> Operator:
        return UnionOp([self.build(child, wanted & child.names) for child in node.children])

    @_operator.register
    def _(self, node: PlanValues, wanted: Names) -> Operator:
        return ValuesOp(node.variables, node.rows, self.dictionary)

    @_operator.register
    def _(self, node: PlanProject, wanted: Names) -> Operator:
        names = wanted & node.names
        return ProjectOp(self.build(node.child, names & node.child.names), names)

    @_operator.register
    def _(self, node: PlanDistinct, wanted: Names) -> Operator:
        return DistinctOp(self.build(node.child, node.names), node.names)

    @_operator.register
    def _(self, node: PlanShared, wanted: Names) -> Operator:
        # Readers may want different variables, and the first does not know what the others do.
        self.shared[node.number] = SharedOp(self.build(node.child, node.child.names))
        return ProjectOp(self.shared[node.number], wanted)

    @_operator.register
    def _(self, node: PlanSharedRead, wanted: Names) -> Operator:
        return ProjectOp(self.shared[node.number], wanted)

    @_operator.register
    def _(self, node: PlanGroup, wanted: Names) -> Operator:
        operands = [aggregate.operand for _, aggregate in node.aggregates if aggregate.operand is not None]
        below = frozenset(node.keys).union(*(variables_of(each) for each in operands)) & node.child.names
        if any(aggregate.operand is None and aggregate.distinct for _, aggregate in node.aggregates):
            below |= frozenset(node.rows)
        return GroupByOp(self.build(node.child, below), node, self.dictionary)

    @_operator.register
    def _(self, node: PlanOrdered, wanted: Names) -> Operator:
        below = (node.names | frozenset(variables_of(node.conditions))) & node.child.names
        return OrderedOp(self.build(node.child, below), node, self.dictionary)

    @_operator.register
    def _(self, node: PlanParameters, wanted: Names) -> Operator:
        assert self.parameters is not None
        return self.parameters

    @_operator.register
    def _(self, node: PlanCache, wanted: Names) -> Operator:
        return replace(self, copies=False).build(node.child, wanted)

    @_operator.register
    def _(self, node: PlanReevaluate, wanted: Names) -> Operator:
        graphs = {
            name: FollowedGraph([self.leaves.leaf(source, _EVERY_TRIPLE) for source in sources], self.readers.reader)
            for name, sources in node.graphs
        }
        if not node.services:
            return ReevaluateOp(node, graphs, self.readers, self.dictionary)
        if self.remote is None:
            raise UnsupportedError("SERVICE needs a session that may ask endpoints")
        return ReevaluateOp(node, graphs, self.readers, self.dictionary, self.remote.services(node.services))

    @_operator.register
    def _(self, node: PlanService, wanted: Names) -> Operator:
        return self._service(node, None)

    def again(self) -> Builder:
        """What makes operators that take the place of those that it made."""
        return replace(self, shared={}, numbers=count(-1, -1))

    def size_of(self, node: PlanLeaf) -> Size:
        """How much a leaf holds, or is about to."""
        pattern, names = self._pattern(node)
        rows, distinct = self.leaves.leaf(node.source, pattern).sizes()
        return Size(rows, dict(zip(names, distinct, strict=True)))

    def _filter(self, child: PlanNode, conditions: Sequence[PlanCondition], wanted: Names) -> Operator:
        below = wanted.union(*(_variables_in(each.expression, child) & each.scope for each in conditions))
        operator = self.build(child, below)
        for each in conditions:
            operator = FilterOp(operator, each.expression, each.scope, self.dictionary)
        return operator

    def _join(self, inputs: Iterable[PlanNode], conditions: Sequence[PlanCondition], wanted: Names) -> Operator:
        if any(isinstance(each, PlanService) for each in inputs):
            return self._service_join(tuple(inputs), conditions, wanted)
        # Inputs whose rows stay come last: no result has to be removed for them.
        ordered = sorted(inputs, key=_stays)
        needed = wanted.union(*(frozenset(variables_of(each.expression)) & each.scope for each in conditions))
        made = [self._input(node, needed | _names_of(ordered, but=at)) for at, node in enumerate(ordered)]
        return MultiwayJoinOp(made, conditions, wanted, self.dictionary, sight=self._sight(ordered, made))

    def _sight(self, nodes: Sequence[PlanNode], inputs: Sequence[Input]) -> Sight | None:
        """From when on the queries that share a join see the rows of its inputs."""
        parameters = [at for at, node in enumerate(nodes) if isinstance(node, PlanParameters)]
        if self.parameters is None or not parameters or not self.windows:
            return None
        begins = [
            (at, each.buffer, self.parameters.begins[self.windows.index(node.source)])
            for at, (node, each) in enumerate(zip(nodes, inputs, strict=True))
            if isinstance(node, PlanLeaf) and isinstance(node.source, WindowOperator)
            if isinstance(each.buffer, LeafBuffer)
        ]
        return Sight(parameters[0], inputs[parameters[0]].names.index(QUERY), begins)

    def _service(self, node: PlanService, other: Input | None) -> Operator:
        if self.remote is None:
            raise UnsupportedError("SERVICE needs a session that may ask endpoints")
        return self.remote.operator(node, other)

    def _service_join(self, inputs: Sequence[PlanNode], conditions: Sequence[PlanCondition], wanted: Names) -> Operator:
        """What is here is joined first: it says which entries of the local views are needed.

        A pattern that shares nothing with what is here waits for the others, whose solutions may say what it needs.
        """
        services = last_services(inputs)
        others = tuple(each for each in inputs if each not in services)
        mentioned = [frozenset(variables_of(each.expression)) & each.scope for each in conditions]
        remote, sure = names_in(services), certain_in(others)
        early = [each for each, names in zip(conditions, mentioned, strict=True) if names & remote <= sure]
        late = [each for each in conditions if each not in early]
        needed = wanted.union(*mentioned)
        if not others:
            made = [self._input(each, needed | _names_of(services, but=at)) for at, each in enumerate(services)]
            return MultiwayJoinOp(made, conditions, wanted, self.dictionary)
        joined = others[0]
        if len(others) > 1 or early:
            joined = PlanJoin(names_in(others), sure, others, tuple(early))
        if (endpoint := may_be_unbound(services, sure)) is not None:
            whole = PlanJoin(joined.names | remote, sure | certain_in(services), (), tuple(late))
            return self._operator(join_apart(whole, joined, services, endpoint, next(self.numbers)), wanted)
        left = replace(self._input(joined, needed | remote), expires=True)
        right = [
            self._service_input(each, left, needed | joined.names | _names_of(services, but=at))
            for at, each in enumerate(services)
        ]
        return MultiwayJoinOp([left, *right], late, wanted, self.dictionary)

    def _service_input(self, node: PlanService, other: Input, needed: Names) -> Input:
        names = needed & node.names
        operator = self._service(node, other)
        measured = operator if self.measurements is None else self.measurements.measure(node, operator)
        buffer = RowBuffer(measured, tuple(sorted(names)))
        return Input(buffer, buffer.names, node.certain & names, True)

    def _pairs(
        self, left: PlanNode, right: PlanNode, condition: Expression | None, wanted: Names, *, overlapping: bool = False
    ) -> MultiwayJoinOp:
        """A join of two in which both sides are asked for what they share, for OPTIONAL and negation."""
        names = left.names | right.names
        needed = wanted | (left.names & right.names)
        conditions = []
        if condition is not None:
            needed |= frozenset(variables_of(condition)) & names
            conditions.append(PlanCondition(condition, names))
        first = replace(self._numbered(left, needed), expires=True)
        if isinstance(right, PlanService):
            made = [first, self._service_input(right, first, needed)]
        else:
            made = [first, self._input(right, needed)]
        return MultiwayJoinOp(made, conditions, wanted, self.dictionary, overlapping=overlapping)

    def _numbered(self, node: PlanNode, needed: Names) -> Input:
        """An input whose rows have one number each, which those of a stored leaf have not."""
        if not (isinstance(node, PlanLeaf) and isinstance(node.source, Stored)):
            return self._input(node, needed)
        names = needed & node.names
        buffer = RowBuffer(self.build(node, names), tuple(sorted(names)))
        return Input(buffer, buffer.names, node.certain & names, False)

    def _input(self, node: PlanNode, needed: Names) -> Input:
        if isinstance(node, PlanLeaf):
            leaf = self._leaf(node)
            if self.measurements is not None:
                self.measurements.read(node, leaf.buffer)
            if isinstance(leaf.buffer, StoredLeaf) and self.copies:
                copy = self.leaves.copy_of(leaf.buffer)
                return leaf if copy is None else replace(leaf, buffer=copy)
            return leaf
        names = needed & node.names
        buffer = RowBuffer(self.build(node, names), tuple(sorted(names)))
        return Input(buffer, buffer.names, node.certain & names, not _stays(node))

    def _pattern(self, node: PlanLeaf) -> tuple[LeafPattern, tuple[str, ...]]:
        return leaf_pattern(
            node.pattern, self.dictionary, () if self.parameters is None else self.parameters.constant_filters
        )

    def _leaf(self, node: PlanLeaf) -> Input:
        pattern, names = self._pattern(node)
        buffer = self.leaves.leaf(node.source, pattern)
        return Input(buffer, names, frozenset(names), not isinstance(node.source, Stored))


def _variables_in(expression: Expression, child: PlanNode) -> Names:
    return frozenset(variables_of(expression)) & child.names


def _names_of(inputs: Sequence[PlanNode], *, but: int) -> Names:
    return frozenset[str]().union(*(each.names for at, each in enumerate(inputs) if at != but))


def _stays(node: PlanNode) -> bool:
    """Whether no row of a node ever goes: stored graphs only grow."""
    match node:
        case PlanLeaf(source=source):
            return isinstance(source, Stored)
        case PlanValues():
            return True
        case PlanJoin() | PlanFilter() | PlanExtend() | PlanProject() | PlanUnion() | PlanDistinct():
            return all(map(_stays, children(node)))
        case PlanShared() | PlanCache():
            return all(map(_stays, children(node)))
    return False
