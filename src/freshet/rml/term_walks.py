"""Walks through term maps: the references and calls in them, and whose records their references are to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from freshet.rml.model import Call, EachRecord, Expression, Gather, QuotedTriple, Reference, Template, TermMap

Change = Callable[[Reference | EachRecord], Reference | EachRecord]


def on_side(term: TermMap, side: str) -> TermMap:
    """A term map whose references are to one side of joined records."""
    return with_references(term, lambda found: replace(found, side=side))


def with_references(term: TermMap, change: Change) -> TermMap:
    """A term map with other references."""
    return replace(
        term,
        expression=_map_references(term.expression, change),
        datatype=with_references(term.datatype, change) if isinstance(term.datatype, TermMap) else term.datatype,
        language=with_references(term.language, change) if isinstance(term.language, TermMap) else term.language,
        condition=None if term.condition is None else _changed_call(term.condition, change),
        gather=None if term.gather is None else _changed_gather(term.gather, change),
    )


def _changed_gather(gather: Gather, change: Change) -> Gather:
    members = (with_references(each, change) if isinstance(each, TermMap) else each for each in gather.members)
    return replace(gather, members=tuple(members))


def gathered_in(term: TermMap) -> Iterator[TermMap]:
    """The members of a term that is a collection or a container."""
    if term.gather is not None:
        yield from (each for each in term.gather.members if isinstance(each, TermMap))


def _map_references(expression: Expression, change: Change) -> Expression:
    match expression:
        case Reference() | EachRecord():
            return change(expression)
        case Template(parts):
            return Template(tuple(_changed_part(part, change) for part in parts))
        case Call():
            return _changed_call(expression, change)
        case QuotedTriple():
            return QuotedTriple(*(with_references(each, change) for each in expression))
    return expression


def _changed_part(part: str | Reference, change: Change) -> str | Reference:
    if isinstance(part, str):
        return part
    made = change(part)
    assert isinstance(made, Reference)
    return made


def _changed_call(call: Call, change: Change) -> Call:
    return replace(call, inputs=tuple((parameter, with_references(value, change)) for parameter, value in call.inputs))


def references_in(expression: Expression) -> Iterator[Reference]:
    """The references of an expression."""
    match expression:
        case Reference():
            yield expression
        case Template(parts):
            yield from (part for part in parts if isinstance(part, Reference))
        case Call(_, inputs):
            for _, value in inputs:
                yield from references_of(value)
        case QuotedTriple():
            for each in expression:
                yield from references_of(each)


def references_of(term: TermMap) -> Iterator[Reference]:
    """The references of a term map, with those of its datatype, language and condition."""
    yield from references_in(term.expression)
    for inner in (term.datatype, term.language):
        if isinstance(inner, TermMap):
            yield from references_of(inner)
    if term.condition is not None:
        yield from references_in(term.condition)
    for each in gathered_in(term):
        yield from references_of(each)


def calls_in(expression: Expression) -> Iterator[Call]:
    """The calls of an expression, also inside of each other."""
    if isinstance(expression, Call):
        yield expression
        for _, value in expression.inputs:
            yield from calls_of(value)
    elif isinstance(expression, QuotedTriple):
        for each in expression:
            yield from calls_of(each)


def calls_of(term: TermMap) -> Iterator[Call]:
    """The calls of a term map, with those of its datatype, language and condition."""
    if term.condition is not None:
        yield from calls_in(term.condition)
    yield from calls_in(term.expression)
    for inner in (term.datatype, term.language):
        if isinstance(inner, TermMap):
            yield from calls_of(inner)
    for each in gathered_in(term):
        yield from calls_of(each)


def each_record_in(term: TermMap) -> Iterator[EachRecord]:
    """The nodes of their own for each record that a term map makes."""
    if isinstance(term.expression, EachRecord):
        yield term.expression
    elif isinstance(term.expression, QuotedTriple):
        for each in term.expression:
            yield from each_record_in(each)
    for each in gathered_in(term):
        yield from each_record_in(each)
