"""The operations of mappings (`freshet.mapper.operations`) as Spark expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from freshet.mapper.operations import RECORD_NUMBER, ColumnOperations, FunctionTable, ReferenceShape
from freshet.mapper.renderer import Rendered, Renderer
from freshet.rml import kinds
from freshet.rml.model import Expression, Reference
from freshet.spark import records
from freshet.spark.functions import call_column
from freshet.spark.terms import escape_literal, percent_encoded, percent_encoded_ascii, percent_encoded_value

SparkRendered = Rendered[Column]
SparkRenderer = Renderer[Column]
Piece = str | Column

_AS_IT_IS = (kinds.INTEGER, kinds.PLAIN, kinds.BOOLEAN)
_NOT_ESCAPED = (kinds.PLAIN, *kinds.DATATYPES)


class _Bound(NamedTuple):
    """One of the values of a reference or call that has several."""

    text: Column
    kind: Column | None


@dataclass(frozen=True, slots=True)
class SparkColumns:
    """The columns of a DataFrame of records."""

    functions: FunctionTable = field(default_factory=FunctionTable)
    values: Mapping[Expression, _Bound] = field(default_factory=dict)

    def text(self, reference: Reference) -> Column:
        return self.values[reference].text if reference in self.values else records.field(reference)

    def kind(self, reference: Reference) -> Column:
        bound = self.values.get(reference)
        return records.kind(reference) if bound is None or bound.kind is None else bound.kind

    def bound(self, expression: Expression) -> Column | None:
        return self.values[expression].text if expression in self.values else None

    def record_number(self, side: str) -> Column:
        return F.col(f"`{side} {RECORD_NUMBER}`" if side else f"`{RECORD_NUMBER}`")

    def percent_encoded(self, reference: Reference, shape: ReferenceShape) -> Column:
        if reference.text in shape.encoded:
            return records.encoded_column(reference)
        value = self.text(reference)
        bound = reference in self.values
        encoded = percent_encoded_value(value) if bound else percent_encoded(records.field_name(reference))
        if not shape.kinds:
            return encoded
        kind = self.kind(reference)
        # A plus sign is all that a number may have to encode.
        number = F.when(kind == kinds.REAL, F.replace(value, F.lit("+"), F.lit("%2B")))
        return F.when(kind.isin(*_AS_IT_IS), value).otherwise(F.coalesce(number, encoded))

    def percent_encoded_ascii(self, text: Column) -> Column:
        return percent_encoded_ascii(text)

    def escaped(self, text: Column, kind: Column | None) -> Column:
        escaped = escape_literal(text)
        return escaped if kind is None else F.when(kind.isin(*_NOT_ESCAPED), text).otherwise(escaped)

    def constant(self, text: str) -> Column:
        return F.lit(text)

    def concat(self, *texts: Column) -> Column:
        return F.concat(*texts)

    def when(self, condition: Column, value: Column, otherwise: Column | None = None) -> Column:
        made = F.when(condition, value)
        return made if otherwise is None else made.otherwise(otherwise)

    def coalesce(self, *columns: Column) -> Column:
        return F.coalesce(*columns)

    def equals(self, column: Column, value: str | int) -> Column:
        return column == value

    def matches(self, text: Column, pattern: str) -> Column:
        return text.rlike(pattern)

    def mismatches(self, text: Column, pattern: str) -> Column:
        return text.isNotNull() & ~text.rlike(pattern)

    def lower(self, text: Column) -> Column:
        return F.lower(text)

    def hexadecimal(self, text: Column) -> Column:
        return F.hex(text)

    def integer_as_double(self, digits: Column) -> Column:
        unsigned = F.ltrim(digits, F.lit("-"))
        rest = F.rtrim(F.substring(unsigned, 2, 1 << 20), F.lit("0"))
        rest = F.when(rest == "", F.lit("0")).otherwise(rest)
        sign = F.when(digits.startswith("-"), F.lit("-")).otherwise(F.lit(""))
        return F.concat(sign, F.left(unsigned, F.lit(1)), F.lit("."), rest, F.lit("E"), F.length(unsigned) - 1)

    def call(self, function: str, given: Mapping[str, Column | None]) -> Column:
        return call_column(self.functions, function, given)

    def each(
        self,
        expression: Expression,
        values: Column,
        kinds: Column | None,
        make: Callable[[ColumnOperations[Column]], Column],
        *,
        flatten: bool,
    ) -> Column:
        def inner(text: Column, kind: Column | None = None) -> Column:
            return make(replace(self, values={**self.values, expression: _Bound(text, kind)}))

        if kinds is None:
            made = F.transform(values, lambda text: inner(text))
        else:
            made = F.zip_with(values, kinds, lambda text, kind: inner(text, kind))
        return F.flatten(made) if flatten else made

    def first(self, values: Column) -> Column:
        found = F.filter(values, lambda value: value.isNotNull())
        return F.when(F.size(values) > 0, F.element_at(found, 1))

    def cut_each(self, values: Column, before: int, after: int) -> Column:
        return F.transform(values, lambda key: F.substring(key, before + 1, F.length(key) - (before + after)))
