"""Functional forms (SPARQL 1.1, 17.4.1), which may survive the errors of their arguments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from freshet.expressions.columns import UNBOUND, Column, ColumnBatch, Truths
from freshet.expressions.comparisons import same_term
from freshet.kernels.comparison import ERROR, FALSE, TRUE
from freshet.rdf.values import Ids


def _bound(batch: ColumnBatch, argument: Column) -> Truths:
    return Truths(np.where(batch.ids(argument) != 0, np.uint8(TRUE), np.uint8(FALSE)))


def _if(batch: ColumnBatch, condition: Column, then: Column, otherwise: Column) -> Ids:
    truths = batch.truths(condition)
    chosen = np.where(truths == TRUE, batch.ids(then), batch.ids(otherwise))
    return np.where(truths == ERROR, np.int64(0), chosen)


def _coalesce(batch: ColumnBatch, *arguments: Column) -> Ids:
    result = UNBOUND
    for argument in arguments:
        result = np.where(result != 0, result, batch.ids(argument))
    return result


FUNCTIONS: dict[str, Callable[..., Column]] = {
    "BOUND": _bound,
    "SAMETERM": same_term,
    "IF": _if,
    "COALESCE": _coalesce,
}
