"""Functions of numbers (SPARQL 1.1, 17.4.4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from freshet.expressions.columns import Column, ColumnBatch
from freshet.kernels import numbers, values
from freshet.kernels.values import Values


def _change(operator: int, batch: ColumnBatch, argument: Column) -> Values:
    changed: Values = numbers.change(operator, batch.values(argument))
    return changed


def _rand(batch: ColumnBatch) -> Values:
    count = batch.count
    return Values(
        np.full(count, values.DOUBLE, np.uint8),
        np.zeros(count, np.int64),
        np.zeros(count, np.uint64),
        np.random.default_rng().random(count),
    )


FUNCTIONS: dict[str, Callable[..., Column]] = {
    "ABS": partial(_change, numbers.ABSOLUTE),
    "CEIL": partial(_change, numbers.CEILING),
    "FLOOR": partial(_change, numbers.FLOOR),
    "ROUND": partial(_change, numbers.ROUND),
    "RAND": _rand,
}
