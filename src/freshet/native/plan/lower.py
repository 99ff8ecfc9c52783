"""From the algebra to the native engine's plan. What it cannot do is refused by name, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import singledispatch
from itertools import count

from freshet.algebra import nodes
from freshet.algebra.certain import certainly_bound
from freshet.algebra.expressions import Aggregate, And, Call, Compare, Constant, Exists, Expression, Variable
from freshet.algebra.free_variables import variables_of
from freshet.algebra.rewrite.compare_nodes import compare_nodes
from freshet.algebra.rewrite.rules import simplify
from freshet.algebra.rewrite.walk import bottom_up
from freshet.algebra.scope import variables_in_scope, visible_variables
from freshet.expressions.evaluate import unsupported_reason
from freshet.native.plan.element_times import is_timed, read_times
from freshet.native.plan.expand import expand_windows
from freshet.native.plan.live_forms import as_solutions
from freshet.native.plan.plan import (
    Names,
    Plan,
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
    PlanProject,
    PlanService,
    PlanUnion,
    PlanValues,
    Source,
    Stored,
)
from freshet.native.plan.plan_reads import asks_services, asks_time
from freshet.native.plan.reevaluate import QueryDataset, reevaluate
from freshet.native.plan.service_joins import restrict
from freshet.native.plan.substitutable import contains_exists, exists_parts
from freshet.native.plan.volatile import is_drawn, is_moment, separate_volatile
from freshet.native.plan.window_graphs import read_graphs
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.ids import XSD_INTEGER
from freshet.rdf.terms import Iri, Literal

ASKED = Variable("ask")  # the one variable of a continuous ASK


def refuse(what: str) -> UnsupportedError:
    return UnsupportedError(f"{what} is not supported yet by the native engine")


def lower(query: nodes.Query, *, streams: Iterable[str] = (), file: str | None = None) -> Plan:
    """The plan of a continuous query. `streams` are those that a variable in place of a stream can stand for."""
    try:
        return _lower(read_times(read_graphs(expand_windows(query, streams))))
    except UnsupportedError as error:
        raise UnsupportedError(error.message, file=file) from None


def lower_live(query: nodes.Query, *, file: str | None = None) -> Plan:
    """The plan of a live query: one without a window, over the dataset that one-shot queries see."""
    try:
        plan = replace(_lower(as_solutions(query)), live_form=query.form)
        if asks_services(plan):
            raise refuse("SERVICE in a live query")
        if asks_time(plan):
            raise refuse("NOW in a live query, which has no event time,")
        return plan
    except UnsupportedError as error:
        raise UnsupportedError(error.message, file=file) from None


def _lower(query: nodes.Query) -> Plan:
    windows = {declaration.name: declaration.window for declaration in query.windows}
    default: tuple[Source, ...] = tuple(Stored(name) for name in query.default_graphs)
    if not default and (windows or not query.named_graphs):
        # Where there are windows, FROM NAMED alone does not hide the stored default graph: it is what patterns outside
        # of windows match.
        default = (Stored(),)
    if query.merged:
        default = (*dict.fromkeys(each for each in windows.values() if not is_timed(each)), *default)
    named = frozenset(query.named_graphs) if query.named_graphs or query.default_graphs else None
    query = _as_relation(query)
    root = _node(separate_volatile(_rewritten(query.root)), _Place(QueryDataset(windows, default, named), default))
    template = None if query.form is nodes.QueryForm.SELECT else query.template
    selected = _selection(query.root) if template is None else sorted(variables_of(template))
    return Plan(
        root=root,
        windows=tuple(dict.fromkeys(windows.values())),
        variables=tuple(selected),
        output=query.output,
        template=template,
    )


def _as_relation(query: nodes.Query) -> nodes.Query:
    """ASK as a SELECT with one solution, DESCRIBE as a CONSTRUCT of the triples of its descriptions."""
    if query.form is nodes.QueryForm.ASK:
        count = Variable(".count")
        counted = nodes.Group(query.root, (), ((count, Aggregate("COUNT", None)),))
        asked = nodes.Extend(counted, ASKED, Compare(">", count, Constant(Literal("0", XSD_INTEGER))))
        return replace(query, form=nodes.QueryForm.SELECT, root=nodes.Project(asked, (ASKED,)))
    if query.form is nodes.QueryForm.DESCRIBE:
        described = nodes.Describe(query.root, query.resources)
        return replace(query, root=described, template=(nodes.DESCRIBED,))
    return query


def _rewritten(root: nodes.Node) -> nodes.Node:
    """The rules of one-shot queries; but a filter stays outside of SERVICE, which is joined with what binds it."""
    services: list[nodes.Node] = []

    def note(node: nodes.Node) -> nodes.Node:
        if isinstance(node, nodes.Service):
            services.append(node)
        return node

    compared = bottom_up(root, (compare_nodes, note), in_exists=(compare_nodes, note))
    return compared if services else simplify(root)


def _selection(root: nodes.Node) -> list[str]:
    node = root
    while isinstance(node, nodes.Slice | nodes.Distinct | nodes.Reduced | nodes.OrderBy):
        node = node.child
    found = node.variables if isinstance(node, nodes.Project) else visible_variables(root)
    return [variable.name for variable in found]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the query a node stands: what its patterns match, and how that is said in the algebra."""

    dataset: QueryDataset
    sources: tuple[Source, ...]
    inside: tuple[nodes.Window | nodes.Graph, ...] = ()
    numbers: Iterator[int] = field(default_factory=count)  # for variables of our own

    def within(self, node: nodes.Window | nodes.Graph, *sources: Source) -> _Place:
        return replace(self, sources=sources, inside=(*self.inside, node))

    def reevaluate(self, node: nodes.Node, reason: str) -> PlanNode:
        """The node evaluated anew, in its own surroundings."""
        for outer in reversed(self.inside):
            node = replace(outer, child=node)
        return reevaluate(node, self.dataset, *_scope(node), reason)


