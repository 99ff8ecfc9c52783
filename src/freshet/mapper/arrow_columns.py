"""The operations of mappings (`freshet.mapper.operations`) on Arrow arrays, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.mapper.arrow_functions import call_function
from freshet.mapper.arrow_texts import (
    NULL_TEXT,
    by_row,
    escape_literals,
    hexadecimal,
    is_true,
    kind_scalar,
    null_of,
    spread,
    text_scalar,
)
from freshet.mapper.operations import RECORD_NUMBER, ColumnOperations, FunctionTable, ReferenceShape
from freshet.rdf.arrow import list_array, list_lengths, numbers, truths, whole_numbers
from freshet.rml.model import Expression, Reference
from freshet.rml.percent import percent_encoded
from freshet.sources.columns import kind_name, text_name

Values = Any  # a pa.Array of the records, or a pa.Scalar where all have the same

_NOTHING_BETWEEN = text_scalar("")
_ONE = numbers(np.ones(1, np.int32))[0]


class _Bound(NamedTuple):
    """The values of a reference or call, one a row."""

    texts: Values
    kinds: Values | None


@dataclass(frozen=True, slots=True)
class ArrowColumns:
    """The columns of a batch of records. Where values of arrays are bound there is a row for each of them, and `owners`
    are the records that the rows are of."""

    batch: pa.RecordBatch
    functions: FunctionTable = field(default_factory=FunctionTable)
    owners: pa.Array | None = None
    values: Mapping[Expression, _Bound] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(self.batch if self.owners is None else self.owners)

    def _column(self, name: str) -> pa.Array:
        column = self.batch.column(name)
        return column if self.owners is None else column.take(self.owners)

    def text(self, reference: Reference) -> Values:
        return self.values[reference].texts if reference in self.values else self._column(text_name(reference))

    def kind(self, reference: Reference) -> Values:
        bound = self.values.get(reference)
        return self._column(kind_name(reference)) if bound is None or bound.kinds is None else bound.kinds

    def bound(self, expression: Expression) -> Values | None:
        return self.values[expression].texts if expression in self.values else None

    def record_number(self, side: str) -> Values:
        return self._column(f"{side} {RECORD_NUMBER}" if side else RECORD_NUMBER)

    def percent_encoded(self, reference: Reference, shape: ReferenceShape) -> Values:
        return percent_encoded(self.text(reference))

    def percent_encoded_ascii(self, text: Values) -> Values:
        return by_row(lambda value: quote(value, safe=""), self.rows, text)

    def escaped(self, text: Values, kind: Values | None) -> Values:
        return escape_literals(text)

    def constant(self, text: str) -> Values:
        return text_scalar(text)

    def concat(self, *texts: Values) -> Values:
        return pc.binary_join_element_wise(*texts, _NOTHING_BETWEEN)

    def when(self, condition: Values, value: Values, otherwise: Values | None = None) -> Values:
        return pc.if_else(is_true(condition), value, null_of(value.type) if otherwise is None else otherwise)

    def coalesce(self, *columns: Values) -> Values:
        return pc.coalesce(*columns)

    def equals(self, column: Values, value: str | int) -> Values:
        return pc.equal(column, text_scalar(value) if isinstance(value, str) else kind_scalar(value))

    def matches(self, text: Values, pattern: str) -> Values:
        return pc.match_substring_regex(text, pattern)

    def mismatches(self, text: Values, pattern: str) -> Values:
        return pc.invert(pc.match_substring_regex(text, pattern))

    def lower(self, text: Values) -> Values:
        return pc.utf8_lower(text)

    def hexadecimal(self, text: Values) -> Values:
        return hexadecimal(spread(text, self.rows))

    def integer_as_double(self, digits: Values) -> Values:
        unsigned = pc.utf8_ltrim(digits, characters="-")
        rest = pc.utf8_rtrim(pc.utf8_slice_codeunits(unsigned, 1, 1 << 20), characters="0")
        rest = pc.if_else(is_true(pc.equal(rest, text_scalar(""))), text_scalar("0"), rest)
        sign = pc.if_else(is_true(pc.starts_with(digits, "-")), text_scalar("-"), text_scalar(""))
        first = pc.utf8_slice_codeunits(unsigned, 0, 1)
        power = pc.subtract(pc.utf8_length(unsigned), _ONE).cast(pa.string())
        return self.concat(sign, first, text_scalar("."), rest, text_scalar("E"), power)

    def call(self, function: str, given: Mapping[str, Values | None]) -> Values:
        return call_function(self.functions, function, given, self.rows)

    def each(
        self,
        expression: Expression,
        values: Values,
        kinds: Values | None,
        make: Callable[[ColumnOperations[Values]], Values],
        *,
        flatten: bool,
    ) -> Values:
        lists = spread(values, self.rows)
        parents = pc.list_parent_indices(lists)
        bound = {
            known: _Bound(_take(each.texts, parents), None if each.kinds is None else _take(each.kinds, parents))
            for known, each in self.values.items()
        }
        bound[expression] = _Bound(lists.flatten(), None if kinds is None else kinds.flatten())
        owners = parents if self.owners is None else self.owners.take(parents)
        inner = ArrowColumns(self.batch, self.functions, owners, bound)
        made = spread(make(inner), inner.rows)
        lengths = list_lengths(lists)
        if flatten:
            before = np.concatenate([[0], np.cumsum(list_lengths(made))])
            ends = np.cumsum(lengths)
            lengths, made = before[ends] - before[ends - lengths], made.flatten()
        return list_array(lengths, made)

    def first(self, values: Values) -> Values:
        parents, inside = pc.list_parent_indices(values), values.flatten()
        there = pc.is_valid(inside)
        found = np.full(len(values), -1, np.int64)
        places = np.flatnonzero(truths(there))
        # The last assignment stays, so from the end to the beginning.
        found[whole_numbers(parents)[places[::-1]]] = places[::-1]
        return inside.take(numbers(np.maximum(found, 0), found >= 0)) if len(inside) else spread(NULL_TEXT, len(values))

    def cut_each(self, values: Values, before: int, after: int) -> Values:
        inside = pc.utf8_slice_codeunits(values.flatten(), before, -after if after else None)
        return list_array(list_lengths(values), inside)


def _take(values: Values, rows: pa.Array) -> Values:
    return values if isinstance(values, pa.Scalar) else values.take(rows)
