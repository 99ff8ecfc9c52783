"""`=`, `!=`, `<`, `<=`, `>`, `>=` and sameTerm over columns (SPARQL 1.1, 17.3 and 17.4.1).

Inline ids are compared by their bits, other terms by their values as far as these are known. What has never been asked
for is read, and strings need their text; only then is everything looked at again.
Literals of two known datatypes are different; where one has an unknown datatype or an ill-typed form and they are not
the same term, it is an error, as it is for a moment without time zone that may be the other one. Two triple terms are
equal where their subjects, predicates and objects are; they have no order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.expressions.columns import UNBOUND, Column, ColumnBatch, Keys, Truths
from freshet.expressions.triple_terms import part_columns
from freshet.kernels.comparison import (
    DICTIONARY,
    ERROR,
    FALSE,
    TEXT,
    TRIPLES,
    TRUE,
    compare_identity,
    compare_ids,
    compare_texts,
    compare_values,
)
from freshet.kernels.values import Values
from freshet.rdf.arrow import key_ranges
from freshet.rdf.values import Ids

Codes = NDArray[np.uint8]

_NO_TERM = -1  # an inline id of a type that there is not


def _outcomes(less: int, equal: int, greater: int, different: int, unordered: int, text: int) -> Codes:
    triples = TRIPLES if different != ERROR else ERROR
    return np.array([ERROR, less, equal, greater, different, unordered, text, DICTIONARY, triples], np.uint8)


# What each operator makes of a comparison's code.
OUTCOMES = {
    "=": _outcomes(FALSE, TRUE, FALSE, FALSE, FALSE, FALSE),
    "!=": _outcomes(TRUE, FALSE, TRUE, TRUE, TRUE, TRUE),
    "<": _outcomes(TRUE, FALSE, FALSE, ERROR, FALSE, TEXT),
    "<=": _outcomes(TRUE, TRUE, FALSE, ERROR, FALSE, TEXT),
    ">": _outcomes(FALSE, FALSE, TRUE, ERROR, FALSE, TEXT),
    ">=": _outcomes(FALSE, TRUE, TRUE, ERROR, FALSE, TEXT),
}


def compare(batch: ColumnBatch, operator: str, left: Column, right: Column) -> Truths:
    """left operator right."""
    outcomes = OUTCOMES[operator]
    if isinstance(left, Keys) or isinstance(right, Keys):
        if operator in ("=", "!="):
            left_ids, right_ids = _identities(batch, left, right)
            codes, unfinished = compare_values(batch.values(left), left_ids, batch.values(right), right_ids, outcomes)
            if unfinished:
                _finish_triples(batch, operator, left, right, codes)
            return Truths(codes)
        left, right = (batch.ids(side) if isinstance(side, Keys) else side for side in (left, right))
    computed = isinstance(left, Values) or isinstance(right, Values)
    left_ids = UNBOUND if isinstance(left, Values) else batch.ids(left)
    right_ids = UNBOUND if isinstance(right, Values) else batch.ids(right)
    if not computed:
        codes, unfinished = compare_ids(left_ids, right_ids, outcomes, batch.table.known)
        if not unfinished:
            return Truths(codes)
    codes, unfinished = compare_values(batch.values(left), left_ids, batch.values(right), right_ids, outcomes)
    if unfinished:
        rows = np.flatnonzero(codes == TEXT)
        codes[rows] = _compare_strings(batch, _take(left_ids, rows), _take(right_ids, rows), outcomes)
        _finish_triples(batch, operator, left, right, codes)
    return Truths(codes)


def same_term(batch: ColumnBatch, left: Column, right: Column) -> Truths:
    """sameTerm(left, right)"""
    return Truths(compare_identity(*_identities(batch, left, right), OUTCOMES["="]))


def compare_nodes(batch: ColumnBatch, operator: str, left: Column, right: Column) -> Truths:
    """`=` or `!=` where one side is an IRI or a blank node, so that no value matters."""
    return Truths(compare_identity(*_identities(batch, left, right), OUTCOMES[operator]))


def _identities(batch: ColumnBatch, left: Column, right: Column) -> tuple[Ids, Ids]:
    """Ids that are equal where two terms are the same.

    Computed terms beside one term need not enter the dictionary: those that are not the one get an id of no term.
    """
    if isinstance(left, Keys) and not isinstance(right, Keys):
        one = batch.ids(right)
        return (_beside(batch, left, one) if one.size == 1 else batch.ids(left)), one
    if isinstance(right, Keys) and not isinstance(left, Keys):
        one = batch.ids(left)
        return one, (_beside(batch, right, one) if one.size == 1 else batch.ids(right))
    return batch.ids(left), batch.ids(right)


def _beside(batch: ColumnBatch, column: Keys, one: Ids) -> Ids:
    key = batch.dictionary.keys(one)[0].as_py()
    ids = [0 if other is None else one[0] if other == key else _NO_TERM for other in column.keys]
    return np.array(ids, np.int64).take(column.places)


def _finish_triples(batch: ColumnBatch, operator: str, left: Column, right: Column, codes: Codes) -> None:
    """Put in the truth of `=` or `!=` where it depends on the terms of two triple terms."""
    rows = np.flatnonzero(codes == TRIPLES)
    if rows.size:
        sides = (part_columns(batch.dictionary, _take(batch.ids(side), rows)) for side in (left, right))
        truths = np.minimum.reduce([compare(batch, "=", *pair).codes for pair in zip(*sides, strict=True)])
        codes[rows] = truths if operator == "=" else TRUE - truths


def _take(ids: Ids, rows: Ids) -> Ids:
    return ids[rows] if ids.size > 1 else np.broadcast_to(ids, rows.shape)


def _compare_strings(batch: ColumnBatch, left: Ids, right: Ids, outcomes: Codes) -> Codes:
    distinct, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    data, starts, ends = key_ranges(batch.dictionary.keys(distinct))
    codes: Codes = compare_texts(data, starts, ends, places[: left.size], places[left.size :], outcomes)
    return codes