def _names(node: nodes.Node) -> Names:
    """The names of the variables that a filter on top of a node sees."""
    return frozenset(variable.name for variable in variables_in_scope(node))


def _scope(node: nodes.Node) -> tuple[Names, Names]:
    return _names(node), frozenset(variable.name for variable in certainly_bound(node))


def _check(expression: Expression) -> None:
    if what := unsupported_reason(expression):
        raise refuse(what)


@singledispatch
def _node(node: nodes.Node, place: _Place) -> PlanNode:
    raise refuse(type(node).__name__)


@_node.register
def _(node: nodes.Service, place: _Place) -> PlanNode:
    return PlanService(*_scope(node), endpoint=node.endpoint, pattern=node.child, silent=node.silent)


@_node.register(nodes.BGP)
@_node.register(nodes.Join)
def _(node: nodes.BGP | nodes.Join, place: _Place) -> PlanNode:
    return _lower_join(node, place)


@_node.register
def _(node: nodes.PathPattern, place: _Place) -> PlanNode:
    return _path(node.subject, node.path, node.object, place)


@_node.register
def _(node: nodes.Window, place: _Place) -> PlanNode:
    assert isinstance(node.name, Iri)  # expand_windows has seen to that
    return _node(node.child, place.within(node, place.dataset.windows[node.name]))


@_node.register
def _(node: nodes.Graph, place: _Place) -> PlanNode:
    if isinstance(node.name, Variable):
        return place.reevaluate(node, "GRAPH with a variable")
    if place.dataset.named is not None and node.name not in place.dataset.named:
        return PlanValues(*_scope(node), variables=(), rows=())
    return _node(node.child, place.within(node, Stored(node.name)))


@_node.register
def _(node: nodes.Filter, place: _Place) -> PlanNode:
    return _lower_join(node, place)


@_node.register
def _(node: nodes.Describe, place: _Place) -> PlanNode:
    return place.reevaluate(node, "DESCRIBE")


@_node.register
def _(node: nodes.Extend, place: _Place) -> PlanNode:
    if is_moment(node):
        return PlanMoment(*_scope(node), variable=node.variable.name)
    if is_drawn(node):
        assert isinstance(node.expression, Call)
        return PlanDraw(
            *_scope(node), child=_node(node.child, place), variable=node.variable.name, expression=node.expression
        )
    if contains_exists(node.expression):
        return place.reevaluate(node, "EXISTS inside an expression")
    _check(node.expression)
    return PlanExtend(
        *_scope(node), child=_node(node.child, place), variable=node.variable.name, expression=node.expression
    )


@_node.register
def _(node: nodes.LeftJoin, place: _Place) -> PlanNode:
    if node.condition is not None:
        if contains_exists(node.condition):
            return place.reevaluate(node, "EXISTS in the condition of OPTIONAL")
        _check(node.condition)
    left, right = _node(node.left, place), _node(node.right, place)
    left, right = restrict(left, right, place.numbers)
    return PlanLeftJoin(*_scope(node), left=left, right=right, condition=node.condition)


