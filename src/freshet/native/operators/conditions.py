"""Conditions that are tested again and again, mostly on a few rows.

To go through an expression takes longer than to compare two ids. So what a condition compares is looked at once: where
that is variables or constants, a few rows are tested in one call, as far as the ids and the known values suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.expressions import Call, Compare, Constant, Expression, Not, Variable
from freshet.expressions.comparisons import OUTCOMES, Codes
from freshet.expressions.evaluate import test
from freshet.kernels.comparison import TRUE, compare_few
from freshet.kernels.direct_call import DirectCall
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import BlankNode, Iri
from freshet.rdf.values import Ids, ValueTable, as_kernel_ids, value_table

Mask = NDArray[np.bool_]

FEW_ROWS = 16


def _same(value: bool) -> Mask:
    mask = np.full(FEW_ROWS, value)
    mask.flags.writeable = False
    return mask


_EVERY, _NONE = _same(True), _same(False)


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """A comparison of variables and constants: what it makes of each code, and whether ids alone say which it is."""

    sides: tuple[Variable | Constant, Variable | Constant]
    outcomes: Codes
    as_nodes: bool


class Condition:
    """An expression as a condition on rows. It is no EXISTS, and asks nothing about the query that it stands in."""

    def __init__(self, expression: Expression, dictionary: Dictionary) -> None:
        self._expression = expression
        self._dictionary = dictionary
        self._comparison = _comparison_of(expression)
        self._compare_few = DirectCall(compare_few)
        self._truths = np.empty(FEW_ROWS, np.uint8)
        self._generation = -1  # of the dictionary, when this was looked up:
        self._table: Callable[[], ValueTable | None] = lambda: None
        self._constants: list[Ids | None] = []

    def test(self, columns: Mapping[str, Ids], count: int) -> Mask:
        """Which rows satisfy it; not where it is an error. `columns` are keyed by variable name."""
        if self._comparison is not None and 0 < count <= FEW_ROWS:
            passed = self._count_passing(self._comparison, columns, count)
            if passed == count:
                return _EVERY[:count]
            if passed >= 0:
                return self._truths[:count] == TRUE if passed else _NONE[:count]
        return test(self._expression, columns, count, self._dictionary)

    def _count_passing(self, comparison: _Comparison, columns: Mapping[str, Ids], count: int) -> int:
        """How many rows pass, and in `_truths` which; -1 where that takes more than ids and known values."""
        table = self._table()
        if table is None or self._generation != self._dictionary.generation:
            table = self._look_up(comparison)
        sides = []
        for side, constant in zip(comparison.sides, self._constants, strict=True):
            column = columns.get(side.name) if isinstance(side, Variable) else constant
            if column is None:
                return -1
            sides.append(column if len(column) == 1 else as_kernel_ids(column))
        left, right = sides
        if len(left) != count and len(right) != count:
            return -1
        passed: int = self._compare_few.run(
            left, right, comparison.as_nodes, comparison.outcomes, table.known, self._truths
        )
        return passed

    def _look_up(self, comparison: _Comparison) -> ValueTable:
        """The values of terms, and the ids of constants, since the dictionary was swept last."""
        self._generation = self._dictionary.generation
        table = value_table(self._dictionary)
        self._table = ref(table)  # a query keeps the terms that it holds, and must not hold all that are known
        self._constants = [
            table.constant(self._dictionary, side.term) if isinstance(side, Constant) else None
            for side in comparison.sides
        ]
        return table


def _comparison_of(expression: Expression) -> _Comparison | None:
    """What an expression compares, if that is all it does."""
    match expression:
        case Not(operand):
            inner = _comparison_of(operand)
            if inner is None:
                return None
            outcomes = np.where(inner.outcomes <= TRUE, TRUE - inner.outcomes, inner.outcomes)
            return replace(inner, outcomes=outcomes.astype(np.uint8))
        case Call("SAMETERM", (Variable() | Constant() as left, Variable() | Constant() as right)):
            return _Comparison((left, right), OUTCOMES["="], True)
        case Compare(operator, Variable() | Constant() as left, Variable() | Constant() as right):
            nodes = operator in ("=", "!=") and (_is_node(left) or _is_node(right))
            return _Comparison((left, right), OUTCOMES[operator], nodes)
    return None


def _is_node(side: Variable | Constant) -> bool:
    """Whether it is an IRI or a blank node that the query names, so that no value matters."""
    return isinstance(side, Constant) and isinstance(side.term, Iri | BlankNode)
