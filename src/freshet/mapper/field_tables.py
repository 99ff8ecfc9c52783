"""The fields of logical views as tables: a row a value, and the record that each row is of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.mapper.arrow_columns import ArrowColumns
from freshet.mapper.arrow_texts import spread
from freshet.mapper.operations import FunctionTable, ReferenceShape
from freshet.mapper.renderer import Renderer
from freshet.rdf.arrow import key_ranges, numbers, read_only, string_array, whole_numbers
from freshet.rdf.terms import XSD, Literal
from freshet.rml import kinds
from freshet.rml.model import Call, Expression, Reference
from freshet.rml.sources import Formulation
from freshet.rml.term_walks import references_in
from freshet.rml.views import INDEX, ExpressionField, Field, IterableField
from freshet.rml.xml_paths import whole_node
from freshet.sources.columns import ARRIVED, FILE, LINE, REASON, Column, Plan, kind_name, text_name
from freshet.sources.documents import parsed_batch, parser_of
from freshet.sources.json_text import JsonReader, json_shape

Rows = NDArray[np.int64]

_KINDS = tuple(kinds.DATATYPES)
_KIND_OF = {XSD + name: kind for kind, name in kinds.DATATYPES.items()}
_DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class FieldTable:
    """Rows in the order of the records that they are of: each record has at least one. `reasons` say what of a record
    cannot be read."""

    owners: Rows
    columns: dict[str, Column]
    reasons: pa.Array | None = None

    def take(self, rows: Rows) -> FieldTable:
        places = numbers(rows)
        columns = {name: take_columns(column, places) for name, column in self.columns.items()}
        return FieldTable(self.owners[rows], columns, None if self.reasons is None else self.reasons.take(places))

    def slice(self, start: int, count: int) -> FieldTable:
        return self.take(np.arange(start, min(start + count, self.owners.size)))

    def batch(self) -> pa.RecordBatch:
        """The rows as records."""
        named = {text_name(name): texts for name, (texts, _) in self.columns.items()}
        named |= {kind_name(name): kind for name, (_, kind) in self.columns.items()}
        return pa.RecordBatch.from_arrays(list(named.values()), names=list(named))


@dataclass(frozen=True, slots=True)
class Level:
    """What the columns of some records are: which references have arrays, and whether there are kinds."""

    many: frozenset[str]
    kinds: bool
    functions: FunctionTable = field(default_factory=FunctionTable)

    def texts(self, batch: pa.RecordBatch, expression: Expression) -> tuple[Any, Any]:
        """What an expression gives in each record, and its kinds; arrays of both where it may give several."""
        shape = ReferenceShape(self.many, _KINDS if self.kinds else ())
        columns = ArrowColumns(batch, self.functions)
        renderer: Renderer[Any] = Renderer(columns, {"": shape}, nquads=True)
        found = renderer.texts(expression)
        texts = renderer.join(found.pieces)
        if isinstance(expression, Reference) and self.kinds:
            return texts, columns.kind(expression)
        kind = numbers(np.array([_kind_of(expression, self.functions)], np.int8))[0]
        if not found.many:
            return texts, kind
        inside = spread(kind, len(texts.flatten()))
        return texts, pa.ListArray.from_arrays(texts.offsets, inside)


def _kind_of(expression: Expression, functions: FunctionTable) -> int:
    if isinstance(expression, Literal):
        return _KIND_OF.get(expression.datatype.value, kinds.STRING)
    if isinstance(expression, Call) and (made := functions.declaration(expression.function.value).result) is not None:
        return _KIND_OF.get(made.value, kinds.STRING)
    return kinds.STRING


def take_columns(column: Column, rows: pa.Array) -> Column:
    """Texts and kinds of some rows; of a row that is null there is nothing."""
    texts, kind = column
    assert kind is not None
    taken = kind.take(rows)
    return texts.take(rows), pc.fill_null(taken, _NOTHING) if rows.null_count else taken


_NOTHING = numbers(np.zeros(1, np.int8))[0]


def index_texts(positions: Rows, there: NDArray[np.bool_] | None = None) -> pa.Array:
    """Positions as texts; null where there is nothing."""
    return numbers(positions, there).cast(pa.string())


def within_owner(owners: Rows) -> Rows:
    """The position of each row among those of its owner, which stand together."""
    if not owners.size:
        return owners
    starts = np.concatenate([[0], np.flatnonzero(np.diff(owners)) + 1])
    within: Rows = np.arange(owners.size) - np.repeat(starts, np.diff([*starts, owners.size]))
    return within


def product_of(tables: Sequence[FieldTable], records: int) -> FieldTable:
    """A row for every choice of one row of each table, record by record."""
    made = tables[0]
    for table in tables[1:]:
        counts = np.bincount(table.owners, minlength=records)
        firsts = np.cumsum(counts) - counts
        times = counts[made.owners]
        left = np.repeat(np.arange(made.owners.size), times)
        within = np.arange(left.size) - np.repeat(np.cumsum(times) - times, times)
        taken, other = made.take(left), table.take(firsts[made.owners[left]] + within)
        reasons = [each for each in (taken.reasons, other.reasons) if each is not None]
        made = FieldTable(taken.owners, {**taken.columns, **other.columns}, pc.coalesce(*reasons) if reasons else None)
    return made


def references_of_fields(fields: Iterable[Field]) -> set[str]:
    """The references that fields make of the records around them."""
    found: set[str] = set()
    for each in fields:
        if isinstance(each, ExpressionField):
            found |= {reference.text for reference in references_in(each.expression)}
        else:
            found.add(_iterator(each))
    return found


def _iterator(field: IterableField) -> str:
    """The reference that finds the records of a field in the record around it."""
    iterator = field.records.iterator
    if field.records.formulation is Formulation.XML:
        return whole_node(iterator or ".")
    return iterator or "$"


def field_table(field: Field, batch: pa.RecordBatch, level: Level) -> FieldTable:
    """The values of a field, and of those below it, in each record."""
    if isinstance(field, IterableField):
        owners, texts, kind = _flat(*level.texts(batch, Reference(_iterator(field))), len(batch))
        inner = (
            _records(field, texts, kind) if field.records.formulation is Formulation.JSON else _elements(field, texts)
        )
        return _iterable(field, owners, texts, len(batch), level.functions, inner)
    owners, texts, kind = _flat(*level.texts(batch, field.expression), len(batch))
    every = _add_missing_rows(owners, len(batch))
    places = numbers(*every)
    positions = within_owner(owners) if owners.size else np.zeros(1, np.int64)
    own = np.sort(np.concatenate([owners, np.setdiff1d(np.arange(len(batch)), owners)]))
    indexes = index_texts(positions[np.minimum(every[0], positions.size - 1)], every[1])
    columns: dict[str, Column] = {
        field.name: take_columns((texts, kind), places),
        f"{field.name}.{INDEX}": (indexes, _integers(every[1])),
    }
    table = FieldTable(own, columns)
    if not field.fields:
        return table
    # The fields below see the rows of this one: each value is a document.
    documents = columns[field.name][0]
    rows = np.arange(own.size)
    there = pc.is_valid(documents)
    some = whole_numbers(numbers(rows).filter(there))
    below = [
        _prefixed(_iterable(each, some, documents.filter(there), own.size, level.functions, None), f"{field.name}.")
        for each in field.fields
    ]
    made = product_of([FieldTable(rows, columns), *below], own.size)
    return FieldTable(own[made.owners], made.columns, made.reasons)


def _prefixed(table: FieldTable, before: str) -> FieldTable:
    return FieldTable(table.owners, {before + name: column for name, column in table.columns.items()}, table.reasons)


def _flat(texts: Any, kind: Any, rows: int) -> tuple[Rows, pa.Array, pa.Array]:
    """Values one after the other with the records that they are of; what is null is none."""
    texts, kind = spread(texts, rows), spread(kind, rows)
    owners = numbers(np.arange(rows))
    if pa.types.is_list(texts.type):
        owners, texts = pc.list_parent_indices(texts), texts.flatten()
        kind = kind.flatten() if pa.types.is_list(kind.type) else kind.take(owners)
    there = pc.is_valid(texts)
    if there.false_count:
        owners, texts, kind = owners.filter(there), texts.filter(there), kind.filter(there)
    return whole_numbers(owners.cast(pa.int64())), texts, kind


def _add_missing_rows(owners: Rows, records: int) -> tuple[Rows, NDArray[np.bool_]]:
    """The rows of values, with one for each record that has none; and which of them are there."""
    alone = np.setdiff1d(np.arange(records), owners)
    order = np.argsort(np.concatenate([owners, alone]), kind="stable")
    rows = np.concatenate([np.arange(owners.size), np.zeros(alone.size, np.int64)])[order]
    there = np.concatenate([np.ones(owners.size, np.bool_), np.zeros(alone.size, np.bool_)])[order]
    return rows, there


def _integers(there: NDArray[np.bool_]) -> pa.Array:
    return numbers(np.where(there, kinds.INTEGER, kinds.NOTHING).astype(np.int8))


def _records(field: IterableField, texts: pa.Array, kind: pa.Array) -> tuple[pa.RecordBatch, Rows, Level]:
    """What an iterator has found in JSON records, as records themselves: values that were read before."""
    names = tuple(sorted(references_of_fields(field.fields)))
    reader = JsonReader(json_shape(names), "$", field.records.nulls)
    quoted = pc.is_in(kind, numbers(np.array([kinds.STRING, kinds.PLAIN, kinds.ESCAPED], np.int8)))
    if quoted.true_count:
        written = [orjson.dumps(text).decode() for text in texts.filter(quoted).to_pylist()]
        texts = pc.replace_with_mask(texts, quoted, string_array(written))
    data, starts, ends = key_ranges(texts)
    _, columns = reader.found_in((read_only(data), starts, ends), objects_only=False)
    named = {text_name(name): made for name, (made, _) in zip(names, columns, strict=True)}
    named |= {kind_name(name): made for name, (_, made) in zip(names, columns, strict=True)}
    named[_DOCUMENT] = texts  # a batch without columns has no rows
    batch = pa.RecordBatch.from_arrays(list(named.values()), names=list(named))
    return batch, np.arange(len(texts)), Level(reader.shape.many, True)


def _elements(field: IterableField, documents: pa.Array) -> tuple[pa.RecordBatch, Rows, Level]:
    """The same of XML records: each document is one of the elements that were found."""
    return _parsed(replace(field, records=replace(field.records, iterator="/*")), documents)


def _parsed(field: IterableField, documents: pa.Array) -> tuple[pa.RecordBatch, Rows, Level]:
    """The records of documents, and the document that each is of."""
    names = tuple(sorted(references_of_fields(field.fields)))
    shape, parse = parser_of(field.records, Plan(names))
    nothing, every = pa.nulls(len(documents), pa.string()), numbers(np.arange(len(documents)))
    batch = pa.RecordBatch.from_arrays([documents, nothing, every], names=[LINE, FILE, ARRIVED])
    records = parsed_batch(batch, shape, parse, keep=False)
    owners = whole_numbers(records.column(ARRIVED))  # what stands beside a document stays beside its records
    order = np.argsort(owners, kind="stable")
    return records.take(numbers(order)), owners[order], Level(shape.many, shape.kinds)


def _iterable(
    field: IterableField,
    owners: Rows,
    documents: pa.Array,
    records: int,
    functions: FunctionTable,
    found: tuple[pa.RecordBatch, Rows, Level] | None,
) -> FieldTable:
    """The rows of an iterable field. `owners` are the records around it that the documents are of."""
    batch, document, level = found or _parsed(field, documents)
    level = Level(level.many, level.kinds, functions)
    around = owners[document]
    below = [field_table(each, batch, level) for each in field.fields]
    own = np.arange(len(batch))
    made = product_of([FieldTable(own, {}), *below], len(batch))
    positions = within_owner(around)[made.owners]
    reasons = made.reasons
    if REASON in batch.schema.names and batch.column(REASON).null_count < len(batch):
        given = batch.column(REASON).take(numbers(made.owners))
        reasons = given if reasons is None else pc.coalesce(given, reasons)
    rows, there = _add_missing_rows(around[made.owners], records)
    places = numbers(rows, there)
    columns = {f"{field.name}.{name}": take_columns(column, places) for name, column in made.columns.items()}
    indexes = positions[np.minimum(rows, positions.size - 1)] if positions.size else rows
    columns[f"{field.name}.{INDEX}"] = index_texts(indexes, there), _integers(there)
    extended = np.sort(np.concatenate([around[made.owners], np.setdiff1d(np.arange(records), around)]))
    return FieldTable(extended, columns, None if reasons is None else reasons.take(places))
