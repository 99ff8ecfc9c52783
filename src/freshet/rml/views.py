"""Logical views (RML-LV): the records of a source flattened to named fields, and joined with those of other views.

https://w3id.org/rml/lv/spec
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from freshet.rml.model import Expression, JoinCondition
from freshet.rml.sources import DerivedSource, Formulation, LogicalSource, Source

INDEX = "#"  # the key of a record's position: of the view's own alone, of a field's after its name
OF_RECORD = "of the record: "  # before a reference to what a view's record is made of: its first value


@dataclass(frozen=True, slots=True)
class ExpressionField:
    """The values of an expression. Fields below it take each value for a document."""

    name: str
    expression: Expression
    fields: tuple[IterableField, ...] = ()


@dataclass(frozen=True, slots=True)
class IterableField:
    """The records that an iterator finds inside of a record, or of a document that an expression field gives."""

    name: str
    records: LogicalSource  # its formulation and iterator; it is read from no place of its own
    fields: tuple[ExpressionField | IterableField, ...] = ()


Field = ExpressionField | IterableField


@dataclass(frozen=True, slots=True)
class ViewJoin:
    """Fields of another view's records that have the same keys. `left`: records without such are kept."""

    parent: LogicalSource
    conditions: tuple[JoinCondition, ...]
    fields: tuple[ExpressionField, ...]
    left: bool


@dataclass(frozen=True, slots=True)
class ViewSource(DerivedSource):
    """A logical view. `unique` are the sets of fields that no two records have the same values of; `references` those
    sets of fields of which each value is in another view (foreign keys and inclusions)."""

    on: LogicalSource
    fields: tuple[Field, ...]
    joins: tuple[ViewJoin, ...] = ()
    unique: frozenset[frozenset[str]] = frozenset()
    references: frozenset[frozenset[str]] = frozenset()


def field_keys(fields: tuple[Field, ...], before: str = "") -> Iterator[str]:
    """The keys that references may name: values and positions. The records of iterable fields have none."""
    for field in fields:
        name = before + field.name
        yield f"{name}.{INDEX}"
        if isinstance(field, ExpressionField):
            yield name
        yield from field_keys(field.fields, f"{name}.")


def view_keys(view: ViewSource) -> frozenset[str]:
    """The keys of a view's records."""
    joined = tuple(field for join in view.joins for field in join.fields)
    return frozenset({INDEX, *field_keys(view.fields), *field_keys(joined)})


def base_sources(source: LogicalSource) -> Iterator[LogicalSource]:
    """The sources that are read for a source: itself, or what a view and its joins are made of."""
    if not isinstance(source.source, ViewSource):
        yield source
        return
    yield from base_sources(source.source.on)
    for join in source.source.joins:
        yield from base_sources(join.parent)


def read_source(source: LogicalSource) -> LogicalSource:
    """The source that is read for a source: itself, or what a view is on."""
    return read_source(source.source.on) if isinstance(source.source, ViewSource) else source


def with_read_source(source: LogicalSource, change: Callable[[LogicalSource], LogicalSource]) -> LogicalSource:
    """A source with another one in place of the one that is read for it."""
    if not isinstance(source.source, ViewSource):
        return change(source)
    return replace(source, source=replace(source.source, on=with_read_source(source.source.on, change)))


def record_key(source: LogicalSource, text: str) -> str:
    """How a reference to what is read is asked of the records of a source."""
    return f"{OF_RECORD}{text}" if isinstance(source.source, ViewSource) else text


def view_records(view: Source) -> LogicalSource:
    """The records of a view as a logical source."""
    return LogicalSource(view, Formulation.VIEW)
