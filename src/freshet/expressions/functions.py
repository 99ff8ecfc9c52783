"""SPARQL's built-in functions over columns (SPARQL 1.1, 17.4), by name. A function that is not here is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from freshet.expressions.columns import Batch, Column, Truths
from freshet.expressions.comparisons import same_term
from freshet.kernels import numbers, term_text, values
from freshet.kernels.comparison import ERROR, FALSE, TRUE
from freshet.kernels.values import Values
from freshet.rdf.arrow import key_ranges
from freshet.rdf.values import Ids

Function = Callable[..., Column]  # of the batch and a column for each argument


def _bound(batch: Batch, argument: Column) -> Truths:
    return Truths(np.where(batch.ids(argument) != 0, np.uint8(TRUE), np.uint8(FALSE)))


def _kinds(*kinds: int) -> Function:
    """A test whether a term is of one of the kinds."""
    outcomes = np.full(values.KINDS, FALSE, np.uint8)
    outcomes[values.NOTHING] = ERROR
    outcomes[list(kinds)] = TRUE
    return lambda batch, argument: Truths(outcomes[batch.values(argument).kinds])


def _change(operator: int, batch: Batch, argument: Column) -> Values:
    changed: Values = numbers.change(operator, batch.values(argument))
    return changed


def _rewrite(function: int, batch: Batch, argument: Column) -> Ids:
    """STR, LANG and DATATYPE: once for every distinct term."""
    distinct, places = np.unique(batch.ids(argument), return_inverse=True)
    keys = term_text.rewrite_keys(function, *key_ranges(batch.dictionary.keys(distinct)))
    return batch.dictionary.intern_keys(*keys)[places]


def _if(batch: Batch, condition: Column, then: Column, otherwise: Column) -> Ids:
    truths = batch.truths(condition)
    chosen = np.where(truths == TRUE, batch.ids(then), batch.ids(otherwise))
    return np.where(truths == ERROR, np.int64(0), chosen)


def _coalesce(batch: Batch, *arguments: Column) -> Ids:
    result = np.zeros(1, np.int64)
    for argument in arguments:
        result = np.where(result != 0, result, batch.ids(argument))
    return result


FUNCTIONS: dict[str, Function] = {
    "BOUND": _bound,
    "SAMETERM": same_term,
    "ISIRI": _kinds(values.IRI),
    "ISURI": _kinds(values.IRI),
    "ISBLANK": _kinds(values.BLANK_NODE),
    "ISLITERAL": _kinds(*range(values.INTEGER, values.IRI)),
    "ISNUMERIC": _kinds(*range(values.INTEGER, values.DOUBLE + 1)),
    "STR": partial(_rewrite, term_text.STR),
    "LANG": partial(_rewrite, term_text.LANG),
    "DATATYPE": partial(_rewrite, term_text.DATATYPE),
    "ABS": partial(_change, numbers.ABSOLUTE),
    "CEIL": partial(_change, numbers.CEILING),
    "FLOOR": partial(_change, numbers.FLOOR),
    "ROUND": partial(_change, numbers.ROUND),
    "IF": _if,
    "COALESCE": _coalesce,
}
