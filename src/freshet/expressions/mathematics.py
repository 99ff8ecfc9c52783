"""Functions of mathematics by their XPath names, over doubles (XPath and XQuery Functions and Operators 3.1, 4.8)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi

import numpy as np

from freshet.expressions.columns import Column, ColumnBatch
from freshet.kernels.values import DOUBLE, NOTHING, Values

MATH = "http://www.w3.org/2005/xpath-functions/math#"


def _compute(function: Callable[..., np.ndarray], batch: ColumnBatch, *arguments: Column) -> Values:
    """A double for each row whose arguments are numbers; where there is no result it is NaN."""
    given = [batch.values(argument) for argument in arguments]
    kinds = np.broadcast_arrays(*(each.kinds for each in given))
    are_numbers = np.logical_and.reduce([(kind != NOTHING) & (kind <= DOUBLE) for kind in kinds])
    with np.errstate(all="ignore"):
        reals = np.asarray(function(*(each.reals for each in given)), np.float64)
    return _doubles(np.where(are_numbers, np.uint8(DOUBLE), np.uint8(NOTHING)), reals)


def _pi(batch: ColumnBatch) -> Values:
    return _doubles(np.full(1, DOUBLE, np.uint8), np.full(1, pi))


def _doubles(kinds: np.ndarray, reals: np.ndarray) -> Values:
    zeros = np.zeros(len(kinds), np.int64)
    return Values(kinds, zeros, zeros.view(np.uint64), reals)


_OF_ONE = {
    **{name: getattr(np, name) for name in ("sqrt", "exp", "log10", "sin", "cos", "tan")},
    "log": np.log,
    "exp10": partial(np.power, 10.0),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
}
_OF_TWO = {"pow": np.power, "atan2": np.arctan2}

FUNCTIONS: dict[str, Callable[..., Column]] = {
    MATH + "pi": _pi,
    **{MATH + name: partial(_compute, function) for name, function in (_OF_ONE | _OF_TWO).items()},
}
