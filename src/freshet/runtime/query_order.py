"""In which order queries that read each other's answers are registered: each after those that it reads."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import chain, count

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Query, QueryForm, Window
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri


class CycleError(InputError):
    """Queries read each other's answers in a circle; `queries` are their names, in order."""

    def __init__(self, queries: list[str]) -> None:
        steps = ", ".join(
            f"{reader} reads <{read}>" for reader, read in zip(queries, [*queries[1:], queries[0]], strict=True)
        )
        what = "a query reads its own answers" if len(queries) == 1 else "queries read each other's answers"
        super().__init__(f"{what}: {steps}")
        self.queries = queries


def free_name(own: str, taken: Container[str]) -> str:
    """A name that no query has yet: its own, or that with a number.

    >>> free_name("slow", {"slow", "slow-2"})
    'slow-3'
    """
    numbered = chain([own], (f"{own}-{number}" for number in count(2)))
    return next(name for name in numbered if name not in taken)


def constructed_names(queries: Mapping[str, Query]) -> set[str]:
    """Of queries by their names, those whose answers are streams."""
    return {name for name, query in queries.items() if query.form is QueryForm.CONSTRUCT}


def streams_read(query: Query) -> list[str]:
    """The IRIs of the streams that a query names, in its order."""
    streams = (declaration.window.stream for declaration in query.windows)
    return list(dict.fromkeys(stream.value for stream in streams if isinstance(stream, Iri)))


def unread_windows(query: Query) -> list[Iri]:
    """The windows that a query declares and that none of its patterns is in: others may have meant these."""
    found = set(_window_names(query.root))
    if query.merged or any(isinstance(name, Variable) for name in found):
        return []
    return [declaration.name for declaration in query.windows if declaration.name not in found]


def _window_names(value: object) -> Iterator[Iri | Variable]:
    """The windows of a tree of nodes and expressions, which may have patterns in EXISTS."""
    if isinstance(value, Window):
        yield value.name
    if isinstance(value, tuple):
        for each in value:
            yield from _window_names(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _window_names(getattr(value, field.name))


def registration_order(queries: Mapping[str, Query]) -> list[str]:
    """The names of queries, each after those whose answers it reads; otherwise in the order they came."""
    constructed = constructed_names(queries)
    order: dict[str, None] = {}

    def visit(name: str, readers: list[str]) -> None:
        if name in readers:
            raise CycleError(readers[readers.index(name) :])
        if name not in order:
            for stream in streams_read(queries[name]):
                if stream in constructed:
                    visit(stream, [*readers, name])
            order[name] = None

    for name in queries:
        visit(name, [])
    return list(order)
