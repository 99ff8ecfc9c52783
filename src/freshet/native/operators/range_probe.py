"""From rows that are joined already to the ranges in which the values of the next input's column must be.

A range is a little wider than the comparisons are, which are tested after: it is of float64, and they may compare exact
numbers, or round to float32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.expressions import Expression
from freshet.expressions.columns import ColumnBatch
from freshet.expressions.evaluate import evaluate_values
from freshet.kernels.ordered_index import DATE_TIMES, FLOATS, NEVER, NUMBERS, OTHERS, classes_and_reals
from freshet.native.plan.range_bounds import RangeBound, Undone
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import Ids

Reals = NDArray[np.float64]
Classes = NDArray[np.uint8]

_EXACT, _FLOAT = 1e-12, 1e-6  # how much wider, as a share: for numbers that are exact or doubles, and for floats
_LEAST = 1e-15  # exact numbers have 18 digits behind the point
_SECONDS, _SHARE_OF_SECONDS = 1e-3, 1e-14
_GREATEST_FLOAT = 3.4e38  # what is greater may be rounded to infinity


class RangeProbe:
    """The bounds of one variable."""

    def __init__(self, bounds: Sequence[RangeBound], dictionary: Dictionary) -> None:
        self._bounds = bounds
        self._dictionary = dictionary

    def ranges(self, columns: Mapping[str, Ids], count: int) -> tuple[Classes, Reals, Reals]:
        """For each row the class of values, and its range: two columns, for numbers but floats and for floats."""
        batch = ColumnBatch(columns, count, self._dictionary)
        classes = np.full(count, NUMBERS, np.uint8)
        lows, highs = np.full((count, 2), -np.inf), np.full((count, 2), np.inf)
        with np.errstate(all="ignore"):
            for number, bound in enumerate(self._bounds):
                found, low, high = self._range(bound, batch)
                classes = found if number == 0 else np.where(found == classes, classes, np.uint8(NEVER))
                np.maximum(lows, low, out=lows)
                np.minimum(highs, high, out=highs)
        return classes, lows, highs

    def _range(self, bound: RangeBound, batch: ColumnBatch) -> tuple[Classes, Reals, Reals]:
        """What one comparison says."""
        (classes, reals), *operands = (self._values(each, batch) for each in bound.expressions)
        is_float = np.any([kinds == FLOATS for kinds, _ in [(classes, reals), *operands]], axis=0)
        classes = np.where(classes == FLOATS, np.uint8(NUMBERS), classes)
        for kinds, _ in operands:
            classes = np.where(kinds <= FLOATS, classes, np.uint8(NEVER))
        if bound.steps:  # arithmetic is of numbers only
            classes = np.where(classes == NUMBERS, classes, np.uint8(NEVER))
        shares = np.where(is_float[:, None], _FLOAT, [_EXACT, _FLOAT])
        low, high = _limits(bound.operator, np.repeat(reals[:, None], 2, axis=1))
        rest = iter(operands)
        low, high = _wider(low, high, np.abs(reals)[:, None], shares)
        for step in bound.steps:
            operand = np.zeros_like(low) if step.operand is None else next(rest)[1][:, None]
            low, high = _undo(step, low, high, operand)
            low, high = _wider(low, high, np.abs(operand), shares)
        is_time = ((classes >= DATE_TIMES) & (classes < OTHERS))[:, None]
        slack = _SECONDS + _SHARE_OF_SECONDS * np.abs(reals)[:, None]
        is_other = (classes == OTHERS)[:, None]
        timed = _limits(bound.operator, np.repeat(reals[:, None], 2, axis=1))
        low = np.where(is_other, -np.inf, np.where(is_time, timed[0] - slack, low))
        high = np.where(is_other, np.inf, np.where(is_time, timed[1] + slack, high))
        return classes, low, high

    def _values(self, expression: Expression, batch: ColumnBatch) -> tuple[Classes, Reals]:
        classes, reals = classes_and_reals(evaluate_values(expression, batch))
        if len(classes) == 1:
            return np.repeat(classes, batch.count), np.repeat(reals, batch.count)
        return classes, reals


def _limits(operator: str, reals: Reals) -> tuple[Reals, Reals]:
    """The least and the greatest value that a comparison with a number allows."""
    low = np.full_like(reals, -np.inf) if operator[0] == "<" else np.minimum(reals, _GREATEST_FLOAT)
    high = np.full_like(reals, np.inf) if operator[0] == ">" else np.maximum(reals, -_GREATEST_FLOAT)
    return low, high


def _wider(low: Reals, high: Reals, operand: Reals, shares: Reals) -> tuple[Reals, Reals]:
    """A range with room for what rounding has done; from or to infinity where nothing is known."""
    low = low - (shares * (np.abs(low) + operand) + _LEAST)
    high = high + (shares * (np.abs(high) + operand) + _LEAST)
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _undo(step: Undone, low: Reals, high: Reals, operand: Reals) -> tuple[Reals, Reals]:
    """The range of what a step was done to, from that of its result."""
    match step.operator:
        case "+":
            return low - operand, high - operand
        case "-":
            return low + operand, high + operand
        case "from":
            return operand - high, operand - low
        case "negate":
            return -high, -low
        case "abs":
            return -high, high
    ends = (low / operand, high / operand) if step.operator == "*" else (low * operand, high * operand)
    is_zero, is_negative = operand == 0, operand < 0
    return (
        np.where(is_zero, -np.inf, np.where(is_negative, ends[1], ends[0])),
        np.where(is_zero, np.inf, np.where(is_negative, ends[0], ends[1])),
    )