@_node.register
def _(node: nodes.Minus, place: _Place) -> PlanNode:
    left, right = _node(node.left, place), _node(node.right, place)
    if not left.names & right.names:
        return left
    left, right = restrict(left, right, place.numbers)
    return _negation(left, right, None, negated=True, overlapping=True)


@_node.register
def _(node: nodes.Union, place: _Place) -> PlanNode:
    parts = [_node(child, place) for child in (node.left, node.right)]
    flat = [each for part in parts for each in (part.children if isinstance(part, PlanUnion) else (part,))]
    return PlanUnion(*_scope(node), children=tuple(flat))


@_node.register
def _(node: nodes.Values, place: _Place) -> PlanNode:
    return PlanValues(*_scope(node), variables=tuple(each.name for each in node.variables), rows=node.rows)


@_node.register
def _(node: nodes.Group, place: _Place) -> PlanNode:
    for _, aggregate in node.aggregates:
        if aggregate.operand is not None:
            if contains_exists(aggregate.operand):
                return place.reevaluate(node, "EXISTS inside an aggregate")
            _check(aggregate.operand)
    return PlanGroup(
        *_scope(node),
        child=_node(node.child, place),
        keys=tuple(key.name for key in node.keys),
        aggregates=tuple((variable.name, aggregate) for variable, aggregate in node.aggregates),
        rows=tuple(variable.name for variable in visible_variables(node.child)),
    )


@_node.register(nodes.Project)
@_node.register(nodes.Distinct)
@_node.register(nodes.Reduced)
@_node.register(nodes.OrderBy)
@_node.register(nodes.Slice)
def _(node: nodes.Project | nodes.Distinct | nodes.Reduced | nodes.OrderBy | nodes.Slice, place: _Place) -> PlanNode:
    """The solution modifiers of one SELECT, from the outside in: Slice, Distinct, Project, OrderBy."""
    offset, limit, distinct = 0, None, False
    below: nodes.Node = node
    if isinstance(below, nodes.Slice):
        offset, limit, below = below.offset, below.limit, below.child
    while isinstance(below, nodes.Distinct | nodes.Reduced):
        distinct = distinct or isinstance(below, nodes.Distinct)
        below = below.child
    found = below.variables if isinstance(below, nodes.Project) else visible_variables(below)
    variables = [variable.name for variable in found]
    if isinstance(below, nodes.Project):
        below = below.child
    conditions: tuple[nodes.OrderCondition, ...] = ()
    if isinstance(below, nodes.OrderBy):
        conditions, below = below.conditions, below.child
        for condition in conditions:
            if contains_exists(condition.expression):
                return place.reevaluate(node, "EXISTS in ORDER BY")
            _check(condition.expression)
    child = _node(below, place)
    certain = child.certain & frozenset(variables)
    if conditions or offset or limit is not None:
        return PlanOrdered(frozenset(variables), certain, child, conditions, tuple(variables), distinct, offset, limit)
    plan: PlanNode = PlanProject(frozenset(variables), certain, child)
    return PlanDistinct(plan.names, plan.certain, plan) if distinct else plan


# ---- patterns that are joined, with their filters


@dataclass(slots=True)
class _Parts:
    """What a group of patterns comes to: inputs to join and conditions on them."""

    inputs: list[PlanNode] = field(default_factory=list)
    conditions: list[PlanCondition] = field(default_factory=list)


def _lower_join(node: nodes.Node, place: _Place) -> PlanNode:
    if isinstance(node, nodes.Filter):
        return _lower_filter(node, place)
    parts = _Parts()
    _collect(node, place, parts)
    return _join(parts)


def _join(parts: _Parts) -> PlanNode:
    if len(parts.inputs) == 1 and not parts.conditions:
        return parts.inputs[0]
    if not parts.inputs:
        parts.inputs.append(PlanValues(frozenset(), frozenset(), (), ((),)))
    names = frozenset[str]().union(*(each.names for each in parts.inputs))
    certain = frozenset[str]().union(*(each.certain for each in parts.inputs))
    return PlanJoin(names, certain, tuple(parts.inputs), tuple(parts.conditions))


