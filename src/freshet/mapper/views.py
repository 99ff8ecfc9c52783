"""The records of logical views (`freshet.rml.views`), on Arrow arrays.

A record of the source becomes a row for every choice of one value of each field; where a field has none, its value is
null. A join adds the fields of those records of another view that have the same keys, in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.mapper.arrow_join import Rows, joined_rows
from freshet.mapper.arrow_texts import first_texts, spread
from freshet.mapper.field_tables import (
    FieldTable,
    Level,
    field_table,
    index_texts,
    product_of,
    references_of_fields,
    take_columns,
    within_owner,
)
from freshet.mapper.open import parser_of, tasks_of
from freshet.mapper.operations import FunctionTable
from freshet.rdf.arrow import numbers
from freshet.rdf.errors import UnsupportedError
from freshet.rml.kinds import INTEGER, STRING
from freshet.rml.model import Expression
from freshet.rml.term_walks import references_in
from freshet.rml.views import INDEX, OF_RECORD, ViewJoin, ViewSource
from freshet.sources.columns import FILE, LINE, REASON, ROWS, Column, Found, Plan, RecordShape, Task, text_name
from freshet.sources.documents import Parse, Parsed


def view_tasks(view: ViewSource, plan: Plan, functions: FunctionTable) -> tuple[RecordShape, Sequence[ViewTask]]:
    """The columns of a view, and the tasks that read it: one for each of the source's, unless positions are asked for
    or records of other views are joined."""
    shape = RecordShape(plan.references, kinds=True)
    joins = tuple(join for join in view.joins if not _is_unused(view, join, plan.references))
    base, tasks = tasks_of(view.on, plan._replace(references=_references_of_base(view, plan)), functions)
    parents = tuple(_parent(join, plan, functions) for join in joins)
    if joins or INDEX in plan.references:
        tasks = [_Chained(tuple(tasks))]
    level = Level(base.many, base.kinds, functions)
    return shape, [ViewTask(shape, ViewRows(view, level), task, parents) for task in tasks]


def view_parser(view: ViewSource, plan: Plan, functions: FunctionTable) -> tuple[RecordShape, Parse]:
    """The columns of a view of a stream's records, and what parses its documents."""
    if view.joins:
        raise UnsupportedError(f"{view.name} joins records of several sources, which streams do by join conditions")
    if INDEX in plan.references:
        raise UnsupportedError(f"the positions of records of the view {view.name} in a stream")
    base, parse = parser_of(view.on, plan._replace(references=_references_of_base(view, plan)), functions=functions)
    rows = ViewRows(view, Level(base.many, base.kinds, functions))
    return RecordShape(plan.references, kinds=True, arrived=True), _ViewParser(rows, base, parse, plan.references)


def _references_of_base(view: ViewSource, plan: Plan) -> tuple[str, ...]:
    """What a view asks of its source."""
    beside = {_in_base(view, each) for each in plan.references if each.startswith(OF_RECORD)}
    return tuple(sorted(references_of_fields(view.fields) | beside))


def _in_base(view: ViewSource, reference: str) -> str:
    """A reference to what is read, as a view's source has it."""
    return reference if isinstance(view.on.source, ViewSource) else reference.removeprefix(OF_RECORD)


def _is_unused(view: ViewSource, join: ViewJoin, references: Sequence[str]) -> bool:
    """Whether a join neither adds fields that are asked for nor changes which records there are: what annotations say
    of both views."""
    if any(each == field.name or each.startswith(f"{field.name}.") for each in references for field in join.fields):
        return False
    assert isinstance(join.parent.source, ViewSource)
    child, parent = (frozenset(each.text for key in keys for each in references_in(key)) for keys in _keys(join))
    once = any(fields <= parent for fields in join.parent.source.unique)
    return once and (join.left or child in view.references)


def _keys(join: ViewJoin) -> tuple[list[Expression], list[Expression]]:
    return [each.child for each in join.conditions], [each.parent for each in join.conditions]


@dataclass(frozen=True, slots=True)
class _Chained:
    """Several tasks, one after the other."""

    tasks: tuple[Task, ...]

    def __call__(self) -> Iterator[pa.RecordBatch]:
        return chain.from_iterable(task() for task in self.tasks)


class _Joined:
    """The records of a view that is joined, in memory: their keys, and the fields that a join takes of them."""

    def __init__(self, batches: list[pa.RecordBatch], parent: _Parent) -> None:
        (records,) = pa.Table.from_batches(batches).combine_chunks().to_batches() or [batches[0]]
        good = records.filter(pc.is_null(records.column(REASON)))
        _, keys = _keys(parent.join)
        level = Level(frozenset(), True, parent.functions)
        self.keys = [spread(level.texts(good, key)[0], len(good)) for key in keys]
        self.columns: dict[str, Column] = {
            field.name: level.texts(good, field.expression) for field in parent.join.fields
        }
        self.columns = {
            name: (spread(texts, len(good)), spread(kinds, len(good))) for name, (texts, kinds) in self.columns.items()
        }


@dataclass(frozen=True, slots=True)
class _Parent:
    """A join, and how the records of its view are read."""

    join: ViewJoin
    shape: RecordShape
    tasks: tuple[Task, ...]
    functions: FunctionTable

    def read(self) -> _Joined | None:
        batches = [batch for task in self.tasks for batch in task()]
        return _Joined(batches, self) if batches else None


