"""A mapping cut by where its records come from: the statements of each logical source, and those of each join."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from freshet.rdf.errors import UnsupportedError
from freshet.rml.model import (
    EachRecord,
    Expression,
    JoinCondition,
    Mapping,
    Reference,
    TermMap,
    TermType,
)
from freshet.rml.sources import DatabaseSource, LogicalSource, source_name
from freshet.rml.statements import Collection, Join, JoinedStatement, Statement, statements_of
from freshet.rml.term_walks import Change, each_record_in, references_in, references_of, with_references
from freshet.rml.views import ExpressionField, ViewJoin, ViewSource, view_records
from freshet.rml.windows import JoinWindow

CHILD, PARENT = "child", "parent"


class MappingSlice(NamedTuple):
    """The statements of each record of a source."""

    source: LogicalSource
    triples: tuple[Statement, ...]
    collections: tuple[Collection, ...] = ()

    @property
    def parts(self) -> tuple[Statement | Collection, ...]:
        """Everything that makes lines of a record."""
        return (*self.triples, *self.collections)


class JoinSlice(NamedTuple):
    """The statements of each pair of records that join: of all pairs, where there is no condition. Their references say
    of which side they are."""

    child: LogicalSource
    parent: LogicalSource
    conditions: tuple[JoinCondition, ...]
    window: JoinWindow | None
    triples: tuple[Statement, ...]
    collections: tuple[Collection, ...] = ()

    @property
    def parts(self) -> tuple[Statement | Collection, ...]:
        return (*self.triples, *self.collections)

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
    by = f" by {', '.join(compared)}" if compared else ""
    return f"{_source_name(join.child)} with {_source_name(join.parent)}{by}"


def _source_name(source: LogicalSource) -> str:
    """Of a database the table or query: its address may hold a password."""
    return f"'{source.iterator}'" if isinstance(source.source, DatabaseSource) else source_name(source.source)


def _condition_text(child: Expression, parent: Expression) -> str:
    left, right = (str(side) if isinstance(side, Reference) else "an expression" for side in (child, parent))
    return left if left == right else f"{left} = {right}"


_Part = Statement | Collection
_JoinKey = tuple[LogicalSource, LogicalSource, tuple[JoinCondition, ...], JoinWindow | None]


def slice_mapping(mapping: Mapping) -> list[MappingSlice | JoinSlice]:
    """The slices of a mapping: those of one source first, then those of joins."""
    own: dict[LogicalSource, list[Statement | Collection]] = {}
    joined: dict[_JoinKey, list[Statement | Collection]] = {}
    for triples_map in mapping.triples_maps:
        if triples_map.asserted:
            own.setdefault(triples_map.source, [])
        for made in statements_of(triples_map, mapping):
            match made.joins:
                case ():
                    own.setdefault(triples_map.source, []).append(made.statement)
                case (join,):
                    key = triples_map.source, join.source, join.conditions, join.window
                    joined.setdefault(key, []).append(_on_sides(made.statement, {"": CHILD, join.side: PARENT}))
                case _:
                    view = _view_of_joins(triples_map.source, made, triples_map.name)
                    own.setdefault(view, []).append(_with_keys(made.statement))
    slices: list[MappingSlice | JoinSlice] = [
        MappingSlice(source, *_apart(own[source])) for source in own if own[source]
    ]
    return slices + [JoinSlice(*key, *_apart(parts)) for key, parts in joined.items()]


def _apart(parts: list[_Part]) -> tuple[tuple[Statement, ...], tuple[Collection, ...]]:
    """Statements and collections, each once."""
    once = dict.fromkeys(parts)
    return (
        tuple(each for each in once if isinstance(each, Statement)),
        tuple(each for each in once if isinstance(each, Collection)),
    )


def _with_terms(part: _Part, change: Change) -> _Part:
    terms = [None if term is None else with_references(term, change) for term in part]
    return type(part)(*terms)  # type: ignore[arg-type]


def _on_sides(statement: _Part, names: dict[str, str]) -> _Part:
    """A statement whose references are to sides with other names."""

    def named(found: Reference | EachRecord) -> Reference | EachRecord:
        return replace(found, side=names[found.side])

    return _with_terms(statement, named)


# More than two sources are joined as logical views are: each reference is a field of the view.


def _view_of_joins(child: LogicalSource, made: JoinedStatement, name: str) -> LogicalSource:
    """The records of a source joined with those of several others, with every reference of a statement as a field."""
    terms = [term for term in made.statement if term is not None]
    if any(True for term in terms for _ in each_record_in(term)):
        raise UnsupportedError(
            f"the triples map {name} has a node of its own for each record, in a join of three sources"
        )
    asked = {each for term in terms for each in references_of(term)}
    for join in made.joins:
        asked |= {replace(each, side=join.of) for key in join.conditions for each in references_in(key.child)}
        asked |= {replace(each, side=join.side) for key in join.conditions for each in references_in(key.parent)}
    return view_records(_view_of_side("", child, made.joins, asked, name))


def _view_of_side(
    side: str, source: LogicalSource, joins: tuple[Join, ...], asked: set[Reference], name: str
) -> ViewSource:
    own = sorted({each.text for each in asked if each.side == side})
    fields = tuple(ExpressionField(_key(side, text), Reference(text)) for text in own)
    view_joins = []
    for join in joins:
        if join.of != side:
            continue
        parent = _view_of_side(join.side, join.source, joins, asked, name)
        conditions = tuple(
            JoinCondition(_keyed(each.child, side), _keyed(each.parent, join.side)) for each in join.conditions
        )
        below = [field.name for field in parent.fields] + [field.name for each in parent.joins for field in each.fields]
        taken = tuple(ExpressionField(key, Reference(key)) for key in below)
        view_joins.append(ViewJoin(view_records(parent), conditions, taken, left=False))
    return ViewSource(f"the sources that {name} joins", source, fields, tuple(view_joins))


def _key(side: str, text: str) -> str:
    return f"{side or 'own'}: {text}"


def _keyed(expression: Expression, side: str) -> Expression:
    """An expression of a source's references, as one of the view's fields."""
    term = TermMap(TermType.LITERAL, expression)
    return with_references(term, lambda found: _to_key(replace(found, side=side))).expression


def _to_key(found: Reference | EachRecord) -> Reference | EachRecord:
    return Reference(_key(found.side, found.text)) if isinstance(found, Reference) else found


def _with_keys(statement: _Part) -> _Part:
    return _with_terms(statement, _to_key)
