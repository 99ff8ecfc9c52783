"""A mapping cut by where its records come from: the statements of each logical source, and those of each join."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import RDF_TYPE
from freshet.rml.model import (
    Call,
    EachRecord,
    Expression,
    JoinCondition,
    Mapping,
    ParentObject,
    Reference,
    Target,
    Template,
    TermMap,
    TermType,
    TriplesMap,
)
from freshet.rml.reader_terms import DEFAULT_GRAPHS
from freshet.rml.sources import DatabaseSource, LogicalSource, source_name
from freshet.rml.windows import JoinWindow

CHILD, PARENT = "child", "parent"
_TYPE = TermMap(TermType.IRI, RDF_TYPE)


class Statement(NamedTuple):
    """What makes triples of a record: in the default graph where there is no graph."""

    subject: TermMap
    predicate: TermMap
    object: TermMap
    graph: TermMap | None = None

    @property
    def targets(self) -> frozenset[Target]:
        """Where its triples go; the usual output where there are none."""
        terms = (each for each in self if each is not None)
        return frozenset(target for term in terms for target in term.targets)


class MappingSlice(NamedTuple):
    """The statements of each record of a source."""

    source: LogicalSource
    triples: tuple[Statement, ...]


class JoinSlice(NamedTuple):
    """The statements of each pair of records that join. Their references say of which side they are."""

    child: LogicalSource
    parent: LogicalSource
    conditions: tuple[JoinCondition, ...]
    window: JoinWindow | None
    triples: tuple[Statement, ...]

    @property
    def child_key(self) -> tuple[str, ...]:
        """The columns of the child's records that the conditions compare, where all are plain references."""
        return tuple(_column(condition.child) for condition in self.conditions)

    @property
    def parent_key(self) -> tuple[str, ...]:
        return tuple(_column(condition.parent) for condition in self.conditions)


def _column(side: Expression) -> str:
    if not isinstance(side, Reference):
        raise UnsupportedError("joins of streams compare references only, no templates or functions")
    return f"text of {side.text}"


def join_name(join: JoinSlice) -> str:
    """A join as people know it: its two sources, and what is compared."""
    compared = [_condition_text(each.child, each.parent) for each in join.conditions]
    return f"{_source_name(join.child)} with {_source_name(join.parent)} by {', '.join(compared)}"


def _source_name(source: LogicalSource) -> str:
    """Of a database the table or query: its address may hold a password."""
    return f"'{source.iterator}'" if isinstance(source.source, DatabaseSource) else source_name(source.source)


def _condition_text(child: Expression, parent: Expression) -> str:
    left, right = (str(side) if isinstance(side, Reference) else "an expression" for side in (child, parent))
    return left if left == right else f"{left} = {right}"


def slice_mapping(mapping: Mapping) -> list[MappingSlice | JoinSlice]:
    """The slices of a mapping: those of one source first, then those of joins."""
    maps = {each.name: each for each in mapping.triples_maps}
    own: dict[LogicalSource, list[Statement]] = {}
    joined: dict[tuple[LogicalSource, LogicalSource, tuple[JoinCondition, ...], JoinWindow | None], list[Statement]]
    joined = {}
    for triples_map in mapping.triples_maps:
        statements = own.setdefault(triples_map.source, [])
        statements += _types(triples_map)
        for predicate, made, graphs in _pairs(triples_map):
            if isinstance(made, TermMap):
                statements += (Statement(triples_map.subject, predicate, made, graph) for graph in graphs)
                continue
            parent = maps[made.parent]
            if not made.conditions:
                if parent.source != triples_map.source:
                    raise InputError(
                        f"the triples map {triples_map.name} refers to {parent.name}, which has another source,"
                        " without a join condition",
                        file=mapping.file,
                    )
                subject = replace(parent.subject, targets=made.targets)
                statements += (Statement(triples_map.subject, predicate, subject, graph) for graph in graphs)
                continue
            key = triples_map.source, parent.source, made.conditions, made.window
            object_ = on_side(replace(parent.subject, targets=made.targets), PARENT)
            joined.setdefault(key, []).extend(
                Statement(
                    on_side(triples_map.subject, CHILD),
                    on_side(predicate, CHILD),
                    object_,
                    None if graph is None else on_side(graph, CHILD),
                )
                for graph in graphs
            )
    slices: list[MappingSlice | JoinSlice] = [
        MappingSlice(source, tuple(dict.fromkeys(own[source]))) for source in own if own[source]
    ]
    return slices + [JoinSlice(*key, tuple(dict.fromkeys(statements))) for key, statements in joined.items()]


def _types(triples_map: TriplesMap) -> Iterator[Statement]:
    for each in triples_map.classes:
        for graph in _graphs(triples_map.graphs):
            yield Statement(triples_map.subject, _TYPE, TermMap(TermType.IRI, each), graph)


def _pairs(
    triples_map: TriplesMap,
) -> Iterator[tuple[TermMap, TermMap | ParentObject, tuple[TermMap | None, ...]]]:
    for pair in triples_map.pairs:
        graphs = _graphs((*triples_map.graphs, *pair.graphs))
        for predicate in pair.predicates:
            for made in pair.objects:
                yield predicate, made, graphs


def _graphs(given: tuple[TermMap, ...]) -> tuple[TermMap | None, ...]:
    """Each graph once; None is the default graph."""
    found = (None if graph.expression in DEFAULT_GRAPHS and not graph.targets else graph for graph in given)
    return tuple(dict.fromkeys(found)) or (None,)


def on_side(term: TermMap, side: str) -> TermMap:
    """A term map whose references are to one side of joined records."""
    return replace(
        term,
        expression=_set_side(term.expression, side),
        datatype=on_side(term.datatype, side) if isinstance(term.datatype, TermMap) else term.datatype,
        language=on_side(term.language, side) if isinstance(term.language, TermMap) else term.language,
        condition=None if term.condition is None else _set_call_side(term.condition, side),
    )


def _set_side(expression: Expression, side: str) -> Expression:
    match expression:
        case Reference() | EachRecord():
            return replace(expression, side=side)
        case Template(parts):
            return Template(tuple(replace(part, side=side) if isinstance(part, Reference) else part for part in parts))
        case Call():
            return _set_call_side(expression, side)
    return expression


def _set_call_side(call: Call, side: str) -> Call:
    return replace(call, inputs=tuple((parameter, on_side(value, side)) for parameter, value in call.inputs))


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


def calls_in(expression: Expression) -> Iterator[Call]:
    """The calls of an expression, also inside of each other."""
    if isinstance(expression, Call):
        yield expression
        for _, value in expression.inputs:
            yield from calls_of(value)


def calls_of(term: TermMap) -> Iterator[Call]:
    """The calls of a term map, with those of its datatype, language and condition."""
    if term.condition is not None:
        yield from calls_in(term.condition)
    yield from calls_in(term.expression)
    for inner in (term.datatype, term.language):
        if isinstance(inner, TermMap):
            yield from calls_of(inner)


def references_of(term: TermMap) -> Iterator[Reference]:
    """The references of a term map, with those of its datatype, language and condition."""
    yield from references_in(term.expression)
    for inner in (term.datatype, term.language):
        if isinstance(inner, TermMap):
            yield from references_of(inner)
    if term.condition is not None:
        yield from references_in(term.condition)
