"""Columns of an expression's values in the form in which they come about, and from one form to another.

A comparison gives truth values, arithmetic gives numbers, a string function the keys of terms, everything else ids.
Only where ids are asked for do computed numbers and strings become terms, so that what a FILTER computes on the way
need not enter the dictionary. A column of one row stands for as many equal rows as the batch has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.algebra.expressions import Exists
from freshet.expressions.context import Context
from freshet.kernels import layout
from freshet.kernels.comparison import effective_truths
from freshet.kernels.values import Values
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Term
from freshet.rdf.values import Ids, as_kernel_ids, number_ids, value_table, values_of_keys


class Truths(NamedTuple):
    """FALSE, ERROR or TRUE of `freshet.kernels.comparison`, one a row."""

    codes: NDArray[np.uint8]


class Keys(NamedTuple):
    """Computed terms by their keys: row `i` has keys[places[i]], None where it is an error."""

    keys: Sequence[str | None]
    places: NDArray[np.integer]


Column = Ids | Values | Truths | Keys

UNBOUND = np.zeros(1, np.int64)
ROWS_AT_ONCE = 1 << 16  # between two looks at the deadline
_TRUTH_IDS = np.array([layout.pack(layout.BOOLEAN, 0), 0, layout.pack(layout.BOOLEAN, 1)], np.int64)


class ColumnBatch:
    """The rows that an expression is evaluated over; where there are many, a block of them, of which `first` is one."""

    def __init__(
        self,
        columns: Mapping[str, Ids],
        count: int,
        dictionary: Dictionary,
        context: Context | None = None,
        first: int = 0,
        whole: ColumnBatch | None = None,
    ) -> None:
        self.columns = columns
        self.count = count
        self.dictionary = dictionary
        self.context = context
        self.first = first
        self.whole = whole or self
        self.table = value_table(dictionary)
        self.node_scope: str | None = None  # of BNODE("x"), once that has been asked for; only the whole has it
        self._existing: dict[int, NDArray[np.bool_]] = {}

    def blocks(self) -> Iterator[ColumnBatch]:
        """All rows, some at a time, with looks at the deadline between."""
        deadline = current()
        for first in range(0, self.count, ROWS_AT_ONCE):
            end = min(first + ROWS_AT_ONCE, self.count)
            columns = {name: ids[first:end] for name, ids in self.columns.items()}
            with deadline.step():
                deadline.check()
                yield ColumnBatch(columns, end - first, self.dictionary, self.context, first, self)

    def exists(self, expression: Exists) -> NDArray[np.bool_]:
        """Where the pattern of EXISTS matches: it is looked for once, for all rows that there are."""
        whole = self.whole
        if id(expression) not in whole._existing:
            assert self.context is not None
            assert self.context.exists is not None
            whole._existing[id(expression)] = self.context.exists(expression, whole.columns, whole.count)
        return whole._existing[id(expression)][self.first : self.first + self.count]

    def variable(self, name: str) -> Ids:
        column = self.columns.get(name)
        return UNBOUND if column is None else as_kernel_ids(column)

    def constant(self, term: Term) -> Ids:
        return self.table.constant(self.dictionary, term)

    def constant_values(self, term: Term) -> Values:
        return self.table.constant_values(self.dictionary, term)

    def ids(self, column: Column) -> Ids:
        if isinstance(column, Truths):
            return _TRUTH_IDS[column.codes]
        if isinstance(column, Keys):
            interned: Ids = self.intern(column.keys)[column.places]
            return interned
        return number_ids(self.dictionary, column) if isinstance(column, Values) else column

    def intern(self, keys: Sequence[str | None]) -> Ids:
        return self.dictionary.intern_arrow(pa.array(keys, pa.large_string()))

    def values(self, column: Column) -> Values:
        if isinstance(column, Values):
            return column
        if isinstance(column, Keys):
            found = values_of_keys(pa.array(column.keys, pa.large_string()))
            return Values(*(array[column.places] for array in found))
        return self.table.values(self.dictionary, self.ids(column))

    def truths(self, column: Column) -> NDArray[np.uint8]:
        """Effective boolean values."""
        if isinstance(column, Truths):
            return column.codes
        values = self.values(column)
        codes: NDArray[np.uint8] = effective_truths(values.kinds, values.reals)
        return codes
