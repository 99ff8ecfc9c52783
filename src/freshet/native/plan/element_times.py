"""The times of elements in expressions: C-SPARQL's `f:timestamp(?s, ?p, ?o)` and `f:timestamp(?variable)`.

The function becomes a pattern over the same windows on streams that have, for each element, its triple and its time
(`freshet.native.streams.timed_stream`), with the latest time for each triple:

    FILTER (f:timestamp(?s, :p, ?o) > 5) P  =  FILTER (?time > 5) (P OPTIONAL { SELECT ?s ?o (MAX(?at) AS ?time) ... })
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from itertools import count
from typing import Any

from freshet.algebra import nodes
from freshet.algebra.expressions import Aggregate, Call, Constant, Exists, Expression, Variable
from freshet.algebra.rewrite.walk import with_children, with_expressions, with_operands
from freshet.algebra.scope import variables_in_scope
from freshet.algebra.windows import (
    AdaptiveWindow,
    CountWindow,
    EventTimeWindow,
    TriplesWindow,
    WindowDeclaration,
    WindowOperator,
)
from freshet.native.streams.timed_stream import PREDICATE, ROWS, TIME, base_name, timed_name
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri

TIMESTAMP = "http://larkc.eu/csparql/sparql/jena/ext#timestamp"

_Triple = tuple[nodes.PatternTerm, nodes.PatternTerm, nodes.PatternTerm]


def read_times(query: nodes.Query) -> nodes.Query:
    """The query with patterns in place of the function; it has the windows that they read at its end."""
    if not query.windows or not asks_times(query.root):
        return query
    if any(isinstance(each.window, AdaptiveWindow) for each in query.windows):
        raise UnsupportedError("timestamp in a query with an adaptive window is not supported")
    rewriting = _Rewriting(query.windows)
    root = rewriting.node(query.root, None)
    return replace(query, root=root, windows=(*query.windows, *rewriting.timed.values()))


def is_timed(window: WindowOperator) -> bool:
    """Whether a window is over elements with their times."""
    return isinstance(window.stream, Iri) and base_name(window.stream.value) != window.stream.value


def asks_times(part: Any) -> bool:
    """Whether a part of a query calls the function."""
    if isinstance(part, tuple):
        return any(map(asks_times, part))
    if isinstance(part, Call) and part.function == TIMESTAMP:
        return True
    if not is_dataclass(part) or isinstance(part, nodes.BGP | nodes.Values | nodes.Service):
        return False
    return any(asks_times(getattr(part, place.name)) for place in fields(part))


class _Rewriting:
    def __init__(self, windows: tuple[WindowDeclaration, ...]) -> None:
        self._windows = {each.name: each.window for each in windows}
        self.timed: dict[Iri, WindowDeclaration] = {}
        self._numbers = count()

    def node(self, node: nodes.Node, inside: Iri | None) -> nodes.Node:
        """A node, in the window that it is inside of."""
        if isinstance(node, nodes.Service):
            return node
        if isinstance(node, nodes.Window):
            assert isinstance(node.name, Iri), "windows by variables have been replaced"
            inside = node.name
        node = with_children(node, lambda child: self.node(child, inside))
        children = [getattr(node, side) for side in ("child", "left", "right") if hasattr(node, side)]
        added: list[tuple[nodes.Node, nodes.Node]] = []  # the child that a pattern is joined with, and the pattern

        def change(expression: Expression) -> Expression:
            match expression:
                case Exists(pattern):
                    return replace(expression, pattern=self.node(pattern, inside))
                case Call(function, arguments) if function == TIMESTAMP:
                    found = next(filter(None, (self._times(child, arguments, inside) for child in children)), None)
                    if found is None:
                        raise UnsupportedError(
                            "the arguments of timestamp must be a variable of a triple pattern in a window, or the"
                            " subject, predicate and object of one, in the same group"
                        )
                    added.append(found[:2])
                    return found[2]
            return with_operands(expression, change)

        changed = with_expressions(node, change)

        def joined(child: nodes.Node) -> nodes.Node:
            patterns = [pattern for asked, pattern in added if asked is child]
            return reduce(nodes.LeftJoin, patterns, child)

        return with_children(changed, joined) if added else changed

    def _times(
        self, child: nodes.Node, arguments: tuple[Expression, ...], inside: Iri | None
    ) -> tuple[nodes.Node, nodes.Node, Variable] | None:
        """The pattern that finds the time of a triple of a node, and the variable that has it."""
        triple = _triple(child, arguments)
        if triple is None:
            return None
        keys = tuple(dict.fromkeys(term for term in triple if isinstance(term, Variable)))
        if not {*keys} <= {*variables_in_scope(child)}:
            return None
        number = next(self._numbers)
        element, at, time = (Variable(f".{name}{number}") for name in ("element", "at", "time"))
        subject, predicate, object_ = triple
        pattern = nodes.BGP(
            (
                nodes.TriplePattern(subject, element, object_),
                nodes.TriplePattern(element, PREDICATE, predicate),
                nodes.TriplePattern(element, TIME, at),
            )
        )
        windows = [*self._windows] if inside is None else [inside]
        choices: list[nodes.Node] = [nodes.Window(self._timed(name), pattern) for name in windows]
        latest = nodes.Group(reduce(nodes.Union, choices), keys, ((time, Aggregate("MAX", at)),))
        return child, nodes.Project(latest, (*keys, time)), time

    def _timed(self, name: Iri) -> Iri:
        """The window over the elements with their times."""
        timed = Iri(f"{name.value} with times")
        self.timed[timed] = WindowDeclaration(timed, _with_times(self._windows[name]))
        return timed


def _with_times(window: WindowOperator) -> WindowOperator:
    assert isinstance(window.stream, Iri), "windows over any stream have been replaced"
    if isinstance(window, EventTimeWindow):
        raise UnsupportedError("timestamp in a window over the time of a predicate is not supported")
    timed = replace(window, stream=timed_name(window.stream))
    if isinstance(timed, CountWindow):
        return replace(timed, count=ROWS * timed.count, step=ROWS * timed.step)
    return replace(timed, count=ROWS * timed.count) if isinstance(timed, TriplesWindow) else timed


def _triple(child: nodes.Node, arguments: tuple[Expression, ...]) -> _Triple | None:
    terms = [each.term if isinstance(each, Constant) else each for each in arguments]
    if len(terms) == 3 and all(isinstance(term, Variable | Iri) or index == 2 for index, term in enumerate(terms)):
        return (terms[0], terms[1], terms[2])  # type: ignore[return-value]
    if len(terms) == 1 and isinstance(terms[0], Variable):
        return next((each for each in _triples(child) if terms[0] in each), None)
    return None


def _triples(node: nodes.Node) -> Iterator[_Triple]:
    """The triple patterns of a node, from the first on."""
    match node:
        case nodes.BGP(patterns):
            yield from ((each.subject, each.predicate, each.object) for each in patterns)
        case nodes.Join(left, right) | nodes.LeftJoin(left, right) | nodes.Union(left, right):
            yield from _triples(left)
            yield from _triples(right)
        case nodes.Filter() | nodes.Extend() | nodes.Window() | nodes.Minus():
            yield from _triples(node.left if isinstance(node, nodes.Minus) else node.child)