def _parent(join: ViewJoin, plan: Plan, functions: FunctionTable) -> _Parent:
    _, keys = _keys(join)
    asked = {
        each.text for made in (*keys, *(field.expression for field in join.fields)) for each in references_in(made)
    }
    shape, tasks = tasks_of(join.parent, plan._replace(references=tuple(sorted(asked)), keep=False), functions)
    return _Parent(join, shape, tuple(tasks), functions)


@dataclass(frozen=True, slots=True)
class ViewRows:
    """Makes the records of a view of those of its source. What other views join is added by others."""

    view: ViewSource
    level: Level

    def flattened(self, batch: pa.RecordBatch, first: int) -> FieldTable:
        """The rows of some records; `first` is the position of the first of them."""
        own = np.arange(len(batch))
        positions = index_texts(own + first), spread(_INTEGER, len(batch))
        return product_of(
            [
                FieldTable(own, {INDEX: positions}),
                *(field_table(field, batch, self.level) for field in self.view.fields),
            ],
            len(batch),
        )

    def columns(self, references: Sequence[str], batch: pa.RecordBatch, table: FieldTable) -> list[Column]:
        """What is asked of rows of some records."""
        return [
            self._beside(each, batch, table) if each.startswith(OF_RECORD) else table.columns[each]
            for each in references
        ]

    def _beside(self, reference: str, batch: pa.RecordBatch, table: FieldTable) -> Column:
        """What stands in the records that rows are made of."""
        name = _in_base(self.view, reference)
        texts = batch.column(text_name(name))
        texts = first_texts(texts) if name in self.level.many else texts
        return texts.take(numbers(table.owners)), spread(_STRING, len(table.owners))


@dataclass(frozen=True, slots=True)
class _ViewParser:
    """Parses documents of a view's source, and makes the records of the view."""

    rows: ViewRows
    base: RecordShape
    parse: Parse
    references: tuple[str, ...]

    def __call__(self, documents: pa.Array) -> Parsed:
        found = self.parse(documents)
        nothing = pa.nulls(found.owners.size, pa.string())
        places = nothing, nothing, numbers(found.owners)
        batch = self.base.batch(Found(found.columns, found.reasons, *places))
        table = self.rows.flattened(batch, 0)
        owners = numbers(table.owners)
        reasons = found.reasons.take(owners)
        return Parsed(
            self.rows.columns(self.references, batch, table),
            found.owners[table.owners],
            reasons if table.reasons is None else pc.coalesce(reasons, table.reasons),
            None if found.lines is None else found.lines[table.owners],
        )


@dataclass(frozen=True, slots=True)
class ViewTask:
    """Reads some records of a view's source, and makes those of the view."""

    shape: RecordShape
    rows: ViewRows
    task: Task
    parents: tuple[_Parent, ...]

    def __call__(self) -> Iterator[pa.RecordBatch]:
        joined = [parent.read() for parent in self.parents]
        first = 0
        for batch in self.task():
            table = self.rows.flattened(batch, first)
            first += len(batch)
            for parent, records in zip(self.parents, joined, strict=True):
                table = _with_join(table, parent, records)
            for start in range(0, len(table.owners), ROWS):
                yield self._batch(batch, table.slice(start, ROWS))

    def _batch(self, batch: pa.RecordBatch, table: FieldTable) -> pa.RecordBatch:
        rows = numbers(table.owners)
        line, file, reason = (batch.column(name).take(rows) for name in (LINE, FILE, REASON))
        if table.reasons is not None:
            reason = pc.coalesce(reason, table.reasons)
        columns = self.rows.columns(self.shape.references, batch, table)
        return self.shape.batch(Found(columns, reason, line, file))


_INTEGER = numbers(np.array([INTEGER], np.int8))[0]
_STRING = numbers(np.array([STRING], np.int8))[0]


def _with_join(table: FieldTable, parent: _Parent, records: _Joined | None) -> FieldTable:
    """The rows with the fields of the records that join each; without any they are null, or the row is left out."""
    size = len(table.owners)
    names = [field.name for field in parent.join.fields]
    own: Rows = np.empty(0, np.int64)
    other: Rows = np.empty(0, np.int64)
    if records is not None and size:
        keys, _ = _keys(parent.join)
        batch = table.batch()
        level = Level(frozenset(), True, parent.functions)
        found = [spread(level.texts(batch, key)[0], size) for key in keys]
        pairs = list(joined_rows(found, records.keys, max(size, ROWS)))
        own = np.concatenate([left for left, _ in pairs]) if pairs else own
        other = np.concatenate([right for _, right in pairs]) if pairs else other
    matched = np.ones(own.size, np.bool_)
    if parent.join.left:
        alone = np.setdiff1d(np.arange(size), own)
        order = np.argsort(np.concatenate([own, alone]), kind="stable")
        matched = np.concatenate([matched, np.zeros(alone.size, np.bool_)])[order]
        other = np.concatenate([other, np.zeros(alone.size, np.int64)])[order]
        own = np.concatenate([own, alone])[order]
    made = table.take(own)
    rows = numbers(other, matched)
    positions = index_texts(within_owner(own), matched), _integers(matched)
    columns: dict[str, Column] = {}
    for name in names:
        columns[name] = take_columns(records.columns[name], rows) if records is not None else _null_column(own.size)
        columns[f"{name}.{INDEX}"] = positions
    return FieldTable(made.owners, {**made.columns, **columns}, made.reasons)


def _integers(there: np.ndarray) -> pa.Array:
    return numbers(np.where(there, np.int8(INTEGER), np.int8(0)).astype(np.int8))


def _null_column(count: int) -> Column:
    return pa.nulls(count, pa.string()), numbers(np.zeros(count, np.int8))
