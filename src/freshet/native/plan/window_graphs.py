"""GRAPH inside windows: patterns over the streams that have the graphs of another's elements.

`freshet.native.streams.graph_stream` has a node n for each subject s in each graph g, and of each element (s p o) in g

    n p o    in the stream with triples        s g n    in the stream that says where they are

so that, in windows of the same width and step over these two,

    GRAPH ?g { ?s :p ?o ; :q ?v }  =  ?n :p ?o ; :q ?v .   ?s ?g ?n
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from itertools import count
from typing import Any

from freshet.algebra import nodes
from freshet.algebra.certain import certainly_bound
from freshet.algebra.expressions import Exists, Expression, Variable
from freshet.algebra.free_variables import variables_of
from freshet.algebra.rewrite.walk import with_children, with_expressions, with_operands
from freshet.algebra.scope import variables_in_scope
from freshet.algebra.windows import AdaptiveWindow, EventTimeWindow, WindowDeclaration
from freshet.native.plan.element_times import asks_times
from freshet.native.streams.graph_stream import graph_stream_names
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri

_SUBQUERIES = (nodes.Project, nodes.Group, nodes.Slice, nodes.OrderBy, nodes.Distinct, nodes.Reduced)


def read_graphs(query: nodes.Query) -> nodes.Query:
    """The query with patterns in place of GRAPH in windows; it has the windows that they read at its end."""
    if not query.windows or not has_graphs_in_windows(query):
        return query
    if asks_times(query.root):
        raise UnsupportedError("timestamp in a query that has GRAPH in a window is not supported")
    rewriting = _Rewriting(query.windows)
    root = rewriting.outside(query.root, None)
    return replace(query, root=root, windows=(*query.windows, *rewriting.added.values()))


def has_graphs_in_windows(query: nodes.Query) -> bool:
    """Whether a query has GRAPH inside of a window."""
    return _has_graphs(query.root, in_window=False)


def _has_graphs(part: Any, *, in_window: bool) -> bool:
    if isinstance(part, tuple):
        return any(_has_graphs(each, in_window=in_window) for each in part)
    if isinstance(part, nodes.Graph) and in_window:
        return True
    if not is_dataclass(part) or isinstance(part, nodes.BGP | nodes.Values | nodes.Service):
        return False
    in_window = in_window or isinstance(part, nodes.Window)
    return any(_has_graphs(getattr(part, place.name), in_window=in_window) for place in fields(part))


class _Rewriting:
    def __init__(self, windows: tuple[WindowDeclaration, ...]) -> None:
        self._windows = {each.name: each for each in windows}
        self.added: dict[Iri, WindowDeclaration] = {}
        self._numbers = count()

    def outside(self, node: nodes.Node, window: Iri | None) -> nodes.Node:
        """A node that is in no graph of a window, but may be in a window."""
        if isinstance(node, nodes.Service):
            return node
        if isinstance(node, nodes.Window):
            assert isinstance(node.name, Iri), "windows by variables have been replaced"
            window = node.name
        if isinstance(node, nodes.Graph) and window is not None:
            return self._graph(node, window)
        node = with_children(node, lambda child: self.outside(child, window))

        def change(expression: Expression) -> Expression:
            if isinstance(expression, Exists):
                return replace(expression, pattern=self.outside(expression.pattern, window))
            return with_operands(expression, change)

        return with_expressions(node, change)

    def _graph(self, node: nodes.Graph, window: Iri) -> nodes.Node:
        declared = self._windows[window]
        if isinstance(declared.window, EventTimeWindow | AdaptiveWindow):
            raise UnsupportedError("GRAPH in a window that adapts, or over the time of a predicate, is not supported")
        triples, graphs = self._windows_of(declared)
        pattern = _InGraph(node.name, triples, graphs, self._numbers).pattern(node.child)
        if isinstance(node.name, Variable) and node.name not in certainly_bound(pattern):
            raise UnsupportedError(
                f"GRAPH ?{node.name.name} in a window whose pattern may match without a triple of the graph is not"
                " supported"
            )
        return pattern

    def _windows_of(self, declared: WindowDeclaration) -> list[Iri]:
        """The windows like one over the streams with the graphs of its own."""
        stream = declared.window.stream
        assert isinstance(stream, Iri), "windows over any stream have been replaced"
        found = []
        for each in graph_stream_names(stream):
            name = Iri(declared.name.value + each.value.removeprefix(stream.value))
            self.added[name] = WindowDeclaration(name, replace(declared.window, stream=each))
            found.append(name)
        return found


class _InGraph:
    """Rewrites what is inside of one GRAPH."""

    def __init__(self, graph: Iri | Variable, triples: Iri, graphs: Iri, numbers: Iterator[int]) -> None:
        self._graph = graph
        self._triples = triples
        self._graphs = graphs
        self._numbers = numbers

    def pattern(self, node: nodes.Node) -> nodes.Node:
        """A node whose triples are in the graph."""
        match node:
            case nodes.BGP(patterns):
                return self._triples_of(patterns) if patterns else node
            case nodes.PathPattern(subject, path, object_):
                return self._path(subject, path, object_)
            case nodes.Values() | nodes.Service():
                return node
            case nodes.Graph() | nodes.Window():
                raise _refusal(f"{type(node).__name__.upper()} inside of GRAPH")
        if isinstance(self._graph, Variable):
            self._check_each_graph(node, self._graph)
        return with_expressions(with_children(node, self.pattern), self._expression)

    def _expression(self, expression: Expression) -> Expression:
        if isinstance(expression, Exists):
            return replace(expression, pattern=self.pattern(expression.pattern))
        return with_operands(expression, self._expression)

    def _check_each_graph(self, node: nodes.Node, graph: Variable) -> None:
        """Refuse what means another thing where it is evaluated for each graph, and where it is joined by the graph."""
        if isinstance(node, _SUBQUERIES):
            raise _refusal(f"a sub-select inside of GRAPH ?{graph.name}")
        if isinstance(node, nodes.Extend) and node.variable == graph:
            raise _refusal(f"BIND of ?{graph.name} inside of GRAPH ?{graph.name}")
        if isinstance(node, nodes.LeftJoin | nodes.Minus) and graph in variables_in_scope(node.right):
            raise _refusal(f"?{graph.name} in OPTIONAL or MINUS inside of GRAPH ?{graph.name}")
        expressions: list[Expression] = []

        def note(expression: Expression) -> Expression:
            expressions.append(expression)
            return expression

        with_expressions(node, note)
        if any(graph.name in variables_of(each) for each in expressions):
            raise _refusal(f"a condition on ?{graph.name} inside of GRAPH ?{graph.name}")
        if isinstance(node, nodes.Minus):
            shared = set(variables_in_scope(node.left)) & set(variables_in_scope(node.right))
            if not shared & certainly_bound(node.left) & certainly_bound(node.right):
                raise _refusal(f"MINUS inside of GRAPH ?{graph.name}, of patterns that need not share a variable,")

    def _triples_of(self, patterns: tuple[nodes.TriplePattern, ...]) -> nodes.Node:
        """The triples of nodes, one for each subject, and where these are."""
        node_of = {each.subject: self._variable("node") for each in patterns}
        triples = [nodes.TriplePattern(node_of[each.subject], each.predicate, each.object) for each in patterns]
        where = [nodes.TriplePattern(subject, self._graph, node) for subject, node in node_of.items()]
        return nodes.Join(
            nodes.Window(self._triples, nodes.BGP(tuple(triples))), nodes.Window(self._graphs, nodes.BGP(tuple(where)))
        )

    def _path(self, subject: nodes.PatternTerm, path: nodes.Path, object_: nodes.PatternTerm) -> nodes.Node:
        match path:
            case nodes.Link(predicate):
                return self._triples_of((nodes.TriplePattern(subject, predicate, object_),))
            case nodes.Inverse(inner):
                return self._path(object_, inner, subject)
            case nodes.Sequence(left, right):
                middle = self._variable("middle")
                return nodes.Join(self._path(subject, left, middle), self._path(middle, right, object_))
            case nodes.Alternative(left, right):
                halves = (self._path(subject, each, object_) for each in (left, right))
                return reduce(nodes.Union, halves)
        raise _refusal("a property path of any length, or a negated one, inside of GRAPH")

    def _variable(self, name: str) -> Variable:
        return Variable(f".{name}{next(self._numbers)}")


def _refusal(what: str) -> UnsupportedError:
    return UnsupportedError(f"{what} in a window is not supported")
