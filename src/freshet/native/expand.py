"""Variables in place of windows and streams: a union over those that they can stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any

from freshet.algebra import nodes
from freshet.algebra.expressions import Variable
from freshet.algebra.windows import WindowDeclaration
from freshet.rdf.terms import Iri


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
    return replace(query, windows=windows, root=_expanded(query.root, declared))


def _on(declaration: WindowDeclaration, stream: Iri) -> WindowDeclaration:
    """The window on one of the streams that its variable stands for."""
    name = Iri(f"{declaration.name.value} on {stream.value}")
    return WindowDeclaration(name, replace(declaration.window, stream=stream))


def _expanded(part: Any, declared: dict[Iri, list[tuple[WindowDeclaration, Iri]]]) -> Any:
    if isinstance(part, tuple):
        return tuple(_expanded(each, declared) for each in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    changed = {
        place.name: new
        for place in fields(part)
        if (new := _expanded(old := getattr(part, place.name), declared)) is not old and new != old
    }
    node = replace(part, **changed) if changed else part
    return _window(node, declared) if isinstance(node, nodes.Window) else node


def _window(node: nodes.Window, declared: dict[Iri, list[tuple[WindowDeclaration, Iri]]]) -> nodes.Node:
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
