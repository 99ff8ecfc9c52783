"""Columns of an expression's values in the form in which they come about, and from one form to another.

A comparison gives truth values, arithmetic gives numbers, everything else ids. Only where ids are asked for do computed
numbers become terms, so that what a FILTER computes on the way never enters the dictionary. A column of one row stands
for as many equal rows as the batch has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.kernels import layout
from freshet.kernels.comparison import effective_truths
from freshet.kernels.values import Values
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Term
from freshet.rdf.values import Ids, number_ids, plain, value_table


class Truths(NamedTuple):
    """FALSE, ERROR or TRUE of `freshet.kernels.comparison`, one a row."""

    codes: NDArray[np.uint8]


Column = Ids | Values | Truths

UNBOUND = np.zeros(1, np.int64)
_TRUTH_IDS = np.array([layout.pack(layout.BOOLEAN, 0), 0, layout.pack(layout.BOOLEAN, 1)], np.int64)


class Batch:
    """The rows that an expression is evaluated over."""

    def __init__(self, columns: Mapping[str, Ids], count: int, dictionary: Dictionary) -> None:
        self.columns = columns
        self.count = count
        self.dictionary = dictionary
        self.table = value_table(dictionary)

    def variable(self, name: str) -> Ids:
        column = self.columns.get(name)
        return UNBOUND if column is None else plain(column)

    def constant(self, term: Term) -> Ids:
        return self.table.constant(self.dictionary, term)

    def constant_values(self, term: Term) -> Values:
        return self.table.constant_values(self.dictionary, term)

    def ids(self, column: Column) -> Ids:
        if isinstance(column, Truths):
            return _TRUTH_IDS[column.codes]
        return number_ids(self.dictionary, column) if isinstance(column, Values) else column

    def values(self, column: Column) -> Values:
        if isinstance(column, Values):
            return column
        return self.table.values(self.dictionary, self.ids(column))

    def truths(self, column: Column) -> NDArray[np.uint8]:
        """Effective boolean values."""
        if isinstance(column, Truths):
            return column.codes
        values = self.values(column)
        codes: NDArray[np.uint8] = effective_truths(values.kinds, values.reals)
        return codes