def _collect(node: nodes.Node, place: _Place, parts: _Parts) -> None:
    """Take a join apart. A condition joins in where all that it sees is bound for certain in its own group."""
    match node:
        case nodes.BGP(patterns):
            parts.inputs += [_leaf(pattern, place) for pattern in patterns]
        case nodes.Join(left, right):
            _collect(left, place, parts)
            _collect(right, place, parts)
        case nodes.Window(Iri() as name, child):
            _collect(child, place.within(node, place.dataset.windows[name]), parts)
        case nodes.Filter(condition, child) if not contains_exists(condition):
            names, certain = _scope(child)
            _check(condition)
            if variables_of(condition) & names <= certain:
                parts.conditions += [PlanCondition(part, names) for part in _conjuncts(condition)]
                _collect(child, place, parts)
            else:
                parts.inputs.append(_node(node, place))
        case _:
            lowered = _node(node, place)
            if isinstance(lowered, PlanJoin):
                parts.inputs += lowered.inputs
                parts.conditions += lowered.conditions
            else:
                parts.inputs.append(lowered)


def _lower_filter(node: nodes.Filter, place: _Place) -> PlanNode:
    """Conditions on values first, then EXISTS and NOT EXISTS as joins that only count."""
    conjuncts = _conjuncts(node.condition)
    exists = [part for part in conjuncts if isinstance(part, Exists)]
    plain = [part for part in conjuncts if not isinstance(part, Exists)]
    if any(contains_exists(part) for part in plain):
        return place.reevaluate(node, "EXISTS inside an expression")
    names, certain = _scope(node.child)
    asked = [exists_parts(part, names) for part in exists]
    if any(part is None for part in asked):
        return place.reevaluate(node, "EXISTS whose pattern depends on more than its solutions")
    for part in plain:
        _check(part)
    if plain and variables_of(tuple(plain)) & names <= certain:
        parts = _Parts(conditions=[PlanCondition(part, names) for part in plain])
        _collect(node.child, place, parts)
        plan = _join(parts)
    else:
        plan = _node(node.child, place)
        for part in plain:
            plan = PlanFilter(plan.names, plan.certain, plan, part)
    for each in filter(None, asked):
        if each.condition is not None:
            _check(each.condition)
        plan, right = restrict(plan, _node(each.pattern, place), place.numbers, substituted=True)
        plan = _negation(plan, right, each.condition, negated=each.negated, overlapping=False)
    return plan


def _negation(
    left: PlanNode, right: PlanNode, condition: Expression | None, *, negated: bool, overlapping: bool
) -> PlanNode:
    if isinstance(right, PlanService):
        # The solution of an endpoint that SILENT passes over shares nothing with what MINUS would take away.
        silent = right.silent and not (overlapping and isinstance(right.endpoint, Iri))
        return PlanNegation(
            left.names, left.certain, left, replace(right, silent=silent), condition, negated, overlapping
        )
    shared = left.names & right.names
    if condition is None and shared <= left.certain and shared <= right.certain:
        # Only whether there is a match counts, so that one row a key is enough, and each row of left has one at most.
        right = PlanProject(shared, shared, right)
        right = PlanDistinct(shared, shared, right)
    return PlanNegation(left.names, left.certain, left, right, condition, negated, overlapping)


def _conjuncts(condition: Expression) -> list[Expression]:
    """The parts of a conjunction: each can be tested as soon as its own variables are bound."""
    if not isinstance(condition, And):
        return [condition]
    return _conjuncts(condition.left) + _conjuncts(condition.right)


# ---- triple patterns and paths


def _leaf(pattern: nodes.TriplePattern, place: _Place) -> PlanNode:
    """A pattern in its source; in a merge of several, as a set of triples."""
    names = frozenset(variables_of(pattern))
    leaves = tuple(PlanLeaf(names, names, source, pattern) for source in place.sources)
    if len(leaves) == 1:
        return leaves[0]
    return PlanDistinct(names, names, PlanUnion(names, names, leaves))


def _path(subject: nodes.PatternTerm, path: nodes.Path, object_: nodes.PatternTerm, place: _Place) -> PlanNode:
    """What of a path is made of joins and unions; the rest is evaluated anew."""
    match path:
        case nodes.Link(predicate):
            return _leaf(nodes.TriplePattern(subject, predicate, object_), place)
        case nodes.Inverse(inner):
            return _path(object_, inner, subject, place)
        case nodes.Sequence(left, right):
            middle = Variable(f".step{next(place.numbers)}")
            halves = _path(subject, left, middle, place), _path(middle, right, object_, place)
            parts = _Parts()
            for half in halves:
                parts.inputs += half.inputs if isinstance(half, PlanJoin) else (half,)
            return _join(parts)
        case nodes.Alternative(left, right):
            children = _path(subject, left, object_, place), _path(subject, right, object_, place)
            names = frozenset(variables_of((subject, object_)))
            return PlanUnion(names, names, tuple(PlanProject(names, names, child) for child in children))
    return place.reevaluate(nodes.PathPattern(subject, path, object_), "a property path")
