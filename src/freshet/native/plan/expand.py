"""Variables in place of windows and streams: a union over those that they can stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from functools import cache, reduce
from operator import is_
from typing import Any

from freshet.algebra import nodes
from freshet.algebra.expressions import Variable
from freshet.algebra.windows import WindowDeclaration
from freshet.rdf.terms import BlankNode, Iri, Literal

_WITHOUT_WINDOWS = (nodes.TriplePattern, Variable, Iri, BlankNode, Literal)  # nearly all that queries are made of


def expand_windows(query: nodes.Query, streams: Iterable[str]) -> nodes.Query:
    """The query with every window on a stream that has a name, and every `WINDOW` with the name of a window.

    `WINDOW ?w` is a union over the query's windows, `STREAM ?s` over all streams.
    """
    known = [Iri(stream) for stream in streams]
    declared: dict[Iri, list[tuple[WindowDeclaration, Iri]]] = {}
    for declaration in query.windows:
        window = declaration.window
        if isinstance(window.stream, Iri):
            declared[declaration.name] = [(declaration, window.stream)]
        else:
            declared[declaration.name] = [(_on(declaration, stream), stream) for stream in known]
    windows = tuple(each for group in declared.values() for each, _ in group)
    root = _expand(query.root, declared)
    if root is query.root and windows == query.windows:
        return query
    return replace(query, windows=windows, root=root)


def _on(declaration: WindowDeclaration, stream: Iri) -> WindowDeclaration:
    """The window on one of the streams that its variable stands for."""
    name = Iri(f"{declaration.name.value} on {stream.value}")
    return WindowDeclaration(name, replace(declaration.window, stream=stream))


def _expand(part: Any, declared: dict[Iri, list[tuple[WindowDeclaration, Iri]]]) -> Any:
    """What is within a part with the windows that are meant; the part itself where nothing in it changes."""
    if isinstance(part, tuple):
        parts = tuple([_expand(each, declared) for each in part])
        return part if all(map(is_, parts, part)) else parts
    changed = {}
    for name in _places(part.__class__):
        old = getattr(part, name)
        new = _expand(old, declared)
        if new is not old:
            changed[name] = new
    node = replace(part, **changed) if changed else part
    return _window(node, declared) if isinstance(node, nodes.Window) else node


@cache
def _places(kind: type) -> tuple[str, ...]:
    """The fields of a kind of part in which windows can be."""
    if issubclass(kind, _WITHOUT_WINDOWS) or not is_dataclass(kind):
        return ()
    return tuple(place.name for place in fields(kind))


def _window(node: nodes.Window, declared: dict[Iri, list[tuple[WindowDeclaration, Iri]]]) -> nodes.Node:
    if isinstance(node.name, Iri) and node.stream is None:
        meant = [declaration.name for declaration, _ in declared[node.name]]
        if meant == [node.name]:
            return node
    names = list(declared) if isinstance(node.name, Variable) else [node.name]
    choices: list[nodes.Node] = []
    for name in names:
        for declaration, stream in declared[name]:
            choice: nodes.Node = nodes.Window(declaration.name, node.child)
            if isinstance(node.name, Variable):
                choice = nodes.Join(choice, nodes.Values((node.name,), ((name,),)))
            if node.stream is not None:
                choice = nodes.Join(choice, nodes.Values((node.stream,), ((stream,),)))
            choices.append(choice)
    if not choices:
        return nodes.Values((), ())
    return reduce(nodes.Union, choices)
